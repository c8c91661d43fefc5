//! Random sequences of operations on the store and on a plain model in memory: after each, readers see the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::ToSpan as _;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sightline::base::ids::BatchId;
use sightline::model::account::BatchSize;
use sightline::model::batch::{Counts, NewBatch};
use sightline::model::drive::{Lease, StoppedRun};
use sightline::model::follow::{Class, FollowOrder, Membership, NewMember};
use sightline::model::page::ListFilter;
use sightline::model::refusal::{Code, Refusal};
use sightline::model::run::RunOptions;
use sightline::model::start::RowRef;
use sightline::modules::catalog::Choice;

use super::erasing::erase;
use super::*;
use crate::support::tier::{is_all, often};

/// The operations. Others need runs, so a start is the most frequent one.
const OPERATIONS: &str = "start start start start start start start follow follow follow follow follow follow \
    undo_unconfirmed take_over take_over take_over take_over save save save save save save finish finish \
    finish finish release stop stop stop delete delete delete add_batch add_batch start_row start_row start_row \
    sweep wait forget_keys close";

/// The most leads of a family that are searched.
const MOST_LEADS: u8 = 2;

/// How all leads of a run are followed.
pub(super) const ORDER: FollowOrder = FollowOrder {
    depth: 2,
    max_searches: 3,
    links: Class::Stated,
    choice: Choice {
        modules: Vec::new(),
        exclude_modules: Vec::new(),
        categories: Vec::new(),
        nsfw: true,
        engines: true,
        passive: false,
    },
};

/// An operation. Each uses some of the fields. A run or a batch is named by the number of those after it, modulo their
/// number: mostly it is one of the last.
#[derive(Debug, Clone)]
struct Op {
    name: &'static str,
    account: usize,
    instance: usize,
    place: usize,
    number: u8,
    /// An idempotency key and the request.
    key: Option<(u8, u8)>,
    allowed: Option<u64>,
    values: BTreeSet<u8>,
    even: [bool; 2],
    rare: [bool; 3],
}

impl Op {
    fn lead(&self) -> u8 {
        self.number + 4 * u8::from(self.rare[1])
    }
}

prop_compose! {
    fn operation()(
        name in proptest::sample::select(OPERATIONS.split(' ').filter(|name| !name.is_empty()).collect::<Vec<_>>()),
        account in 0..2usize,
        instance in 0..2usize,
        place in prop_oneof![3 => 0..3usize, 1 => 3..12usize],
        number in 0..4u8,
        key in proptest::option::weighted(0.4, (0..2u8, 0..2u8)),
        allowed in proptest::sample::select(vec![None, None, Some(1), Some(5)]),
        values in proptest::collection::btree_set(0..3u8, 0..4),
        even in any::<[bool; 2]>(),
        rare in proptest::array::uniform3(proptest::bool::weighted(0.2)),
    ) -> Op {
        Op { name, account, instance, place, number, key, allowed, values, even, rare }
    }
}

struct Run {
    new: NewRun,
    /// What its owner sees, without its position in the queue. `None` after it was deleted.
    shown: Option<RunSummary>,
    results: Vec<ResultRecord>,
    /// What its driver has saved, without results.
    saved: Delta,
    lease: Option<Lease>,
    epoch: u64,
    is_held: bool,
    turn: Option<u64>,
    is_unconfirmed: bool,
}

impl Run {
    fn is_running(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.status == Status::Running)
    }

    fn is_of(&self, account: AccountId) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.account == account)
    }

    fn is_member_of(&self, root: RunId) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.family.is_some_and(|place| place.root == root))
    }
}

struct Model<'a> {
    f: &'a Fixture,
    now: Timestamp,
    accounts: [AccountId; 2],
    closed: BTreeSet<AccountId>,
    instances: [InstanceId; 2],
    runs: Vec<Run>,
    /// The account of each batch, and its pending rows.
    batches: BTreeMap<BatchId, (AccountId, BTreeSet<u32>)>,
    /// The request of each idempotency key, which is forgotten with its run, the run or batch, and the time.
    keys: BTreeMap<(AccountId, u8), (Option<u8>, Uuid, Timestamp)>,
    /// The account, cycle, run, kind and credits of each booking.
    ledger: BTreeSet<(AccountId, Timestamp, RunId, &'static str, u64)>,
    leads: BTreeMap<(RunId, u8), RunId>,
    /// Whether it cannot be recorded that callers get what was created for them.
    refuses_confirmations: Arc<AtomicBool>,
}

