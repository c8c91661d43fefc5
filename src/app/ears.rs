//! What other instances tell, and what is deleted here, passed on to the parts that want to know.

use std::sync::{Arc, Weak};

use super::AppError;
use crate::account::service::Accounts;
use crate::api::Api;
use crate::runs::news::{Ear, News};
use crate::runs::service::Runs;
use crate::store::Store;

/// Hears as long as it lives.
pub(super) struct Ears {
    runs: Arc<Runs>,
    accounts: Arc<Accounts>,
    api: Arc<Api>,
}

impl Ears {
    /// Listens, where the store serves several instances.
    pub(super) fn open(
        store: &Store,
        runs: &Arc<Runs>,
        accounts: &Arc<Accounts>,
        api: &Arc<Api>,
    ) -> Result<Arc<Self>, AppError> {
        let ears =
            Arc::new(Self { runs: Arc::clone(runs), accounts: Arc::clone(accounts), api: Arc::clone(api) });
        let ear: Weak<Self> = Arc::downgrade(&ears);
        store
            .listen(ear)
            .map_err(|error| AppError::Failed(format!("other instances cannot be heard: {error}")))?;
        // Weakly: the API holds the runs.
        let api = Arc::downgrade(api);
        runs.on_deletion(Box::new(move |run| {
            if let Some(api) = api.upgrade() {
                api.forget_run(run);
            }
        }));
        Ok(ears)
    }
}

impl Ear for Ears {
    fn hear(&self, news: News) {
        self.runs.hear(news);
        match news {
            News::Deleted(run) => self.api.forget_run(run),
            News::Access | News::Hearing | News::Deaf => self.accounts.forget_access(),
            News::Changed { .. } | News::Released => {}
        }
    }
}
