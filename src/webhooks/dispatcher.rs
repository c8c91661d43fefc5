//! The threads that send deliveries.
//!
//! One thread looks for deliveries that are due, claims them and passes them to a pool of workers. A claim is longer than an attempt, so at most one instance sends a delivery at a time. If an instance is killed, another one
//! claims the delivery after that time.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::{info, log, warn};
use parking_lot::{Condvar, Mutex};

use super::attempt::{TIME_LIMIT, attempt};
use super::secret::SealingKey;
use crate::base::count::Counter;
use crate::base::ids::WebhookId;
use crate::base::secret::random;
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::model::webhook::{Claimed, KEPT_FOR};
use crate::modules::probe::Prober;
use crate::store::Store;

/// The most deliveries that an instance sends at once.
const MOST: usize = 256;
/// The most of them to one webhook, so that a slow receiver delays no other.
const MOST_OF_WEBHOOK: usize = 2;
/// The time between two looks for deliveries that are due.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time for which an instance holds a delivery. It is longer than an attempt and the record of it.
const CLAIM: Duration = Duration::from_secs(60);
/// The time for which a worker tries to record an attempt while the store is unavailable.
const RECORD_PATIENCE: Duration = Duration::from_secs(40);
/// The pause between two tries to record an attempt.
const RECORD_PAUSE: Duration = Duration::from_millis(500);
/// The time between two removals of old deliveries.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(60);
/// The most deliveries that are removed in one transaction.
const REMOVAL_BATCH: usize = 500;

const _: () = assert!(CLAIM.as_secs() > TIME_LIMIT.as_secs() + RECORD_PATIENCE.as_secs());

/// The threads that send deliveries, and what they share.
pub struct Dispatcher {
    store: Arc<Store>,
    key: Arc<SealingKey>,
    prober: Arc<dyn Prober>,
    state: Mutex<State>,
    changed: Condvar,
    /// The figures since the start of the process.
    pub figures: Figures,
}

/// Figures since the start of the process.
#[derive(Debug, Default)]
pub struct Figures {
    /// Attempts that the receiver took.
    pub delivered: Counter,
    /// Attempts that failed.
    pub failed: Counter,
    /// Webhooks that were disabled because their receivers failed or wanted no more.
    pub disabled: Counter,
}

#[derive(Default)]
struct State {
    /// The numbers of deliveries that are being sent, by webhook.
    sending: HashMap<WebhookId, usize>,
    is_stopping: bool,
    /// Whether a worker has become free since the last look.
    has_freed: bool,
}

impl State {
    fn busy(&self) -> usize {
        self.sending.values().sum()
    }
}