impl<'a> Model<'a> {
    fn new(f: &'a Fixture) -> Self {
        let other = new_account("other@example.com");
        let refuses_confirmations = Arc::new(AtomicBool::new(false));
        let refuses = Arc::clone(&refuses_confirmations);
        f.store.before_each(move |operation| match operation {
            "confirm" if refuses.load(Ordering::Relaxed) => Err(StorageError::unavailable("refused")),
            _ => Ok(()),
        });
        assert!(f.store.add_account(&other, &Origin::CLI).unwrap());
        Self {
            f,
            now: at("2026-03-01T12:00:00.123Z"),
            accounts: [f.account.id, other.id],
            closed: BTreeSet::new(),
            instances: [new_instance(), new_instance()],
            runs: Vec::new(),
            batches: BTreeMap::new(),
            keys: BTreeMap::new(),
            ledger: BTreeSet::new(),
            leads: BTreeMap::new(),
            refuses_confirmations,
        }
    }

    /// Returns the places of some runs, the oldest first.
    fn places(&self, is_one: impl Fn(&Run) -> bool) -> Vec<usize> {
        (0..self.runs.len()).filter(|place| is_one(&self.runs[*place])).collect()
    }

    fn queue(&self, simulated: bool) -> Vec<usize> {
        let mut queue =
            self.places(|run| run.is_running() && run.turn.is_some() && run.new.simulated == simulated);
        queue.sort_by_key(|place| self.runs[*place].turn);
        queue
    }

    fn used(&self, account: AccountId, cycle: Timestamp) -> u64 {
        let of = |kind| {
            let lines = self.ledger.iter().filter(|line| (line.0, line.1, line.3) == (account, cycle, kind));
            lines.map(|line| line.4).sum::<u64>()
        };
        of("charge") - of("refund")
    }

    fn key(&self, key: Option<(u8, u8)>) -> Option<Idempotency> {
        key.map(|(key, body)| Idempotency { key: key.to_string(), body_hash: [body + 1; 32], at: self.now })
    }

    /// Returns the answer to a request that has used its key before.
    fn known(&self, account: AccountId, key: Option<(u8, u8)>) -> Option<Started> {
        let (key, request) = key?;
        let (known, run, _) =
            self.keys.get(&(account, key)).filter(|(.., at)| *at >= self.now - 24.hours())?;
        let is_same = *known == Some(request);
        Some(if is_same {
            Started::Repeated(RunId(*run))
        } else {
            Started::Refused(Refusal::idempotency_mismatch())
        })
    }

    fn note_key(&mut self, account: AccountId, key: Option<(u8, u8)>, id: Uuid) {
        self.keys.extend(key.map(|(key, request)| ((account, key), (Some(request), id, self.now))));
    }

