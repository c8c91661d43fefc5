//! Whose key a request carries.

use super::error::ApiError;
use crate::account::service::{Accounts, Caller};
use crate::http::Request;

/// The caller of a request that needs a key and a plan with API access.
///
/// # Errors
/// 401 for no key, a bad one, or two different ones; 403 for a plan without API access; 503.
pub fn authenticate(accounts: &Accounts, request: &Request) -> Result<Caller, ApiError> {
    let key = offered_key(request)?;
    let caller = accounts.authenticate(key)?;
    if caller.plan.api {
        return Ok(caller);
    }
    let plans = accounts.plans().names_where(|plan| plan.api);
    Err(ApiError::plan_required("API access is not part of this account's plan", &plans))
}

/// The key of `Authorization: Bearer …` or `X-API-Key: …`; both may be sent if they are the same.
fn offered_key(request: &Request) -> Result<&str, ApiError> {
    let mut keys: Vec<&str> = request.header_values("x-api-key").map(str::trim).collect();
    for value in request.header_values("authorization") {
        let (scheme, key) = value.trim().split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(ApiError::invalid_api_key("the Authorization header must be \"Bearer <API_KEY>\""));
        }
        keys.push(key.trim());
    }
    let Some(&first) = keys.first() else {
        return Err(ApiError::invalid_api_key("an API key is needed: Authorization: Bearer <API_KEY>"));
    };
    if keys.iter().any(|key| *key != first) {
        return Err(ApiError::invalid_api_key("the request carries two different API keys"));
    }
    Ok(first)
}
