//! A table of hostile clients. Each hears what it should, none harms another, and nothing is left of them.

use std::net::Shutdown;
use std::time::Duration;

use socket2::SockRef;

use super::hostile_cases::{Case, End, quick, slow};
use super::kit::{House, get, run_alone};
use crate::support::eventually;

/// Plays one client, to its end.
fn play(house: &House, case: &Case) {
    let name = &case.name;
    let mut client = house.connect();
    client.try_send(&case.sent);
    if case.half_close {
        let _ = client.stream().shutdown(Shutdown::Write);
    }
    for (index, status) in case.answers.iter().enumerate() {
        let answer = client.answer();
        assert_eq!(answer.status, *status, "answer {index} to {name:?}");
        if *status >= 400 && answer.header("Server").is_none() {
            // The HTTP library's own refusals do not say it; they close all the same.
            assert_eq!(answer.header("Connection"), Some("close"), "{name:?}");
        }
    }
    match case.end {
        End::Kept => {
            client.send(get("/next"));
            assert_eq!(client.answer().header("X-Path"), Some("/next"), "after {name:?}");
        }
        End::Closed => {
            let rest = String::from_utf8(client.until_closed()).unwrap();
            // The HTTP library may have begun to read what follows as a request, and say itself that it is none.
            let is_refusal = rest.starts_with("HTTP/1.1 400 ") && rest.matches("HTTP/1.").count() == 1;
            assert!(rest.is_empty() || is_refusal, "after {name:?}: {rest}");
        }
    }
    let seen = house.product.seen.lock().unwrap();
    assert!(!seen.iter().any(|request| request.contains("smuggled")), "{name:?}: {seen:?}");
}

fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    // The allocator has its own, as many as there are processors, and starts them when it finds the time.
    names.filter(|name| !name.starts_with("jemalloc")).count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn the_table_of_hostile_clients() {
    run_alone("hostile::in_a_process_of_its_own");
}

#[test]
#[ignore = "counts the threads and descriptors of its process: run by the_table_of_hostile_clients"]
fn in_a_process_of_its_own() {
    let (quick, slow) = (quick(), slow());
    assert!(quick.len() + slow.len() >= 60);
    let house = House::new();
    assert_eq!(house.ask(&get("/sound")).status, 200);
    eventually("it is alone", || house.server().load().connections == 0);
    let before = (threads(), descriptors());

    for case in &quick {
        play(&house, case);
        assert_eq!(house.ask(&get("/sound")).status, 200, "after {:?}", case.name);
    }
    without_a_word(&house);
    assert_eq!(house.ask(&get("/sound")).status, 200);
    let load = house.server().load();
    assert_eq!((load.refused_total, load.rebuilds_total), (0, 0));

    let impatient = House::with(|config| {
        config.idle_timeout = Duration::from_secs(2);
        config.head_timeout = Duration::from_secs(3);
        config.body_timeout = Duration::from_secs(1);
        config.write_timeout = Duration::from_secs(4);
    });
    std::thread::scope(|scope| {
        for case in &slow {
            scope.spawn(|| play(&impatient, case));
        }
        scope.spawn(|| without_reading(&impatient));
    });
    assert_eq!(impatient.ask(&get("/sound")).status, 200);
    drop(impatient);

    // With its house this one's threads and sockets go, too.
    let mut now = (0, 0);
    let is_as_before = || {
        now = (threads(), descriptors());
        now.0 <= before.0 && now.1 <= before.1
    };
    let is_over = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually("threads and descriptors are as before", is_as_before);
    }));
    assert!(is_over.is_ok(), "threads and descriptors: {before:?} before, {now:?} after");
}

/// Connects and leaves, politely or by a reset.
fn without_a_word(house: &House) {
    for round in 0..200 {
        let client = house.connect();
        if round % 2 == 0 {
            SockRef::from(client.stream()).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

/// Asks for much, takes nothing, and leaves its connections open till it is cut off.
fn without_reading(house: &House) {
    let mut deaf: Vec<_> = (0..10).map(|_| house.connect()).collect();
    for client in &mut deaf {
        client.send(get("/big?3000000"));
    }
    eventually("they are noticed", || house.server().load().streams_open > 0);
    eventually("they are cut off", || house.server().load().streams_open == 0);
    for client in &mut deaf {
        assert!(client.until_closed().len() < 3_000_000);
    }
}
