//! Starting a search in its three modes, attaching to one, deleting one.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::decode::{self, SearchBody};
use super::error::ApiError;
use super::service::{Api, Call, json_response};
use super::stream;
use super::wire::run::Answer;
use crate::account::audit::Origin;
use crate::account::credits::{PREMIUM_COST, STANDARD_COST};
use crate::account::service::{AccountError, Caller};
use crate::base::ids::{AccountId, RequestId, RunId};
use crate::http::{Reply, Response};
use crate::runs::journal::Idempotency;
use crate::runs::run::{ResultRecord, RunSummary};
use crate::runs::service::{Found, Order, OrderError, Receipt, idempotency_valid_since};

/// Seconds that a client should wait before it polls after a wait that ran out.
const POLL_AFTER_SECS: &str = "2";
/// Seconds after which a refused search may be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;

/// `POST /v1/searches`. A search whose answer waits or streams is begun only once a thread for it has been
/// found: a 503 for want of one comes before anything is charged.
///
/// # Errors
/// 400, 402, 403, 409, 415, 422, 503; nothing is charged then.
pub fn start(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let body = SearchBody::from_request(call.request)?;
    if api.runs.is_suppressed(&body.query) {
        // Again when it is ordered; here, before anything else is said of the caller or the search.
        return Err(ApiError::suppressed());
    }
    let key = decode::idempotency_key(call.request)?;
    if key.is_none() {
        // Again when it is ordered; here, so that a bad choice is refused before a thread is looked for. One
        // with a key may repeat what an earlier catalogue had.
        api.runs.modules_for(&body.query, body.is_premium(), &body.choice)?;
    }
    require_premium(api, caller, body.is_premium())?;
    let flight = match &key {
        Some(key) => Some(Flight::take_off(&api.in_flight, caller.account.id, key)?),
        None => None,
    };
    let search = Search {
        api: Arc::clone(api),
        caller: caller.clone(),
        preferred_wait_secs: decode::preferred_wait_secs(call.request),
        request_id: call.request_id.clone(),
        body,
        key,
        flight,
    };
    if !search.body.stream && !search.body.wait {
        return search.run();
    }
    let (request_id, as_problem) = (call.request_id.clone(), call.as_problem);
    Ok(Reply::Later(Box::new(move || {
        search.run().unwrap_or_else(|error| Reply::Now(error.into_response(&request_id, as_problem)))
    })))
}

/// 403 comes before anything is charged; so does 503, from [`Runs::start`](crate::runs::service::Runs::start).
fn require_premium(api: &Api, caller: &Caller, premium: bool) -> Result<(), ApiError> {
    if !premium {
        return Ok(());
    }
    if !caller.plan.premium {
        let plans = api.accounts.plans().names_where(|plan| plan.premium);
        return Err(ApiError::plan_required("premium searches are not part of this account's plan", &plans));
    }
    Ok(())
}

/// A valid search, about to be charged.
struct Search {
    api: Arc<Api>,
    caller: Caller,
    body: SearchBody,
    key: Option<String>,
    flight: Option<Flight>,
    preferred_wait_secs: Option<u64>,
    request_id: RequestId,
}

impl Search {
    /// Charges, starts and answers it.
    fn run(mut self) -> Result<Reply, ApiError> {
        let found = self.order()?;
        // Whoever repeats the key from here on gets this run.
        self.flight = None;
        let id = found.id();
        let reply = if self.body.stream {
            stream::reply(&self.api, found, 0, &self.request_id)
        } else if self.body.wait {
            Reply::Now(self.wait(found)?)
        } else {
            Reply::Now(accepted(&found))
        };
        Ok(with_run_headers(reply, id))
    }

