//! The limits of hosts and modules, without sockets.

use super::host::FORGET_AFTER;
use super::*;
use crate::base::ids::AccountId;
use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;

fn counting() -> (Waker, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let waker = move || {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    (Arc::new(waker), count)
}

fn single(waker: &Waker) -> Requester<'_> {
    Requester { waker, account: None, is_of_batch: false }
}

fn ask(host_limiter: &HostLimiter, hosts: &[&str], waker: &Waker) -> Option<Permit> {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    match host_limiter.admit(
        "m",
        Pace::default(),
        vec![hosts],
        OnOpenCircuit::Skip,
        single(waker),
        Instant::now(),
    ) {
        Admission::Granted(permit) => Some(permit),
        _ => None,
    }
}

#[test]
fn two_checks_of_a_host_run_at_once_and_the_third_is_woken_once() {
    let (host_limiter, (waker, woken)) = (HostLimiter::new(6, Arc::default(), Arc::default()), counting());
    let first = ask(&host_limiter, &["a"], &waker).unwrap();
    let second = ask(&host_limiter, &["a", "b"], &waker).unwrap();
    assert!(ask(&host_limiter, &["a"], &waker).is_none());
    assert!(ask(&host_limiter, &["b", "a"], &waker).is_none(), "all hosts or none");
    drop(second);
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    let third = ask(&host_limiter, &["a"], &waker).unwrap();
    drop((first, third));
    assert!(host_limiter.hosts.lock().is_empty(), "nothing is kept of hosts that nobody asks");
}

#[test]
fn checks_that_wait_for_a_host_are_admitted_in_the_order_in_which_they_came() {
    let host_limiter = HostLimiter::new(6, Arc::default(), Arc::default());
    let mut busy: VecDeque<Permit> =
        (0..2).map(|_| ask(&host_limiter, &["a"], &counting().0).unwrap()).collect();
    let waiting: Vec<_> = (0..30).map(|_| counting()).collect();
    for (waker, _) in &waiting {
        assert!(ask(&host_limiter, &["a"], waker).is_none());
    }
    let woken = |at: usize| waiting[at].1.load(Ordering::SeqCst);
    let mut admitted = Vec::new();
    while admitted.len() < waiting.len() {
        drop(busy.pop_front());
        let turn = (0..waiting.len()).find(|at| woken(*at) > 0 && !admitted.contains(at)).unwrap();
        if admitted.len() % 5 == 4 && busy.len() == 1 {
            // A newcomer is faster. The check keeps its place, and is woken again before later ones.
            let newcomer = ask(&host_limiter, &["a"], &counting().0).unwrap();
            assert!(ask(&host_limiter, &["a"], &waiting[turn].0).is_none());
            drop(newcomer);
            assert_eq!(woken(turn), 2);
        }
        busy.push_back(ask(&host_limiter, &["a"], &waiting[turn].0).unwrap());
        admitted.push(turn);
    }
    assert_eq!(admitted, Vec::from_iter(0..30));
    assert!((0..30).all(|at| woken(at) <= 2), "nobody is woken without a turn");
}

#[test]
fn accounts_take_turns_at_a_host() {
    let host_limiter = HostLimiter::new(2, Arc::default(), Arc::default());
    let accounts = [(); 3].map(|()| AccountId::new());
    let ask_for = |account: usize, is_of_batch, waker: &Waker| {
        let (pace, hosts) = (Pace::default(), vec![vec!["a".to_owned()]]);
        let requester = Requester { waker, account: Some(accounts[account]), is_of_batch };
        match host_limiter.admit("m", pace, hosts, OnOpenCircuit::Skip, requester, Instant::now()) {
            Admission::Granted(permit) => Some(permit),
            _ => None,
        }
    };
    let mut busy: VecDeque<Permit> = (0..2).map(|_| ask_for(0, false, &counting().0).unwrap()).collect();
    // Checks of the first account that wait no longer, and those of its batch, do not count as its turns.
    (0..5).for_each(|_| assert!(ask_for(0, false, &counting().0).is_none()));
    let batch: Vec<_> = (0..5).map(|_| counting()).collect();
    batch.iter().for_each(|(waker, _)| assert!(ask_for(0, true, waker).is_none()));
    let waiting: Vec<_> = [1, 1, 1, 0, 1, 2, 0].map(|account| (account, counting())).into();
    for (account, (waker, _)) in &waiting {
        assert!(ask_for(*account, false, waker).is_none());
    }
    let mut admitted = Vec::new();
    while admitted.len() < waiting.len() {
        drop(busy.pop_front());
        let is_next = |at: &usize| waiting[*at].1.1.load(Ordering::SeqCst) > 0 && !admitted.contains(at);
        let turn = (0..waiting.len()).find(is_next).unwrap();
        busy.push_back(ask_for(waiting[turn].0, false, &waiting[turn].1.0).unwrap());
        admitted.push(turn);
    }
    assert_eq!(admitted, [0, 3, 5, 1, 6, 2, 4]);
    assert!(batch.iter().all(|(_, woken)| woken.load(Ordering::SeqCst) == 0));
}

