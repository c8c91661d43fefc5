//! The order of checks, without threads: each test takes the next check as a worker would.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::host::{FORGET_AFTER, Host};
use super::*;
use crate::modules::module::Module;
use crate::modules::terms::{Access, HostAccess};
use std::collections::VecDeque;

const WORKERS: usize = 8;

/// A scheduler whose checks the test starts itself.
struct World {
    scheduler: Arc<Scheduler>,
    sender: Sender<(usize, Turn)>,
    receiver: Receiver<(usize, Turn)>,
    start: Instant,
}

impl World {
    fn new(most_of_host: usize) -> Self {
        let answers = SharedAnswers::new(Duration::from_secs(60));
        let scheduler = Scheduler::new(WORKERS, 3, most_of_host, Arc::default(), answers);
        // With all threads said to be there and busy, none is started.
        scheduler.state.lock().threads = WORKERS;
        let (sender, receiver) = channel();
        Self { scheduler, sender, receiver, start: Instant::now() }
    }

    fn join(&self, account: Option<AccountId>, is_of_batch: bool) -> Group {
        self.scheduler.join(account, is_of_batch, true)
    }

    fn task(place: usize, sources: &[&[&str]]) -> (usize, Task) {
        let owned = |hosts: &&[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
        (place, Task::plain(Kind::Check, sources.iter().map(owned).collect()))
    }

    fn task_where(place: usize, sources: &[&[&str]], change: impl FnOnce(&mut Task)) -> (usize, Task) {
        let (place, mut task) = Self::task(place, sources);
        change(&mut task);
        (place, task)
    }

    fn ask(&self, group: &Group, tasks: impl IntoIterator<Item = (usize, Task)>) {
        let with_work = |(place, task)| -> (Task, Work) {
            let sender = self.sender.clone();
            (task, Box::new(move |turn| sender.send((place, turn)).unwrap()))
        };
        self.scheduler.add(group.id, tasks.into_iter().map(with_work).collect());
    }

    /// Adds checks of the host "a".
    fn add(&self, group: &Group, places: impl IntoIterator<Item = usize>) {
        self.ask(group, places.into_iter().map(|place| Self::task(place, &[&["a"]])));
    }

    /// Returns the next check, seconds after the start.
    fn next_at(&self, secs: u64) -> Option<(usize, Turn)> {
        let mut state = self.scheduler.state.lock();
        let now = self.start + Duration::from_secs(secs);
        let (work, turn) = self.scheduler.take(&mut state, now)?;
        drop(state);
        work(turn);
        Some(self.receiver.recv().unwrap())
    }

    fn next(&self) -> Option<(usize, Permit)> {
        match self.next_at(0)? {
            (place, Ok(permit)) => Some((place, *permit)),
            _ => panic!("not granted"),
        }
    }

    fn all(&self) -> (Vec<usize>, VecDeque<Permit>) {
        std::iter::from_fn(|| self.next()).unzip()
    }

    /// Checks that these begin, and returns them.
    fn begin(&self, want: &[usize]) -> VecDeque<Permit> {
        let (places, permits) = self.all();
        assert_eq!(places, want);
        permits
    }

    /// Ends checks one after the other. Returns the order in which others begin.
    fn drain(&self, mut busy: VecDeque<Permit>) -> Vec<usize> {
        let mut order = Vec::new();
        while let Some(ended) = busy.pop_front() {
            drop(ended);
            let (places, begun) = self.all();
            order.extend(places);
            busy.extend(begun);
        }
        order
    }
}

#[test]
fn two_checks_of_an_unknown_host_run_at_once_and_take_all_their_hosts_or_none() {
    let world = World::new(6);
    let group = world.join(None, false);
    world.ask(
        &group,
        vec![World::task(0, &[&["a"]]), World::task(1, &[&["a", "b"]]), World::task(2, &[&["b", "a"]])],
    );
    world.ask(&group, vec![World::task(3, &[&["b"]])]);
    let mut busy = world.begin(&[0, 1, 3]);
    assert_eq!(world.scheduler.waiting(), 1);
    drop(busy.pop_front());
    assert_eq!(world.drain(busy), [2]);
    assert!(world.scheduler.state.lock().hosts.is_empty(), "nothing is kept of hosts that nobody asks");
}

#[test]
fn no_newcomer_passes_the_queue_of_a_host() {
    let world = World::new(2);
    let (first, newcomer) = (world.join(Some(AccountId::new()), false), world.join(None, false));
    world.add(&first, 0..4);
    let mut busy = world.begin(&[0, 1]);
    world.add(&newcomer, [9]);
    assert!(world.next().is_none());
    drop(busy.pop_front());
    // The place is free, and a check comes before a worker has taken the one that waits.
    world.add(&newcomer, [10]);
    assert_eq!(world.drain(busy), [2, 9, 3, 10]);
}

#[test]
fn a_check_that_waits_for_another_lends_its_worker_and_its_places_and_takes_them_back() {
    let world = World::new(6);
    let group = world.join(None, false);
    world.add(&group, [0, 1, 2]);
    let mut busy = world.begin(&[0, 1]);
    let mut third = None;
    // A worker is started for it, and ends afterwards.
    busy[0].lend(&mut || third = world.receiver.recv_timeout(IDLE * 6).ok());
    let (place, third) = third.unwrap();
    assert_eq!((place, world.scheduler.state.lock().hosts["a"].busy), (2, 3));
    world.add(&group, [3]);
    busy.pop_front();
    world.begin(&[]);
    drop(third);
    world.begin(&[3]);
}

#[test]
fn accounts_take_turns_at_a_host_and_batches_come_last() {
    let world = World::new(2);
    let accounts = [(); 3].map(|()| AccountId::new());
    let groups = accounts.map(|account| world.join(Some(account), false));
    let batch = world.join(Some(accounts[0]), true);
    world.add(&groups[0], [100, 101]);
    let (_, busy) = world.all();
    world.add(&batch, 200..203);
    assert!(world.next().is_none());
    for (place, account) in [1, 1, 1, 0, 1, 2, 0].into_iter().enumerate() {
        world.add(&groups[account], [place]);
        assert!(world.next().is_none());
    }
    assert_eq!(world.drain(busy), [0, 3, 5, 1, 6, 2, 4, 200, 201, 202]);
}

#[test]
fn batches_keep_their_share_of_the_workers_whether_they_wait_for_hosts_or_not() {
    let world = World::new(6);
    let (batch, single) = (world.join(None, true), world.join(None, false));
    world.ask(&batch, (0..12).map(|place| World::task(place, &[&[["a", "b", "c"][place % 3]]])));
    for _ in 0..3 {
        let (places, permits) = world.all();
        assert_eq!(places.len(), WORKERS / 4);
        permits.into_iter().for_each(|permit| permit.end(Feedback::Conclusive, None));
    }
    drop(single);
    assert_eq!(world.all().0.len(), 6, "the hosts allow no more");
}

#[test]
fn a_turn_at_a_host_comes_before_all_but_the_first_check_of_a_run() {
    let world = World::new(2);
    let [first, new] = [(); 2].map(|()| world.join(Some(AccountId::new()), false));
    world.add(&first, 0..3);
    let (_, mut busy) = world.all();
    world.ask(&new, [World::task(10, &[&["b"]]), World::task(11, &[&["c"]])]);
    busy.pop_front();
    assert_eq!(world.all().0, [10, 2, 11]);
}

#[test]
fn the_turn_of_a_run_that_ends_goes_to_the_next() {
    let world = World::new(2);
    let groups = [(); 3].map(|()| world.join(Some(AccountId::new()), false));
    let [first, gone, next] = groups;
    world.add(&first, 0..2);
    let (_, busy) = world.all();
    world.add(&gone, 2..4);
    world.add(&next, 4..5);
    assert!(world.next().is_none());
    drop(gone);
    assert_eq!(world.scheduler.waiting(), 1);
    assert_eq!(world.drain(busy), [4]);
    world.scheduler.sweep(Instant::now());
    assert!(world.scheduler.state.lock().hosts.is_empty());
}

#[test]
fn the_limit_of_a_host_follows_its_answers_and_is_forgotten_after_ten_minutes() {
    let world = World::new(3);
    let group = world.join(None, false);
    let most = |feedback: Feedback| {
        group.cancel();
        world.add(&group, 0..10);
        let (places, permits) = world.all();
        group.cancel();
        permits.into_iter().for_each(|permit| permit.end(feedback, None));
        places.len()
    };
    assert_eq!([Feedback::Conclusive, Feedback::Overloaded, Feedback::Neutral].map(most), [2, 3, 1]);
    let used = Instant::now();
    world.scheduler.sweep(used + FORGET_AFTER - Duration::from_secs(60));
    assert_eq!(most(Feedback::Neutral), 1);
    world.scheduler.sweep(used + FORGET_AFTER + Duration::from_secs(60));
    assert_eq!(most(Feedback::Neutral), 2);
}

#[test]
fn the_rate_of_a_module_delays_its_checks() {
    let world = World::new(6);
    let group = world.join(None, false);
    let mut entry = Module::example("paced").entry().clone();
    entry.every_ms = Some(600_000);
    let module = Arc::new(Module::new(entry));
    let paced = |task: &mut Task| task.module = Some(Arc::clone(&module));
    let tasks = (0..3).map(|place| World::task_where(place, &[&["a"]], paced));
    world.ask(&group, tasks);
    let _first = world.next().unwrap();
    assert!(world.next().is_none(), "the host may have more, the module may not");
    assert!(world.next_at(590).is_none());
    let Some((1, Ok(_))) = world.next_at(610) else { panic!("not granted") };
    assert!(matches!(world.next_at(1300), Some((2, Ok(_)))));
}

#[test]
fn a_host_that_asked_for_a_pause_gets_one_and_other_sources_are_asked_meanwhile() {
    let world = World::new(6);
    let group = world.join(None, false);
    world.add(&group, [0]);
    let (_, running) = world.next().unwrap();
    let pause = |host: &str, secs| Pause { host: host.to_owned(), secs };
    world.scheduler.pause(&[pause("a", 60), pause("b", 1_000_000)]);
    assert_eq!(running.access("a"), Access::Denied(Denial::Pause), "of another check");
    assert_eq!(running.access("c"), Access::Granted);
    drop(running);
    let turn = |sources: &[&[&str]], secs| {
        world.ask(&group, vec![World::task(0, sources)]);
        match world.next_at(secs).unwrap().1 {
            Ok(permit) => Some(permit.hosts.clone()),
            Err(report) if report.reason == Some(Denial::Pause.end().1) => None,
            _ => panic!("neither granted nor paused"),
        }
    };
    let hosts = |hosts: &[&str]| Some(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>());
    assert_eq!(turn(&[&["a"]], 59), None);
    assert_eq!(turn(&[&["a"]], 61), hosts(&["a"]));
    assert_eq!(turn(&[&["b"]], 590), None);
    assert_eq!(turn(&[&["b"]], 610), hosts(&["b"]), "the wish is followed for ten minutes");
    assert_eq!(turn(&[&["c", "a"], &["d"], &["e"]], 0), hosts(&["d"]));
    assert_eq!(turn(&[&["a"], &["c", "a"]], 0), None);
    assert_eq!(turn(&[&["a"], &[]], 0), hosts(&[]), "its host is known later");
    assert_eq!(turn(&[], 0), hosts(&[]));
}

#[test]
fn a_run_begins_with_some_slow_checks_and_ends_with_others() {
    let world = World::new(6);
    let group = world.join(None, false);
    let module = |rank: usize| Some(Module::example(&format!("m{rank}")));
    let tasks = (0..WORKERS).map(|place| {
        World::task_where(place, &[&[&format!("host{place}")]], |task| {
            (task.expected, task.module) = (Duration::from_millis(1000 * place as u64), module(place));
        })
    });
    world.ask(&group, tasks);
    let _permits = world.begin(&[0, 1, 2, 3, 4, 5, 7, 6]);
}

#[test]
fn runs_take_turns_at_the_browsers_and_other_checks_do_not_wait_for_them() {
    let world = World::new(6);
    let account = Some(AccountId::new());
    let groups = [false, false, true].map(|is_of_batch| world.join(account, is_of_batch));
    let page = |place: usize| World::task(place, &[&[&format!("host{place}"), BROWSERS]]);
    world.ask(&groups[0], (0..6).map(page));
    let mut busy = world.begin(&[0, 1, 2]);
    world.ask(&groups[2], (20..22).map(page));
    world.ask(&groups[1], (10..12).map(page).chain([World::task(12, &[&["plain"]])]));
    busy.extend(world.begin(&[12]));
    assert_eq!(world.scheduler.busy_in_browsers(), 3);
    assert_eq!(world.drain(busy), [3, 10, 4, 11, 5, 20, 21]);
}

#[test]
fn a_turn_at_a_site_is_none_at_the_browsers() {
    let world = World::new(6);
    let groups = [(); 3].map(|()| world.join(Some(AccountId::new()), false));
    let page = |place: usize, host: &'static str| World::task(place, &[&[host, BROWSERS]]);
    world.add(&groups[0], [0, 1]);
    world.ask(&groups[0], [page(2, "b"), page(3, "c"), page(4, "d")]);
    let mut busy = world.begin(&[0, 1, 2, 3, 4]);
    world.ask(&groups[1], [page(5, "e")]);
    world.ask(&groups[2], [page(6, "a")]);
    assert!(world.next().is_none(), "one waits at the browsers, and one at the site");
    // Both have a place before a worker looks.
    drop([busy.pop_front(), busy.pop_back()]);
    busy.extend(world.begin(&[5]));
    assert_eq!(world.drain(busy), [6]);
}

/// Returns the busy checks of a world where both a site and the browsers have a queue, and one waits for both.
fn two_queues(world: &World) -> ([Group; 3], VecDeque<Permit>) {
    let groups = [(); 3].map(|()| world.join(Some(AccountId::new()), false));
    world.add(&groups[0], 0..20);
    world.ask(&groups[1], (20..40).map(|place| World::task(place, &[&[&format!("host{place}"), BROWSERS]])));
    let busy = world.all().1;
    world.ask(&groups[2], [World::task(50, &[&["a", BROWSERS]])]);
    assert!(world.next().is_none());
    (groups, busy)
}

#[test]
fn a_check_with_two_busy_hosts_begins_although_both_queues_stay() {
    let world = World::new(2);
    let (_groups, busy) = two_queues(&world);
    let order = world.drain(busy);
    assert!(order.iter().take(8).any(|place| *place == 50), "{order:?}");
    assert_eq!(order.len(), 36);
    assert!(world.scheduler.state.lock().hosts.is_empty());
}

#[test]
fn the_place_that_a_check_keeps_is_free_when_its_run_ends() {
    let world = World::new(2);
    let ([first, _pages, gone], mut busy) = two_queues(&world);
    // Its turn at the site comes while the browsers have no place, so nobody takes this one.
    busy.pop_front();
    let begun = world.begin(&[2]);
    drop(busy.remove(1));
    assert!(world.next().is_none());
    drop(gone);
    busy.extend(world.begin(&[3]));
    assert_eq!(world.drain(busy.into_iter().chain(begun).collect()).len(), 33);
    drop(first);
}

#[test]
fn the_turns_of_batches_do_not_count_for_others() {
    let mut host = Host::new(6, Instant::now());
    let [one, new] = [(); 2].map(|()| (Some(AccountId::new()), None));
    (0..50).for_each(|task| host.wait(task, one, true, false));
    (100..104).for_each(|task| host.wait(task, one, false, false));
    // No worker is free for others.
    while host.next_turn(|task| task < 100).is_some() {}
    host.wait(200, new, false, false);
    let order: Vec<_> = std::iter::from_fn(|| host.next_turn(|_| true)).collect();
    assert_eq!(order, [100, 200, 101, 102, 103]);
}

#[test]
fn a_task_that_may_not_wait_is_dropped_at_a_full_host() {
    let world = World::new(2);
    let group = world.join(None, false);
    world.add(&group, 0..2);
    let (_, busy) = world.all();
    let if_free = |task: &mut Task| task.kind = Kind::IfFree;
    world.ask(&group, [World::task_where(5, &[&["a"]], if_free)]);
    assert!(world.next().is_none());
    assert_eq!(world.drain(busy), [0; 0]);
    world.ask(&group, [World::task(7, &[&["b"]])]);
    world.ask(&group, [World::task_where(6, &[&["a"]], if_free)]);
    assert_eq!(world.all().0, [6, 7], "it comes before others");
    assert!(world.scheduler.state.lock().tasks.is_empty());
}

#[test]
fn a_few_pictures_of_a_run_are_fetched_at_once_before_its_checks() {
    let world = World::new(6);
    let group = world.join(None, false);
    let picture = |place: usize| {
        let hosts = vec![format!("host{place}"), pictures_of(group.id)];
        (place, Task::plain(Kind::Picture, vec![hosts]))
    };
    world.ask(&group, [World::task(10, &[&["a"]]), World::task(11, &[&["b"]])]);
    (0..6).for_each(|place| world.ask(&group, [picture(place)]));
    assert_eq!(world.scheduler.waiting(), 2);
    let (places, busy) = world.all();
    assert_eq!(places, [5, 4, 3, 2, 10, 11]);
    assert_eq!(world.drain(busy), [1, 0]);
    drop(group);
    assert!(world.scheduler.state.lock().hosts.is_empty());
}
