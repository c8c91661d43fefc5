//! Records the answers of a site to a module.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::error::AppError;
use super::parts::{checker, http_prober, sandbox_options, start_sandbox};
use crate::base::clock::{Clock, SystemClock};
use crate::config::EngineConfig;
use crate::modules::control::made_up;
use crate::modules::keys::OperatorKeys;
use crate::modules::mistake::Mistake;
use crate::modules::module::Module;
use crate::modules::outcome::Report;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::recording::{Exchange, Expected, Recording, replay_keys, without_control};

/// A request to record the answers of a site.
#[derive(Debug, Clone)]
pub struct RecordRequest {
    /// The module that asks the site.
    pub module: Arc<Module>,
    /// A query that the site knows.
    pub known: Query,
    /// The web to use, the keys, and the limits for checks.
    pub engine: EngineConfig,
}

/// Asks the site for the known query and for a made-up one. Returns a recording of each, without what must not be
/// published.
///
/// # Errors
/// Fails if the module cannot be asked, if no made-up query is possible, or if the site gave no answer.
pub fn record(request: &RecordRequest) -> Result<[Recording; 2], AppError> {
    let RecordRequest { module, known, engine } = request;
    if module.is_premium() {
        return Err(AppError::config(format!(
            "{} needs a browser, and only HTTP can be recorded",
            module.id()
        )));
    }
    let seed = RandomState::new().hash_one(known.normal());
    let made_up = made_up(module, known, seed).ok_or_else(|| {
        AppError::config(format!("no made-up query is possible that {} accepts", module.id()))
    })?;
    let web = match sandbox_options(engine.sandbox) {
        Some(options) => Some(start_sandbox(std::slice::from_ref(module), options)?),
        None => None,
    };
    let module = without_control(module).map_err(|mistakes| invalid(&mistakes))?;
    let prober =
        Arc::new(RecordingProber { prober: http_prober(engine, web.as_ref())?, sent: Mutex::default() });
    // A recording is replayed without optional keys, so they are not used here either.
    let needs =
        |name: &str| module.entry().needs.iter().any(|need| need.trim_start_matches("config.") == name);
    let keys = engine.keys.iter().filter(|(name, _)| needs(name));
    let keys = OperatorKeys::new(keys.map(|(name, value)| (name.clone(), value.expose().clone())));
    let source = match web {
        Some(_) => "the simulated web",
        None => concat!("the site itself, by Sightline ", env!("CARGO_PKG_VERSION")),
    };
    let recording = |query: &Query, is_made_up: bool| {
        let checker = checker(engine, Arc::clone(&prober) as _, keys.clone());
        let deadline = Instant::now() + engine.check_timeout;
        let report = match is_made_up {
            true => checker.check_made_up(&module, query, deadline),
            false => *checker.check(&module, query, deadline),
        };
        let sent = std::mem::take(&mut *prober.sent.lock());
        if sent.is_empty() {
            return Err(no_answer(query, report.reason));
        }
        let mut recording = Recording {
            module: module.id().to_string(),
            query: query.normal().to_owned(),
            date: SystemClock.now().strftime("%Y-%m-%d").to_string(),
            source: source.to_owned(),
            licence: None,
            scrubbed: Vec::new(),
            exchanges: sent
                .iter()
                .map(|(request, response)| Exchange::of(request, response, &module))
                .collect(),
            expected: Expected::of(&report),
        };
        recording.scrub(&module, &keys);
        // What was replaced may have been a part of the result.
        recording.expected = Expected::of(&replay(engine, &module, query, recording.clone()));
        Ok(recording)
    };
    Ok([recording(known, false)?, recording(&made_up, true)?])
}

fn invalid(mistakes: &[Mistake]) -> AppError {
    AppError::config(mistakes.first().map(ToString::to_string).unwrap_or_default())
}

fn no_answer(query: &Query, reason: Option<Reason>) -> AppError {
    let reason = reason.map_or("no request was sent", Reason::as_str);
    AppError::failed(format!("no answer for {}: {reason}", query.normal()))
}

/// Returns the report of a check that gets the recorded answers.
fn replay(engine: &EngineConfig, module: &Module, query: &Query, recording: Recording) -> Report {
    let checker = checker(engine, Arc::new(ReplayingProber(recording)), replay_keys(module));
    *checker.check(module, query, Instant::now() + engine.check_timeout)
}

/// Keeps the requests that got an answer.
struct RecordingProber {
    prober: Arc<dyn Prober>,
    sent: Mutex<Vec<(Request, Response)>>,
}

impl Prober for RecordingProber {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let response = self.prober.send(request, jar, deadline)?;
        self.sent.lock().push((request.clone(), response.clone()));
        Ok(response)
    }
}

/// Answers with the recorded answers.
struct ReplayingProber(Recording);

impl Prober for ReplayingProber {
    fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let found = self.0.find(request).map(|found| &self.0.exchanges[found]);
        let exchange =
            found.ok_or_else(|| ProbeError::Connect(format!("{} was not recorded", request.url)))?;
        let final_url = exchange.final_url.as_ref().map_or(Ok(request.url.clone()), |url| url.parse());
        Ok(Response {
            status: exchange.status,
            final_url: final_url.map_err(|error| ProbeError::Redirect(error.to_string()))?,
            headers: exchange.headers.clone().into_iter().collect(),
            body: exchange.body_bytes().map_err(|error| ProbeError::Body(error.to_string()))?,
            truncated: false,
        })
    }
}
