//! Authentication: finds the account of the key in a request.

use super::error::ApiError;
use crate::account::service::{Accounts, Caller};
use crate::http::Request;

/// Returns the caller of a request, who needs a key and a plan with API access.
///
/// # Errors
/// Returns 401 for a missing or invalid key or two different ones, 403 for a plan without API access, 503 if
/// the store is unavailable.
pub fn authenticate(accounts: &Accounts, request: &Request) -> Result<Caller, ApiError> {
    let key = key_of_request(request)?;
    let caller = accounts.authenticate(key)?;
    if caller.plan.api {
        return Ok(caller);
    }
    let plans = accounts.plans().names_where(|plan| plan.api);
    Err(ApiError::plan_required("the plan of this account does not include API access", &plans))
}

/// Returns the key of `Authorization: Bearer …` or `X-API-Key: …`. Both may be sent if they are equal.
fn key_of_request(request: &Request) -> Result<&str, ApiError> {
    let mut keys: Vec<&str> = request.header_values("x-api-key").map(str::trim).collect();
    for value in request.header_values("authorization") {
        let (scheme, key) = value.trim().split_once(' ').unwrap_or((value, ""));
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(ApiError::invalid_api_key(
                "invalid Authorization header: expected \"Bearer <API_KEY>\"",
            ));
        }
        keys.push(key.trim());
    }
    let Some(&first) = keys.first() else {
        return Err(ApiError::invalid_api_key("missing API key: send it as Authorization: Bearer <API_KEY>"));
    };
    if keys.iter().any(|key| *key != first) {
        return Err(ApiError::invalid_api_key("the request contains two different API keys"));
    }
    Ok(first)
}
