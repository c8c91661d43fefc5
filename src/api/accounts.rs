//! `/v1/me` and `/v1/credits`.

use std::sync::Arc;

use super::error::ApiError;
use super::service::{Api, Call, ok_json};
use super::wire::account::{Credits, Me, MeCredits};
use crate::http::Reply;
use crate::modules::query::SearchType;

/// `GET /v1/me`.
///
/// # Errors
/// 503.
pub fn me(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Me {
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
pub fn credits(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let balance = api.accounts.balance(caller)?;
    Ok(ok_json(&Credits::new(&caller.plan.name, &balance)))
}