    fn start(&mut self, op: &Op, account: AccountId, cause: Cause) {
        let [premium, simulated, rarely] = op.rare;
        let is_request = matches!(cause, Cause::Request);
        let waits = op.even[0] || cause.member().is_some();
        let is_unconfirmed = rarely || !waits && op.number % 2 == 1;
        let key = op.key.filter(|_| is_request);
        let follow = (op.number < 2 && is_request).then(|| ORDER.into());
        let options = RunOptions {
            patient: op.even[0],
            time_budget: op.rare[0].then_some(6),
            named: op.rare[1],
            nsfw: op.even[1],
            engines: op.rare[0],
            passive: op.rare[2],
            avatars: op.number == 3,
            evidence: op.even[0],
            of_batch: op.number == 2,
        };
        let categories = if op.even[1] { vec!["coding".into()] } else { Vec::new() };
        let choice = Choice { categories, nsfw: op.even[1], ..Choice::default() };
        let search = Search { premium, follow, options, choice, ..search(" @Someone ") };
        let cycle = Cycle::at(self.f.account.anchor, self.now);
        let charge = Charge { credits: search.cost(), allowed: op.allowed, cycle };
        let new = NewRun {
            id: RunId::new(),
            account,
            search,
            charge,
            simulated: simulated && is_request,
            created_at: self.now,
            owner: (!waits).then(|| self.instances[op.instance]),
            holds: if op.even[1] { HOLDS } else { Duration::ZERO },
            is_unconfirmed,
            idempotency: self.key(key),
            cause,
            ..self.f.new_run()
        };
        let expected = self.expected(&new, &charge, op).err().unwrap_or(Started::Created);
        let is_refused = op.values.len() > 1;
        self.refuses_confirmations.store(is_refused, Ordering::Relaxed);
        let is_created = expected == Started::Created;
        // Only a caller whose run was confirmed, or is driven, is told that it was created.
        let is_unconfirmed = is_unconfirmed && is_refused;
        let is_untold = is_created && is_unconfirmed && waits;
        match self.f.store.start(&new) {
            Err(error) => assert!(is_untold && error.is_unavailable(), "{error}"),
            Ok(started) => assert_eq!((started, is_untold), (expected, false)),
        }
        if !is_created {
            return;
        }
        self.note_key(account, key, new.id.0);
        self.ledger.insert((account, cycle.start, new.id, "charge", charge.credits));
        let queue = self.queue(new.simulated).into_iter().map(|place| &self.runs[place]);
        let own = queue.clone().filter(|run| run.new.account == account).filter_map(|run| run.turn).max();
        let turn = own.map(|turn| turn + 1).or(queue.filter_map(|run| run.turn).min()).unwrap_or(1);
        match new.cause {
            Cause::Lead(member) => drop(self.leads.insert((member.place.root, op.lead()), new.id)),
            Cause::Row(row) => assert!(self.batches.get_mut(&row.batch).unwrap().1.remove(&row.position)),
            _ => {}
        }
        let shown = new.opening();
        self.runs.push(Run {
            results: Vec::new(),
            saved: Delta { progress: shown.progress, ..Delta::default() },
            shown: Some(shown),
            lease: new.owner.map(|owner| owner.lease(0)),
            epoch: 0,
            is_held: new.holds == HOLDS,
            turn: waits.then_some(turn),
            is_unconfirmed,
            new,
        });
    }

    /// Returns why a run is not started.
    fn expected(&self, run: &NewRun, charge: &Charge, op: &Op) -> Result<(), Started> {
        if self.closed.contains(&run.account) {
            return Err(Started::Refused(Refusal::unknown_key()));
        }
        if let Some(known) = self.known(run.account, op.key).filter(|_| run.idempotency.is_some()) {
            return Err(known);
        }
        if let Cause::Lead(member) = &run.cause {
            let root = member.place.root;
            let is_open = |run: &Run| {
                run.shown.as_ref().is_some_and(|shown| shown.follow.is_none() || shown.stopped_at.is_none())
            };
            if !self.runs.iter().any(|run| run.new.id == root && is_open(run)) {
                return Err(Started::Refused(Refusal::new(
                    Code::Conflict,
                    "the first search of the family was deleted or stopped",
                )));
            }
            let is_gone = |id| self.runs.iter().all(|run| run.new.id != id || run.shown.is_none());
            let searched = self.leads.get(&(root, op.lead())).copied();
            if let Some(known) = searched.filter(|known| !member.is_on_request || !is_gone(*known)) {
                return Err(Started::Repeated(known));
            }
            let count = self.leads.keys().filter(|(of, _)| *of == root).count();
            if searched.is_none() && count >= MOST_LEADS as usize {
                let message =
                    format!("leads have started {} searches, which is the most", member.max_searches);
                return Err(Started::Refused(Refusal::new(Code::Conflict, message)));
            }
        }
        let row = if let Cause::Row(row) = run.cause { Some(row) } else { None };
        let batch = row.map(|row| self.batches.get(&row.batch).filter(|batch| batch.0 == run.account));
        if batch.is_some_and(|batch| batch.is_none()) {
            return Err(Started::Refused(Refusal::no_such("row")));
        }
        let used = self.used(run.account, charge.cycle.start);
        if charge.allowed.is_some_and(|allowed| used + charge.credits > allowed) {
            return Err(Started::Refused(Refusal::insufficient_credits(*charge, used)));
        }
        match row.is_some_and(|row| !batch.flatten().unwrap().1.contains(&row.position)) {
            true => Err(Started::Refused(Refusal::no_such("row"))),
            false => Ok(()),
        }
    }

