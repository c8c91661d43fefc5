//! Starting a search in its three modes, attaching to one, deleting one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::decode::{self, SearchBody};
use super::error::ApiError;
use super::service::{Api, Call, json_response};
use super::stream;
use super::wire::{Accepted, Finished};
use crate::account::service::Caller;
use crate::base::ids::{AccountId, RunId};
use crate::http::{Reply, Request, Response};
use crate::runs::journal::Idempotency;
use crate::runs::run::Status;
use crate::runs::service::{Found, Order, OrderError, Receipt, idempotency_valid_since};

/// Credits of a standard search (section 8).
pub const STANDARD_COST: u64 = 1;
/// Credits of a premium username search (section 8).
pub const PREMIUM_COST: u64 = 2;
/// Seconds that a client should wait before it polls after a wait that ran out.
const POLL_AFTER_SECS: &str = "2";
/// Seconds after which a refused search may be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;

/// `POST /v1/searches`.
///
/// # Errors
/// 400, 402, 403, 409, 415, 422, 503; nothing is charged then.
pub fn start(api: &Api, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let body = SearchBody::from_request(call.request)?;
    let key = decode::idempotency_key(call.request)?;
    let premium = body.is_premium();
    require_premium(api, caller, premium)?;
    let _flight = match &key {
        Some(key) => Some(Flight::take_off(&api.in_flight, caller.account.id, key)?),
        None => None,
    };
    let found = order(api, caller, &body, premium, key)?;
    let id = run_id(&found);
    let reply = if body.stream {
        stream::reply(api, found, 0, call.request_id)
    } else if body.wait {
        wait(api, found, call.request)
    } else {
        Reply::Now(accepted(&found))
    };
    Ok(with_run_headers(reply, id))
}

/// 403 and 503 come before anything is charged.
fn require_premium(api: &Api, caller: &Caller, premium: bool) -> Result<(), ApiError> {
    if !premium {
        return Ok(());
    }
    if !caller.plan.premium {
        let plans = api.accounts.plans().names_where(|plan| plan.premium);
        return Err(ApiError::plan_required("premium searches are not part of this account's plan", &plans));
    }
    if api.config.premium_available { Ok(()) } else { Err(ApiError::premium_unavailable()) }
}

fn order(
    api: &Api,
    caller: &Caller,
    body: &SearchBody,
    premium: bool,
    key: Option<String>,
) -> Result<Found, ApiError> {
    let cost = if premium { PREMIUM_COST } else { STANDARD_COST };
    let charge = api.accounts.charge(caller, cost);
    let valid_since = idempotency_valid_since(api.clock.now());
    let order = Order {
        account: caller.account.id,
        query: body.query.clone(),
        premium,
        charge,
        idempotency: key.map(|key| Idempotency { key, body_hash: body.fingerprint(), valid_since }),
    };
    match api.runs.start(order) {
        Ok(Receipt::Started(run)) => Ok(Found::Live(run)),
        Ok(Receipt::Repeated(id)) => api.runs.find(id, caller.account.id)?.ok_or_else(ApiError::no_such_run),
        Ok(Receipt::Mismatch) => Err(ApiError::idempotency_mismatch()),
        Ok(Receipt::InsufficientCredits { used }) => {
            let limit = charge.allowed.unwrap_or_default();
            Err(ApiError::insufficient_credits(limit, used, cost, charge.cycle.end))
        }
        Err(OrderError::Overloaded) => Err(ApiError::overloaded(OVERLOADED_RETRY_SECS)),
        Err(OrderError::Storage(error)) => Err(error.into()),
    }
}

fn run_id(found: &Found) -> RunId {
    match found {
        Found::Live(run) => run.id(),
        Found::Stored(summary) => summary.id,
    }
}

fn status(found: &Found) -> Status {
    match found {
        Found::Live(run) => run.summary().status,
        Found::Stored(summary) => summary.status,
    }
}

fn accepted(found: &Found) -> Response {
    json_response(200, &Accepted { run_id: run_id(found), status: status(found) })
}