#[test]
fn checks_of_batches_leave_a_place_free_and_let_others_go_first() {
    let host_limiter = HostLimiter::new(2, Arc::default(), Arc::default());
    let ask_for = |waker: &Waker, is_of_batch| {
        let (pace, hosts) = (Pace::default(), vec![vec!["a".to_owned()]]);
        let requester = Requester { waker, account: None, is_of_batch };
        match host_limiter.admit("m", pace, hosts, OnOpenCircuit::Skip, requester, Instant::now()) {
            Admission::Granted(permit) => Some(permit),
            _ => None,
        }
    };
    let ((of_batch, batch_woken), (one, _), (other, other_woken)) = (counting(), counting(), counting());
    let first = ask_for(&counting().0, true).unwrap();
    assert!(ask_for(&of_batch, true).is_none(), "the second place is left free");
    let second = ask_for(&one, false).unwrap();
    assert!(ask_for(&other, false).is_none());
    let woken = || (batch_woken.load(Ordering::SeqCst), other_woken.load(Ordering::SeqCst));
    drop(first);
    assert_eq!(woken(), (0, 1), "the check of the batch came first and waits longer");
    assert!(ask_for(&of_batch, true).is_none());
    let third = ask_for(&other, false).unwrap();
    drop((second, third));
    assert_eq!(woken(), (1, 1));
    assert!(ask_for(&of_batch, true).is_some());
}

#[test]
fn a_check_whose_driver_has_ended_gets_no_turn() {
    let host_limiter = HostLimiter::new(2, Arc::default(), Arc::default());
    let busy = [(); 2].map(|()| ask(&host_limiter, &["a"], &counting().0).unwrap());
    let ((gone, never), (next, woken)) = (counting(), counting());
    assert!(ask(&host_limiter, &["a"], &gone).is_none());
    assert!(ask(&host_limiter, &["a"], &next).is_none());
    drop(gone);
    let [first, second] = busy;
    drop(first);
    assert_eq!((never.load(Ordering::SeqCst), woken.load(Ordering::SeqCst)), (0, 1));
    drop((second, next));
    host_limiter.sweep(Instant::now());
    assert!(host_limiter.hosts.lock().is_empty());
}

#[test]
fn the_limit_of_a_host_follows_its_answers_and_is_forgotten_after_ten_minutes() {
    let host_limiter = HostLimiter::new(3, Arc::default(), Arc::default());
    let most = || {
        let (waker, _) = counting();
        let permits: Vec<Permit> = std::iter::from_fn(|| ask(&host_limiter, &["a"], &waker)).collect();
        let count = permits.len();
        (count, permits)
    };
    let end_all = |permits: Vec<Permit>, feedback| permits.into_iter().for_each(|one| one.end(feedback));
    let (two, permits) = most();
    end_all(permits, Feedback::Conclusive);
    let (three, permits) = most();
    end_all(permits, Feedback::Overloaded);
    let (one, permits) = most();
    assert_eq!((two, three, one), (2, 3, 1));
    assert!(ask(&host_limiter, &["b"], &counting().0).is_some(), "each host has its own limit");
    drop(permits);
    let used = Instant::now();
    host_limiter.sweep(used + FORGET_AFTER - Duration::from_secs(60));
    assert_eq!(most().0, 1);
    host_limiter.sweep(used + FORGET_AFTER + Duration::from_secs(60));
    assert!(host_limiter.hosts.lock().is_empty());
    assert_eq!(most().0, 2);
}