    /// Ends a run. If it has failed, its credits go back to the cycle that paid.
    fn end(&mut self, place: usize, ending: Ending) {
        let run = &mut self.runs[place];
        let shown = run.shown.as_mut().unwrap();
        if ending.error.is_some() {
            let (account, cycle, _, _, credits) =
                *self.ledger.iter().find(|line| line.2 == run.new.id).unwrap();
            self.ledger.insert((account, cycle, run.new.id, "refund", credits));
            shown.credits_charged = 0;
        }
        (shown.status, shown.completed_at) = (ending.status(), Some(ending.completed_at));
        shown.error = ending.error;
        run.lease = None;
    }

    /// Ends a run whose caller was refused. The time is that of the database.
    fn end_unconfirmed(&mut self, place: usize) {
        let shown = self.f.store.run(self.runs[place].new.id, self.runs[place].new.account).unwrap().unwrap();
        let (error, completed_at) = (shown.error, shown.completed_at.unwrap());
        assert_eq!(error.as_ref().unwrap().code, "store_failed");
        // Readers learn of the end by its revision.
        self.runs[place].shown.as_mut().unwrap().revision += 1;
        self.end(place, Ending { error, completed_at });
    }

    /// Deletes a run. Its key stays in use unless it is swept.
    fn remove(&mut self, place: usize, with_key: bool) {
        let run = &mut self.runs[place];
        let RunId(id) = run.new.id;
        (run.shown, run.results) = (None, Vec::new());
        self.leads.retain(|(root, _), _| root.0 != id);
        self.keys.retain(|_, (_, run, _)| *run != id || !with_key);
        self.keys.values_mut().filter(|(_, run, _)| *run == id).for_each(|(request, ..)| *request = None);
    }

