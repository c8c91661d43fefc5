//! [`CallTable`]: the calls of MCP in progress.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use crate::base::ids::AccountId;

/// Names a call: its account, the session of the client, and the id of its request as JSON text.
pub(super) type CallName = (AccountId, String, String);

/// Returns the name of a call.
pub(super) fn call_name(account: AccountId, session: &str, id: &Value) -> CallName {
    (account, session.to_owned(), id.to_string())
}

/// The calls in progress that their clients can cancel.
#[derive(Debug, Default)]
pub(super) struct CallTable(Mutex<HashMap<CallName, Arc<AtomicBool>>>);

/// A call in progress. It leaves the table when this is dropped.
pub(super) struct CallInProgress {
    table: Arc<CallTable>,
    name: CallName,
    is_cancelled: Arc<AtomicBool>,
}

impl CallTable {
    /// Adds a call. A call with the same name, which the protocol does not allow, can no longer be cancelled.
    pub(super) fn begin(self: &Arc<Self>, name: CallName) -> CallInProgress {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        self.0.lock().insert(name.clone(), Arc::clone(&is_cancelled));
        CallInProgress { table: Arc::clone(self), name, is_cancelled }
    }

    /// Cancels a call, if it is in progress.
    pub(super) fn cancel(&self, name: &CallName) {
        if let Some(is_cancelled) = self.0.lock().get(name) {
            is_cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl CallInProgress {
    /// Returns whether the client has cancelled the call.
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        let mut calls = self.table.0.lock();
        if calls.get(&self.name).is_some_and(|own| Arc::ptr_eq(own, &self.is_cancelled)) {
            calls.remove(&self.name);
        }
    }
}
