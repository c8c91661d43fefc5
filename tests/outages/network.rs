//! The network between the service and PostgreSQL is slow, silent, or both.

use std::time::{Duration, Instant};

use super::kit::{Scene, has_no_faults};
use crate::support::databases::postgres;
use crate::support::eventually;
use crate::support::relay::Relay;

/// A relay in front of the tests' server, with a fresh database behind it.
pub(super) fn behind_a_relay() -> (crate::support::databases::TestDatabase, Relay, String) {
    let database = postgres();
    let mut url = url::Url::parse(&database.url).unwrap();
    let relay = Relay::to(([127, 0, 0, 1], url.port().unwrap()).into());
    url.set_port(Some(relay.address.port())).unwrap();
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_query(Some("sslmode=disable"));
    (database, relay, url.into())
}

/// Forty milliseconds each way, as to another continent: slower, and otherwise the same.
#[test]
fn slow() {
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::on(&url);
    relay.delay(Duration::from_millis(40));
    let began = Instant::now();
    eventually("health is good", || scene.health()["status"] == "ok");
    assert!(began.elapsed() > Duration::from_millis(80), "the relay delays nothing");
    scene.site.open_all();
    scene.recovers();
    has_no_faults(|sql| database.number(sql));
}

/// Waits for the end of a search of another process, and of one of this process.
#[test]
fn silence_ends_no_stream_of_a_live_search() {
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::on(&url);
    let path = format!("/v1/searches/{}/stream", scene.run);
    let stream = scene.server.request("GET", &path).key(&scene.key).stream();
    assert_eq!(stream.status, 200);
    let reader = std::thread::spawn(move || stream.all());
    relay.freeze(true);
    scene.survives(|| relay.freeze(false));
    let events = reader.join().unwrap();
    let results = events.iter().filter(|event| event.event == "result").count();
    assert_eq!(results, super::kit::BEFORE + super::kit::DURING);
    assert_eq!(events.last().unwrap().data["status"], "completed", "{:?}", events.last());
    has_no_faults(|sql| database.number(sql));
}

mod campaigns {
    use super::*;

    /// So slow that no health check is answered in time: the service counts as unavailable, and everything is stored in the
    /// end.
    #[test]
    fn too_slow() {
        let (database, relay, url) = behind_a_relay();
        let scene = Scene::on(&url);
        relay.delay(Duration::from_secs(5));
        scene.survives(|| relay.delay(Duration::ZERO));
        has_no_faults(|sql| database.number(sql));
    }
}