    fn apply(&mut self, op: &Op) {
        self.now += 1.second();
        let (store, now, by) = (Arc::clone(&self.f.store), self.now, &Origin::CLI);
        let account = self.accounts[op.account];
        let last = |count: usize| op.place.checked_rem(count).map(|place| count - 1 - place);
        let place = last(self.runs.len());
        let run = place.map(|place| self.runs[place].new.id);
        let batch = last(self.batches.len()).and_then(|place| self.batches.iter().nth(place));
        match (op.name, place.zip(run), batch) {
            ("start", run, _) => {
                let retried = run.filter(|_| op.number == 3).map(|(_, run)| Cause::Retry(run));
                self.start(op, account, retried.unwrap_or(Cause::Request));
            }
            ("follow", Some((place, _)), _) => {
                // Mostly one family grows.
                let oldest = self.runs.iter().position(|run| run.shown.is_some()).filter(|_| !op.rare[0]);
                let NewRun { id: root, account, .. } = self.runs[oldest.unwrap_or(place)].new;
                let place = Membership { root, parent: root, depth: 1 };
                let (lead, class) = (Uuid::from_u128(op.lead().into()), Class::Stated);
                let (max_searches, is_on_request) = (MOST_LEADS, op.even[1]);
                let member = NewMember { place, lead, class, max_searches, is_on_request };
                self.start(op, account, Cause::Lead(member));
            }
            ("undo_unconfirmed", ..) => {
                store.undo_unconfirmed(if op.even[0] { Duration::ZERO } else { 50_000 * HOLDS }).unwrap();
                let undone = self.places(|run| {
                    op.even[0] && run.is_running() && run.lease.is_none() && run.is_unconfirmed
                });
                undone.into_iter().for_each(|place| self.end_unconfirmed(place));
            }
            ("take_over", ..) => self.take_over(op),
            ("save", Some((place, _)), _) => self.save(place, op),
            ("finish", Some((place, run)), _) => {
                let (lease, is_own) = self.lease(place, op);
                let ending = Ending { completed_at: now, ..if op.even[0] { failed() } else { completed() } };
                let last = self.next_delta(place, op);
                let done = store.finish(run, lease, &last, &ending).unwrap();
                assert_eq!(done, if is_own { Write::Done } else { Write::LeaseLost });
                if is_own {
                    self.note_saved(place, last);
                    self.end(place, ending);
                }
            }
            ("release", ..) => {
                let owner = self.instances[op.instance];
                store.release(owner).unwrap();
                let own = |run: &&mut Run| run.lease.is_some_and(|lease| lease.owner == owner);
                self.runs.iter_mut().filter(own).for_each(|run| run.lease = None);
            }
            ("stop", Some((place, id)), _) => {
                let is_there = self.runs[place].is_of(account);
                let mut stopped = Vec::new();
                for run in self.runs.iter_mut().filter(|run| run.shown.is_some() && is_there) {
                    let (is_root, is_member, is_running) =
                        (run.new.id == id, run.is_member_of(id), run.is_running());
                    let shown = run.shown.as_mut().unwrap();
                    if is_running && (is_root || is_member) || is_root && shown.follow.is_some() {
                        let at = *shown.stopped_at.get_or_insert(now);
                        stopped.extend(is_running.then_some((run.new.id, at, run.turn.is_some())));
                    }
                }
                let told = store.stop(id, account, now, by).unwrap();
                let told = told.map(|runs| {
                    runs.into_iter().map(|StoppedRun { id, at, waits }| (id, at, waits)).collect()
                });
                assert_eq!(told, is_there.then(|| BTreeSet::from_iter(stopped)));
            }
            ("delete", Some((place, id)), _) => {
                let is_there = self.runs[place].is_of(account);
                let deleted = self.places(|run| {
                    is_there
                        && run.shown.is_some()
                        && (run.new.id == id || op.even[0] && run.is_member_of(id))
                });
                let told = store.delete(id, account, op.even[0], by).unwrap();
                assert_eq!(told.len(), deleted.len());
                deleted.into_iter().for_each(|place| self.remove(place, false));
            }
            ("add_batch", ..) => {
                let rows: BTreeSet<u32> = (1..=u32::from(op.number) + 1).collect();
                let new = NewBatch {
                    id: BatchId::new(),
                    account,
                    name: None,
                    simulated: false,
                    rows: rows.iter().map(|position| (*position, search("someone"))).collect(),
                    idempotency: self.key(op.key),
                };
                let expected = match self.known(account, op.key) {
                    _ if self.closed.contains(&account) => Started::Refused(Refusal::unknown_key()),
                    known => known.unwrap_or(Started::Created),
                };
                self.refuses_confirmations.store(false, Ordering::Relaxed);
                assert_eq!(store.add_batch(&new, by).unwrap(), expected);
                if expected == Started::Created {
                    self.note_key(account, op.key, new.id.0);
                    self.batches.insert(new.id, (account, rows));
                }
            }
            ("start_row", _, Some((id, (owner, _)))) => {
                let row = RowRef { batch: *id, position: u32::from(op.number) + 1 };
                self.start(op, if op.rare[0] { account } else { *owner }, Cause::Row(row));
            }
            ("sweep", ..) => {
                let (before, most) =
                    (at("2100-01-01T00:00:00Z"), BatchSize { runs: 1000, results: 1_000_000 });
                let ended = self.places(|run| run.shown.is_some() && !run.is_running());
                let swept = store.sweep(before, most).unwrap();
                assert_eq!(swept, Some(ended.len() as u64));
                ended.into_iter().for_each(|place| self.remove(place, true));
            }
            ("wait", ..) => self.now = now + (if op.rare[0] { 480 } else { 25 }).hours(),
            ("forget_keys", ..) => {
                let before = now - 24.hours();
                store.remove_expired(now).unwrap();
                self.keys.retain(|_, (.., at)| *at >= before);
            }
            ("close", ..) if op.rare[0] => self.close(account),
            _ => {}
        }
    }

    fn close(&mut self, account: AccountId) {
        let runs = self.places(|run| run.is_of(account));
        let erased = erase(&self.f.store, account).map(|erased| erased.runs);
        assert_eq!(erased, self.closed.insert(account).then_some(runs.len() as u64));
        runs.into_iter().for_each(|place| self.remove(place, true));
        self.batches.retain(|_, (of, _)| *of != account);
        self.keys.retain(|(of, _), _| *of != account);
    }

    /// Returns a lease with which to write, mostly that of the run's driver, and whether it is that.
    fn lease(&self, place: usize, op: &Op) -> (Lease, bool) {
        let run = &self.runs[place];
        let owner =
            run.lease.filter(|_| !op.rare[1]).map_or(self.instances[op.instance], |lease| lease.owner);
        // The writes of an earlier driver may arrive late.
        let lease = owner.lease(if op.rare[2] { run.epoch.saturating_sub(1) } else { run.epoch });
        (lease, run.is_running() && run.lease == Some(lease))
    }