impl Dispatcher {
    /// Starts the threads, which end when they are stopped. `key` decrypts the secrets of webhooks, and `prober` sends
    /// messages. It must check the address of each request.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn start(
        store: Arc<Store>,
        key: Arc<SealingKey>,
        prober: Arc<dyn Prober>,
    ) -> std::io::Result<Arc<Self>> {
        let (state, changed, figures) = Default::default();
        let dispatcher = Arc::new(Self { store, key, prober, state, changed, figures });
        let own = Arc::clone(&dispatcher);
        thread::Builder::new().name("webhooks".to_owned()).spawn(move || own.dispatch())?;
        Ok(dispatcher)
    }

    /// Returns the number of deliveries that are being sent.
    pub fn busy(&self) -> usize {
        self.state.lock().busy()
    }

    /// Claims no more deliveries, and waits until `until` for those that are being sent. A delivery that is not finished
    /// by then is sent again when its claim expires.
    pub fn stop(&self, until: Instant) {
        let mut state = self.state.lock();
        state.is_stopping = true;
        self.changed.notify_all();
        while state.busy() > 0 && !self.changed.wait_until(&mut state, until).timed_out() {}
    }

    /// Passes due deliveries to the workers until the dispatcher is stopped.
    fn dispatch(self: &Arc<Self>) {
        let mut removal_due = Instant::now() + REMOVAL_INTERVAL;
        loop {
            let (looked_at, mut has_more) = (Instant::now(), false);
            threads::guard("a look for deliveries to webhooks", || {
                if looked_at >= removal_due {
                    removal_due = looked_at + REMOVAL_INTERVAL;
                    self.remove_old();
                }
                match self.pass_on() {
                    Ok(more) => has_more = more,
                    Err(error) => {
                        log!(error.log_level(), "cannot look for deliveries to webhooks: {error}");
                    }
                }
            });
            if !self.wait(if has_more { looked_at } else { looked_at + POLL_INTERVAL }) {
                return;
            }
        }
    }

    /// Claims due deliveries and starts to send them. Returns whether there may be more that can be sent.
    fn pass_on(self: &Arc<Self>) -> Result<bool, StorageError> {
        let (full, free) = {
            let mut state = self.state.lock();
            state.has_freed = false;
            let full = state.sending.iter().filter(|(_, number)| **number >= MOST_OF_WEBHOOK);
            (full.map(|(id, _)| *id).collect::<Vec<_>>(), MOST - state.busy())
        };
        // Of each webhook there is one at most.
        let due = if free > 0 { self.store.due_deliveries(&full, free)? } else { Vec::new() };
        if due.is_empty() {
            return Ok(false);
        }
        let ids: Vec<_> = due.into_iter().map(|(id, _)| id).collect();
        let claimed = self.store.claim_deliveries(&ids, CLAIM)?;
        // Another instance may have claimed all.
        let has_more = !claimed.is_empty();
        claimed.into_iter().for_each(|delivery| self.begin(delivery));
        Ok(has_more)
    }

    /// Waits until `until`, or until a worker is free. Returns `false` if the dispatcher is stopped.
    fn wait(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        while !state.is_stopping && !state.has_freed {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        !state.is_stopping
    }

    /// Starts a thread that sends a delivery. Without one, it is sent when its claim expires.
    fn begin(self: &Arc<Self>, claimed: Claimed) {
        let mut state = self.state.lock();
        if state.is_stopping {
            return;
        }
        *state.sending.entry(claimed.webhook).or_default() += 1;
        drop(state);
        let (own, webhook) = (Arc::clone(self), claimed.webhook);
        let work = move || {
            threads::guard(format_args!("the attempt of delivery {}", claimed.id), || own.send(&claimed));
            own.leave(claimed.webhook);
        };
        if let Err(error) = thread::Builder::new().name("webhook".to_owned()).spawn(work) {
            warn!("cannot start a thread for a delivery: {error}");
            self.leave(webhook);
        }
    }

    /// Frees the place of a delivery.
    fn leave(&self, webhook: WebhookId) {
        let mut state = self.state.lock();
        if let Some(number) = state.sending.get_mut(&webhook) {
            *number -= 1;
        }
        state.sending.retain(|_, number| *number > 0);
        state.has_freed = true;
        self.changed.notify_all();
    }

    fn send(&self, claimed: &Claimed) {
        let answer = attempt(&*self.prober, &self.key, claimed);
        let pause = answer.next_pause(claimed.attempts, fraction());
        let Figures { delivered, failed, disabled } = &self.figures;
        if answer.is_delivered() { delivered } else { failed }.one();
        let until = Instant::now() + RECORD_PATIENCE;
        loop {
            match self.store.record_attempt(claimed, &answer, pause) {
                Ok(None) => return,
                Ok(Some(reason)) => {
                    disabled.one();
                    info!("webhook {} is disabled: {}", claimed.webhook, reason.as_str());
                    return;
                }
                // Without the record, the message is sent again when the claim expires.
                Err(error) if !error.is_unavailable() || Instant::now() >= until || self.is_stopping() => {
                    log!(error.log_level(), "cannot record the attempt of delivery {}: {error}", claimed.id);
                    return;
                }
                Err(_) => thread::sleep(RECORD_PAUSE),
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.state.lock().is_stopping
    }

    fn remove_old(&self) {
        loop {
            match self.store.remove_deliveries(KEPT_FOR, REMOVAL_BATCH) {
                Ok(removed) if removed == REMOVAL_BATCH as u64 && !self.is_stopping() => {}
                Ok(_) => return,
                Err(error) => {
                    log!(error.log_level(), "cannot remove old deliveries to webhooks: {error}");
                    return;
                }
            }
        }
    }
}

/// Returns a random number from 0 to 1.
fn fraction() -> f64 {
    f64::from(u32::from_le_bytes(random())) / f64::from(u32::MAX)
}
