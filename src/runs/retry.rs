//! [`Retry`]: asking the modules of a run again that came to no conclusion.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::service::Runs;
use super::service::{StartError, StartRequest, StartResult};
use crate::model::audit::Origin;
use crate::model::credits::{Charge, cost};
use crate::model::run::{ModuleReport, RunSummary};
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency};
use crate::modules::catalog::{Catalog, Choice};
use crate::modules::outcome::Outcome;
use crate::modules::query::Query;
use crate::modules::reason::Reason;

/// A run of the modules of another run that came to no conclusion.
#[derive(Debug)]
pub struct Retry<'a> {
    of: &'a RunSummary,
    query: Query,
    modules: Vec<String>,
    is_premium: bool,
}

/// Why there is nothing to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRetry {
    /// The run has not ended.
    #[error("the search has not ended: stop it first, or wait for its end")]
    Running,
    /// Each module came to a conclusion, cannot be asked for this query, or is no longer in the catalogue.
    #[error("no module of the search can give another answer")]
    NothingLeft,
    /// This version does not accept the query.
    #[error("the query of the search is no longer valid: start another search")]
    InvalidQuery,
}

impl<'a> Retry<'a> {
    /// Returns the retry of a run whose modules have ended like this.
    ///
    /// # Errors
    /// Returns the reason if there is nothing to ask again.
    pub fn of<'r>(
        run: &'a RunSummary,
        reports: impl IntoIterator<Item = &'r ModuleReport>,
        catalog: &Catalog,
    ) -> Result<Self, NoRetry> {
        if !run.status.is_terminal() {
            return Err(NoRetry::Running);
        }
        let query = Query::parse(run.search_type, &run.query).map_err(|_| NoRetry::InvalidQuery)?;
        let left = reports.into_iter().filter(|report| may_conclude(report));
        let modules: Vec<_> = left
            .filter_map(|report| catalog.get(&report.module))
            .filter(|module| module.entry().enabled && module.search_type() == run.search_type)
            .collect();
        if modules.is_empty() {
            return Err(NoRetry::NothingLeft);
        }
        Ok(Self {
            query,
            is_premium: modules.iter().any(|module| module.is_premium()),
            modules: modules.iter().map(|module| module.id().to_string()).collect(),
            of: run,
        })
    }

    /// Returns whether a browser is needed.
    pub fn is_premium(&self) -> bool {
        self.is_premium
    }

    /// Returns the number of modules that are asked.
    pub fn modules(&self) -> usize {
        self.modules.len()
    }

    /// Returns the cost in credits.
    pub fn cost(&self) -> u64 {
        cost(self.is_premium)
    }

    /// Returns the SHA-256 by which requests with one idempotency key are compared.
    pub fn fingerprint(&self) -> [u8; 32] {
        Sha256::digest(format!("retry {}", self.of.id)).into()
    }

    /// Starts the run.
    ///
    /// # Errors
    /// Returns the errors of [`Runs::start`].
    pub fn start(
        &self,
        runs: &Arc<Runs>,
        charge: Charge,
        idempotency: Option<Idempotency>,
        origin: Origin,
    ) -> Result<StartResult, StartError> {
        let options = self.of.options;
        let choice = Choice {
            modules: self.modules.clone(),
            nsfw: options.nsfw,
            passive: options.passive,
            ..Choice::default()
        };
        runs.start(StartRequest {
            account: self.of.account,
            search: Search { premium: self.is_premium, choice, options, ..Search::plain(&self.query) },
            cause: Cause::Retry(self.of.id),
            charge,
            idempotency,
            origin,
        })
    }
}

/// Returns whether a module may come to a conclusion if it is asked again.
fn may_conclude(report: &ModuleReport) -> bool {
    match report.status {
        Outcome::Skipped => report.reason.is_some_and(|reason| {
            reason.is_local_fault()
                || matches!(reason, Reason::Stopped | Reason::DailyLimit | Reason::Unavailable)
        }),
        outcome => !outcome.is_conclusive(),
    }
}