    /// Returns the next delta of a driver, without results: some modules have ended since the last one.
    fn next_delta(&self, place: usize, op: &Op) -> Delta {
        let run = &self.runs[place];
        let revision = run.shown.as_ref().map_or(0, |shown| shown.revision) + 1;
        let mut delta = Delta { revision, reports: Vec::new(), ..run.saved.clone() };
        if op.even[1] {
            delta.lookups = both_ended().lookups;
        }
        both_ended().reports.into_iter().take(op.number.into()).for_each(|report| delta.add_report(report));
        delta
    }

    fn note_saved(&mut self, place: usize, delta: Delta) {
        let run = &mut self.runs[place];
        let shown = run.shown.as_mut().unwrap();
        (shown.progress, shown.coverage, shown.revision) = (delta.progress, delta.coverage, delta.revision);
        run.saved.reports.extend(delta.reports);
        run.saved.lookups = delta.lookups;
        (run.saved.progress, run.saved.coverage) = (delta.progress, delta.coverage);
    }

    /// Adds results as a driver does: what is found again gets another confidence. A repeated write has a new revision.
    fn save(&mut self, place: usize, op: &Op) {
        let (lease, is_own) = self.lease(place, op);
        let run = &self.runs[place];
        let (mut results, shown) = (run.results.clone(), run.shown.as_ref());
        let mut delta = self.next_delta(place, op);
        for value in op.values.iter().map(ToString::to_string) {
            if let Some(known) = results.iter_mut().find(|known| known.value.as_ref() == Some(&value)) {
                known.confidence = f64::from(op.number) / 4.0;
                delta.changed.push(known.clone());
            } else {
                results.push(result(results.len() as u32 + 1, &value));
                delta.added.extend(results.last().cloned());
            }
        }
        delta.changed.sort_by_key(|changed| changed.id);
        let stopped = shown.and_then(|shown| shown.stopped_at).map_or(Write::Done, Write::Stopped);
        let holds = if op.even[0] { HOLDS } else { Duration::ZERO };
        for _ in 0..=u8::from(op.rare[0]) {
            let write = self.f.store.save(run.new.id, lease, &delta, holds).unwrap();
            assert_eq!(write, if is_own { stopped } else { Write::LeaseLost });
            delta.revision += 1;
        }
        delta.revision -= 1;
        if is_own {
            let run = &mut self.runs[place];
            let shown = run.shown.as_mut().unwrap();
            shown.total_results = results.len() as u32;
            (run.results, run.is_held, run.is_unconfirmed) = (results, op.even[0], false);
            self.note_saved(place, delta);
        }
    }

    fn take_over(&mut self, op: &Op) {
        let (owner, simulated) = (self.instances[op.instance], op.rare[1]);
        let own = self.runs.iter().filter(|run| run.lease.is_some_and(|lease| lease.owner == owner));
        let except: Vec<RunId> = own.map(|run| run.new.id).filter(|_| op.even[0]).collect();
        let expired = op.even[1];
        let only =
            op.place.checked_rem(self.runs.len()).filter(|_| op.rare[0]).map(|place| self.runs[place].new.id);
        let claim = Claim { owner, simulated, except: &except, expired, only, holds: HOLDS };
        let mut taken = self.f.store.take_over(&claim).unwrap();
        let may = |run: &Run| only.is_none_or(|only| only == run.new.id) && !except.contains(&run.new.id);
        let mut due = self.places(|run| {
            let is_free = run.lease.is_none() || expired && !run.is_held;
            run.is_running() && run.turn.is_none() && run.new.simulated == simulated && is_free && may(run)
        });
        let queue = self.queue(simulated).into_iter().map(|place| (place, &self.runs[place]));
        due.extend(queue.filter(|(_, run)| may(run) && !run.is_unconfirmed).map(|(place, _)| place));
        for place in due {
            let run = &mut self.runs[place];
            run.epoch += u64::from(run.turn.take().is_none());
            if run.is_unconfirmed {
                self.end_unconfirmed(place);
                continue;
            }
            (run.lease, run.is_held) = (Some(owner.lease(run.epoch)), true);
            let resumed = taken.take().unwrap();
            assert_eq!((Some(&resumed.summary), Some(resumed.lease)), (run.shown.as_ref(), run.lease));
            let (done, lookups) = (&run.saved.reports, &run.saved.lookups);
            assert_eq!((&resumed.done, &resumed.lookups, &resumed.results), (done, lookups, &run.results));
            assert_eq!(resumed.modules, run.new.modules);
            break;
        }
        assert_eq!(taken, None);
    }

