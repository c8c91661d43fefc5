//! Starting the rows of batches whose turn has come.

use std::sync::Arc;
use std::time::Duration;

use log::{debug, info, log};

use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::batch::{NextRow, RowRefusal};
use crate::model::credits::Charge;
use crate::model::start::{Cause, Refused};
use crate::runs::drivers::Slot;
use crate::runs::service::Runs;
use crate::runs::start_request::{StartError, StartRequest};

/// The time after which a batch whose account had not enough credits is tried again.
const CREDIT_PAUSE: Duration = Duration::from_secs(5);

/// Whether further rows can be started.
enum Next {
    GoOn,
    Stop,
}

impl Runs {
    /// Ends the batches with nothing left to do, and starts rows as long as a driver is free for them. The maintenance
    /// thread calls this after free drivers have taken the runs that wait.
    pub(in crate::runs) fn feed_batches(self: &Arc<Self>) {
        let Some(most) = self.most_of_batches else { return };
        if let Err(error) = self.try_to_feed(most) {
            log!(error.log_level(), "cannot continue the batches for now: {error}");
        }
    }

    fn try_to_feed(self: &Arc<Self>, most: usize) -> Result<(), StorageError> {
        let simulated = self.context.simulated;
        for batch in self.context.store.end_batches(simulated)? {
            info!("batch {batch}: ended");
        }
        while let Some(slot) = self.driver_for_batch(most) {
            let Some(next) = self.context.store.next_row(simulated)? else { break };
            if let Next::Stop = self.start_row(next, slot)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns a driver for a run of a batch. Returns `None` if a run waits that is not of a batch, or if runs of batches
    /// have their share of the drivers.
    fn driver_for_batch(&self, most: usize) -> Option<Slot> {
        let Self { registry, drivers, queue, .. } = self;
        if registry.lifecycle.is_shutting_down()
            || queue.waiting() > 0
            || registry.driven_of_batches() >= most
        {
            return None;
        }
        drivers.reserve()
    }

    fn start_row(self: &Arc<Self>, next: NextRow, slot: Slot) -> Result<Next, StorageError> {
        let NextRow { row, account, search } = next;
        let refuse = |reason: RowRefusal| {
            debug!("batch {}: row {} is refused: {}", row.batch, row.position, reason.as_str());
            self.context.store.refuse_row(row, reason).map(|()| Next::GoOn)
        };
        let Some(search) = search else { return refuse(RowRefusal::Unreadable) };
        let Some(charge) = (self.context.charge_of)(account)? else {
            // The account is being deleted, or its plan is not configured.
            self.context.store.wait_for_credits(account, CREDIT_PAUSE)?;
            return Ok(Next::GoOn);
        };
        let request = StartRequest {
            account,
            charge: Charge { credits: search.cost(), ..charge },
            search,
            cause: Cause::Row(row),
            idempotency: None,
            origin: Origin::SYSTEM,
        };
        match self.begin(request, || Some(slot)) {
            Err(StartError::Refused(Refused::InsufficientCredits { .. })) => {
                self.context.store.wait_for_credits(account, CREDIT_PAUSE)?;
                Ok(Next::GoOn)
            }
            // An account that is being deleted has no batches a moment later. The others can be tried again then.
            Err(
                StartError::ShuttingDown | StartError::Refused(Refused::UnknownAccount | Refused::Overloaded),
            ) => Ok(Next::Stop),
            Err(StartError::Query(_)) => refuse(RowRefusal::Unreadable),
            Err(StartError::Suppressed) => refuse(RowRefusal::Suppressed),
            Err(StartError::Choice(_)) => refuse(RowRefusal::InvalidChoice),
            Err(StartError::NoBrowser) => refuse(RowRefusal::PremiumUnavailable),
            Err(StartError::Storage(error)) => Err(error),
            // Another process has started the row, or the batch was stopped.
            Ok(_) | Err(_) => Ok(Next::GoOn),
        }
    }
}