fn wait(api: &Api, found: Found, request: &Request) -> Reply {
    let preferred = decode::preferred_wait_secs(request);
    let longest = preferred.map_or(api.config.sync_wait, Duration::from_secs).min(api.config.sync_wait);
    let until = Instant::now() + longest;
    let applied = preferred.map(|secs| format!("wait={secs}"));
    let runs = Arc::clone(&api.runs);
    Reply::Later(Box::new(move || {
        let response = match &found {
            Found::Live(run) if run.wait_for_end(until) => {
                let (summary, results, _) = run.snapshot();
                finished(&summary, results.iter().map(|result| &result.record).collect())
            }
            Found::Stored(summary) if summary.status.is_terminal() => match runs.stored_results(summary.id) {
                Ok(results) => finished(summary, results.iter().collect()),
                Err(_) => still_running(&found),
            },
            _ => still_running(&found),
        };
        let response = with_location(response, run_id(&found));
        match applied {
            Some(preference) => response.with_header("Preference-Applied", preference),
            None => response,
        }
    }))
}

fn finished(
    summary: &crate::runs::run::RunSummary,
    results: Vec<&crate::runs::run::ResultRecord>,
) -> Response {
    json_response(
        200,
        &Finished {
            run_id: summary.id,
            status: summary.status,
            total_results: summary.total_results,
            results,
            error: summary.error.as_ref(),
        },
    )
}

fn still_running(found: &Found) -> Response {
    accepted(found).with_header("Retry-After", POLL_AFTER_SECS)
}

fn with_run_headers(reply: Reply, id: RunId) -> Reply {
    match reply {
        Reply::Now(response) => Reply::Now(with_location(response, id)),
        Reply::Stream(head, body) => Reply::Stream(with_location(head, id), body),
        later @ Reply::Later(_) => later,
    }
}

fn with_location(response: Response, id: RunId) -> Response {
    response.with_header("Location", format!("/v1/searches/{id}")).with_header("X-Run-Id", id.to_string())
}

/// `GET /v1/searches/{run_id}/stream`.
///
/// # Errors
/// 404, 400 for a bad `after`, 503.
pub fn attach(api: &Api, call: &Call<'_>) -> Result<Reply, ApiError> {
    let after = decode::number_parameter(call.request, "after", 0, u32::MAX, 0)?;
    let found = find(api, call)?;
    Ok(stream::reply(api, found, after, call.request_id))
}

/// `DELETE /v1/searches/{run_id}`.
///
/// # Errors
/// 404, 503.
pub fn delete(api: &Api, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let id = parse_run_id(call)?;
    if !api.runs.delete(id, caller.account.id)? {
        return Err(ApiError::no_such_run());
    }
    api.snapshots.forget(id);
    Ok(Reply::Now(Response::empty(204)))
}

/// The run that the path names, if it is the caller's.
///
/// # Errors
/// 404 in the same words for malformed, unknown, foreign and deleted; 503.
pub(super) fn find(api: &Api, call: &Call<'_>) -> Result<Found, ApiError> {
    let caller = call.caller()?;
    let id = parse_run_id(call)?;
    api.runs.find(id, caller.account.id)?.ok_or_else(ApiError::no_such_run)
}

/// The run id of the path.
///
/// # Errors
/// 404 for anything but the hyphenated form of a UUID.
pub(super) fn parse_run_id(call: &Call<'_>) -> Result<RunId, ApiError> {
    call.run_id.and_then(|text| text.parse().ok()).ok_or_else(ApiError::no_such_run)
}

/// Marks an idempotency key as being worked on, as long as it lives.
struct Flight {
    table: Arc<Mutex<HashSet<(AccountId, String)>>>,
    entry: (AccountId, String),
}

impl Flight {
    fn take_off(
        table: &Arc<Mutex<HashSet<(AccountId, String)>>>,
        account: AccountId,
        key: &str,
    ) -> Result<Self, ApiError> {
        let entry = (account, key.to_owned());
        if !table.lock().insert(entry.clone()) {
            return Err(ApiError::idempotency_conflict());
        }
        Ok(Self { table: Arc::clone(table), entry })
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.table.lock().remove(&self.entry);
    }
}