    /// Checks that each account sees its own runs and batches as the model has them, and nothing of the other's.
    fn check(&self) {
        let store = &self.f.store;
        for account in self.accounts {
            let own =
                self.runs.iter().rev().filter(|run| run.is_of(account)).filter_map(|run| run.shown.clone());
            assert_eq!(store.list(account, &ListFilter::default(), 1000).unwrap(), own.collect::<Vec<_>>());
            for (index, run) in self.runs.iter().enumerate() {
                let place = self.queue(run.new.simulated).iter().position(|place| *place == index);
                let queue_position = place.map(|place| place as u32 + 1);
                let shown = run.shown.clone().filter(|_| run.is_of(account));
                let shown = shown.map(|shown| RunSummary { queue_position, ..shown });
                assert_eq!(store.run(run.new.id, account).unwrap(), shown);
            }
            for (id, (of, pending)) in &self.batches {
                let count = |status| {
                    let runs = self.runs.iter().filter_map(|run| run.shown.as_ref());
                    runs.filter(|run| run.batch == Some(*id) && run.status == status).count() as u32
                };
                let [running, completed, failed] =
                    [Status::Running, Status::Completed, Status::Failed].map(count);
                let counts =
                    Counts { pending: pending.len() as u32, running, completed, failed, ..Counts::default() };
                let stored = store.batch(account, *id).unwrap().map(|batch| batch.counts);
                assert_eq!(stored, (*of == account).then_some(counts));
            }
            for key in [(0, 0), (1, 1)].map(Some) {
                let known = store.known_request(account, &self.key(key).unwrap()).unwrap();
                assert_eq!(known, self.known(account, key));
            }
            for cycle in store.cycle_uses(account).unwrap() {
                assert_eq!(cycle.used, self.used(account, cycle.cycle_start));
            }
            let bookings = store.bookings(account).unwrap();
            let own = self.ledger.iter().filter(|line| line.0 == account);
            let own: BTreeSet<_> =
                own.map(|(_, cycle, run, kind, credits)| (*cycle, *run, *kind, *credits)).collect();
            assert_eq!(bookings.len(), own.len());
            let lines =
                bookings.iter().map(|line| (line.cycle_start, line.run, line.kind.as_str(), line.credits));
            assert_eq!(lines.collect::<BTreeSet<_>>(), own);
        }
        for run in &self.runs {
            assert_eq!(store.results(run.new.id, 0, 100).unwrap(), run.results);
        }
        let starts = "SELECT count(*) FROM audit WHERE action = 'run.started'";
        assert_eq!(self.f.database.number(starts), self.runs.len() as i64, "refused starts leave no entry");
    }
}

fn agrees(database: fn() -> TestDatabase, cases: u32) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let play = |operations: Vec<Op>| {
        let f = Fixture::new(database());
        let mut model = Model::new(&f);
        for operation in &operations {
            model.apply(operation);
            model.check();
        }
        model.accounts.into_iter().for_each(|account| model.close(account));
        model.check();
        for table in
            ["accounts", "runs", "results", "batches", "batch_rows", "idempotency_keys", "followed_leads"]
        {
            assert_eq!(f.rows(table), 0, "{table}");
        }
        Ok(())
    };
    // The default tier always plays the same sequences, so that a fault is found each time or never.
    let mut runner = match is_all() {
        true => TestRunner::new(config),
        false => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::default())),
    };
    runner.run(&proptest::collection::vec(operation(), 1..80), play).unwrap();
}

mod readers_see_what_a_plain_model_has {
    use super::*;

    #[test]
    fn sqlite() {
        agrees(crate::support::databases::sqlite, often(40, 400));
    }

    #[test]
    fn postgres() {
        agrees(crate::support::databases::postgres, often(10, 100));
    }
}
