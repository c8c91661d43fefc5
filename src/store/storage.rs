//! [`Storage`]: all traits of the layers below that the store implements.

use super::load::StoreLoad;
use super::metrics::StoreMetrics;
use super::sql::Sql;
use crate::account::audit::AuditTrail;
use crate::account::ledger::Ledger;
use crate::account::records::Records;
use crate::account::sign_in::SignInStore;
use crate::runs::batches::storage::BatchStore;
use crate::runs::bundles::Bundles;
use crate::runs::journal::Journal;
use crate::runs::retention::Retention;
use crate::watches::storage::WatchStore;
use crate::webhooks::storage::WebhookStore;

/// An open database. The trait has one implementation. A trait object of it has the methods of all its supertraits,
/// without an import of each.
pub trait Storage:
    Ledger
    + SignInStore
    + Journal
    + BatchStore
    + Bundles
    + WatchStore
    + WebhookStore
    + AuditTrail
    + Records
    + Retention
    + 'static
{
    /// Returns the metrics of all operations since the start.
    fn metrics(&self) -> &StoreMetrics;

    /// Returns how busy the database is at this moment, without a query and without waiting.
    fn load(&self) -> StoreLoad;
}

impl Storage for Sql {
    fn metrics(&self) -> &StoreMetrics {
        Self::metrics(self)
    }

    fn load(&self) -> StoreLoad {
        self.backend.load()
    }
}
