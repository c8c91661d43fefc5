//! `/v1/me` and `/v1/credits`.

use super::error::ApiError;
use super::service::{Api, Call};
use super::wire::{Credits, Me, MeCredits};
use crate::http::Reply;
use crate::modules::query::SearchType;

/// `GET /v1/me`.
///
/// # Errors
/// 503.
pub fn me(api: &Api, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(api.json(&Me {
        user_id: caller.account.id,
        tier: &caller.plan.name,
        api_access: caller.plan.api,
        rate_limit_per_minute: api.limiter.limits().search,
        supports_streaming: true,
        search_types: SearchType::ALL,
        credits: MeCredits::from(&balance),
    }))
}

/// `GET /v1/credits`.
///
/// # Errors
/// 503.
pub fn credits(api: &Api, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(api.json(&Credits::new(&caller.plan.name, &balance)))
}