#[test]
fn the_pace_of_a_module_holds_whatever_its_host_may_take() {
    let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default(), Arc::default()), counting());
    let start = Instant::now();
    for _ in 0..6 {
        let permits: Vec<Permit> = std::iter::from_fn(|| ask(&host_limiter, &["a"], &waker)).collect();
        permits.into_iter().for_each(|permit| permit.end(Feedback::Conclusive));
    }
    let pace = Pace { every: Some(Duration::from_secs(2)), per_day: Some(2) };
    let admit = |secs| {
        let at = start + Duration::from_secs(secs);
        host_limiter.admit("paced", pace, vec![vec!["a".to_owned()]], OnOpenCircuit::Skip, single(&waker), at)
    };
    let Admission::Granted(_first) = admit(0) else { panic!("refused") };
    assert!(matches!(admit(1), Admission::NotBefore(_)));
    let Admission::Granted(_second) = admit(2) else { panic!("refused") };
    assert!(matches!(admit(60), Admission::DailyLimit));
    assert!(ask(&host_limiter, &["a"], &waker).is_some(), "the host may have more");
}

#[test]
fn a_refused_check_reserves_none_of_its_hosts() {
    let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default(), Arc::default()), counting());
    let _both = (ask(&host_limiter, &["a"], &waker), ask(&host_limiter, &["a"], &waker));
    for _ in 0..5 {
        assert!(ask(&host_limiter, &["b", "a"], &waker).is_none());
    }
    assert!(ask(&host_limiter, &["b"], &waker).is_some());
}

#[test]
fn a_host_that_asked_for_a_pause_gets_one() {
    let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default(), Arc::default()), counting());
    let start = Instant::now();
    let running = ask(&host_limiter, &["a"], &waker).unwrap();
    let pause = |host: &str, secs| Pause { host: host.to_owned(), secs };
    host_limiter.pause(&[pause("a", 60), pause("b", 60)], start);
    host_limiter.pause(&[pause("b", 1_000_000)], start);
    assert_eq!(running.access("a"), Access::Denied(Denial::Pause), "of another check");
    assert_eq!(running.access("c"), Access::Granted);
    drop(running);
    let admit = |host: &str, secs| {
        let at = start + Duration::from_secs(secs);
        host_limiter.admit(
            "m",
            Pace::default(),
            vec![vec![host.to_owned()]],
            OnOpenCircuit::Skip,
            single(&waker),
            at,
        )
    };
    assert!(matches!(admit("a", 59), Admission::Denied(Denial::Pause)));
    assert!(matches!(admit("a", 60), Admission::Granted(_)));
    assert!(matches!(admit("b", 599), Admission::Denied(Denial::Pause)));
    assert!(matches!(admit("b", 600), Admission::Granted(_)), "the wish is followed for ten minutes");
    assert!(matches!(admit("c", 0), Admission::Granted(_)));
    host_limiter.sweep(start + Duration::from_secs(600));
    assert!(host_limiter.hosts.lock().is_empty());
}

#[test]
fn a_check_uses_the_first_source_without_a_paused_host() {
    let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default(), Arc::default()), counting());
    let now = Instant::now();
    host_limiter.pause(&[Pause { host: "a".to_owned(), secs: 60 }], now);
    let admit = |sources: &[&[&str]]| {
        let owned = |hosts: &&[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
        let sources = sources.iter().map(owned).collect();
        host_limiter.admit("m", Pace::default(), sources, OnOpenCircuit::Skip, single(&waker), now)
    };
    let Admission::Granted(permit) = admit(&[&["b", "a"], &["c"], &["d"]]) else { panic!("refused") };
    assert_eq!(permit.hosts, ["c"]);
    assert!(matches!(admit(&[&["a"], &["c", "a"]]), Admission::Denied(Denial::Pause)));
    let Admission::Granted(permit) = admit(&[&["a"], &[]]) else { panic!("refused") };
    assert_eq!(permit.hosts, [""; 0], "its host is known later");
    assert!(matches!(admit(&[]), Admission::Granted(_)));
}