    fn order(&mut self) -> Result<Found, ApiError> {
        let (api, account) = (&self.api, self.caller.account.id);
        let premium = self.body.is_premium();
        let cost = if premium { PREMIUM_COST } else { STANDARD_COST };
        let charge = api.accounts.charge(&self.caller, cost);
        let valid_since = idempotency_valid_since(api.clock.now());
        let body_hash = self.body.fingerprint();
        let order = Order {
            account,
            query: self.body.query.clone(),
            premium,
            choice: self.body.choice.clone(),
            charge,
            origin: Origin::request(self.caller.actor, &self.request_id),
            idempotency: self.key.take().map(|key| Idempotency { key, body_hash, valid_since }),
        };
        match api.runs.start(order) {
            Ok(Receipt::Started(run)) => Ok(Found::Live(run)),
            Ok(Receipt::Repeated(id)) => api.runs.find(id, account)?.ok_or_else(ApiError::no_such_run),
            Ok(Receipt::Mismatch) => Err(ApiError::idempotency_mismatch()),
            Ok(Receipt::UnknownAccount) => Err(AccountError::InvalidKey.into()),
            Ok(Receipt::InsufficientCredits { used }) => {
                let limit = charge.allowed.unwrap_or_default();
                Err(ApiError::insufficient_credits(limit, used, cost, charge.cycle.end))
            }
            Err(OrderError::Suppressed) => Err(ApiError::suppressed()),
            Err(OrderError::Overloaded) => Err(ApiError::overloaded(OVERLOADED_RETRY_SECS)),
            Err(OrderError::Choice(error)) => Err(error.into()),
            Err(OrderError::NoBrowser) => Err(ApiError::premium_unavailable()),
            Err(OrderError::Storage(error)) => Err(error.into()),
        }
    }

    fn wait(&self, found: Found) -> Result<Response, ApiError> {
        let longest = self.api.config.sync_wait;
        let preferred = self.preferred_wait_secs.map(Duration::from_secs).filter(|wait| *wait <= longest);
        let until = Instant::now() + preferred.unwrap_or(longest);
        let found = self.api.runs.wait_for_end(found, until)?.ok_or_else(ApiError::no_such_run)?;
        let response = match found {
            Found::Live(run) if run.ended_at().is_some() => {
                let (summary, results, _) = run.snapshot();
                finished(&summary, results.iter().map(|result| &result.record).collect())
            }
            Found::Stored(summary) if summary.status.is_terminal() => {
                finished(&summary, self.api.runs.stored_results(summary.id)?.iter().collect())
            }
            running => accepted(&running).with_header("Retry-After", POLL_AFTER_SECS),
        };
        Ok(match preferred {
            Some(wait) => response.with_header("Preference-Applied", format!("wait={}", wait.as_secs())),
            None => response,
        })
    }
}

fn accepted(found: &Found) -> Response {
    json_response(200, &Answer::begun(found.id(), found.status()))
}

fn finished(summary: &RunSummary, results: Vec<&ResultRecord>) -> Response {
    json_response(200, &Answer::ended(summary, results))
}

fn with_run_headers(reply: Reply, id: RunId) -> Reply {
    let with = |response: Response| {
        response.with_header("Location", format!("/v1/searches/{id}")).with_header("X-Run-Id", id.to_string())
    };
    match reply {
        Reply::Now(response) => Reply::Now(with(response)),
        Reply::Stream(head, body) => Reply::Stream(with(head), body),
        later @ Reply::Later(_) => later,
    }
}

/// `GET /v1/searches/{run_id}/stream`.
///
/// # Errors
/// 404, 400 for a bad `after`, 503.
pub fn attach(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let after = decode::number_parameter(call.request, "after", (0, u32::MAX, 0))?;
    let found = find(api, call)?;
    Ok(stream::reply(api, found, after, call.request_id))
}

/// `DELETE /v1/searches/{run_id}`.
///
/// # Errors
/// 404, 503.
pub fn delete(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let caller = call.caller()?;
    let id = parse_run_id(call)?;
    if !api.runs.delete(id, caller.account.id, &Origin::request(caller.actor, call.request_id))? {
        return Err(ApiError::no_such_run());
    }
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
    call.segment.and_then(|text| text.parse().ok()).ok_or_else(ApiError::no_such_run)
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
