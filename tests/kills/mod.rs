//! Tests of `kill -9` at any moment under load: the next process resumes every accepted search, which ends, has each
//! result once under ids that never change, and is charged once. No site is queried again for an answer in a
//! checkpoint.
//!
//! `SIGHTLINE_TEST_KILLS` is the number of kills for each database (by default a few, and more in `scripts/test all`), and
//! `SIGHTLINE_TEST_KILLS_SEED` determines their moments, as far as the machine does not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

mod audit;
pub(crate) mod clients;
mod families;
mod lives;
mod process;
pub(crate) mod sightings;
mod site;
mod watches;

use clients::{Client, Order, World};
use lives::Scene;
use site::{GHOST, SLOW};

use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, databases, postgres, sqlite};
use crate::support::server::Setup;
use crate::support::tier::often;

/// The most active readers with which further searches are ordered.
const MOST_READERS: usize = 96;
/// The longest pause between two orders in milliseconds.
const MOST_BETWEEN_ORDERS: usize = 500;

#[test]
fn searches_survive_kills_on_sqlite() {
    searches_survive_kills(sqlite());
}

#[test]
fn searches_survive_kills_on_postgresql() {
    searches_survive_kills(postgres());
}

/// A run that crashes each process that drives it would otherwise go on for ever.
#[test]
fn a_search_that_was_interrupted_too_often_fails_and_is_refunded() {
    for database in databases() {
        let mut server = Setup::new()
            .database(&database.url)
            .realistic()
            .flag("--check-workers=1")
            .flag("--run-timeout=10m")
            .start();
        let [worn, last] = ["jane", "joe"].map(|name| server.search("username", name));
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 2);
        server.kill();
        note_take_overs(&database, &worn, 64);
        note_take_overs(&database, &last, 63);
        let server = server.restart(&[]);
        let given_up = server.finished(&worn);
        assert_eq!(
            (&given_up["status"], &given_up["error"]["code"]),
            (&json!("failed"), &json!("internal_error")),
            "{given_up}"
        );
        let message = given_up["error"]["message"].as_str().unwrap();
        assert!(message.contains("interrupted too many times"), "{message}");
        let ended = server.finished(&last);
        assert_eq!(ended["status"], "completed", "it had this last try: {ended}");
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
    }
}

/// Marks a run as taken over by so many processes, and without a driver.
fn note_take_overs(database: &TestDatabase, run: &str, times: u64) {
    let id = match database.name {
        "sqlite" => format!("X'{}'", run.replace('-', "")),
        _ => format!("'{run}'"),
    };
    database.execute(&format!(
        "UPDATE runs SET epoch = {times}, owner = NULL, lease_until = NULL WHERE id = {id}"
    ));
}

fn searches_survive_kills(database: TestDatabase) {
    let kills = usize::try_from(setting("SIGHTLINE_TEST_KILLS", often(8, 25))).unwrap();
    let seed = setting("SIGHTLINE_TEST_KILLS_SEED", 1);
    let began = Instant::now();
    let scene = Scene::new(database);
    let world = World::new(scene.new_key());
    let deaths = thread::scope(|scope| {
        let _over = Over(&world);
        scope.spawn(|| order_until_over(&world, scope, seed));
        lives::live_and_die(&scene, &world, kills, &mut Chance::new(seed))
    });
    println!("{}, seed {seed}: {kills} kills in {:.0?}", scene.database.name, began.elapsed());
    audit::all_is_well(&scene, &world, &deaths);
}

/// Orders one search after the other, each in its own thread.
fn order_until_over<'scope, 'env: 'scope>(
    world: &'env World,
    scope: &'scope thread::Scope<'scope, 'env>,
    seed: u64,
) {
    let mut chance = Chance::new(seed);
    for number in 0.. {
        while world.readers.load(Ordering::SeqCst) >= MOST_READERS && world.over_since.get().is_none() {
            thread::sleep(Duration::from_millis(10));
        }
        if world.over_since.get().is_some() {
            return;
        }
        let kind = [GHOST, SLOW, "somebody", SLOW, "somebody", "somebody", "somebody"][number % 7];
        let order = Order::new(format!("{kind}{number}"), number);
        let reader = Reader::new(&world.readers);
        scope.spawn(move || order_and_read(world, scope, &order, reader, seed ^ number as u64));
        thread::sleep(Duration::from_millis(chance.below(MOST_BETWEEN_ORDERS) as u64));
    }
}

/// Orders a search and reads it to its end. Every third one has two readers.
fn order_and_read<'scope, 'env: 'scope>(
    world: &'env World,
    scope: &'scope thread::Scope<'scope, 'env>,
    order: &Order,
    _reader: Reader<'env>,
    seed: u64,
) {
    let mut client = Client::new(world, seed);
    let Some(run) = client.order(order) else { return };
    if seed.is_multiple_of(3) {
        let (same, again, reader) = (run.clone(), order.clone(), Reader::new(&world.readers));
        scope.spawn(move || {
            let _reader = reader;
            Client::new(world, !seed).follow(&same, &again);
        });
    }
    client.follow(&run, order);
}

/// An active reader.
struct Reader<'a>(&'a AtomicUsize);

impl<'a> Reader<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends the orders even if the test fails.
pub(crate) struct Over<'a>(pub(crate) &'a World);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let _ = self.0.over_since.set(Instant::now());
    }
}
