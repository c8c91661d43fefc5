//! PostgreSQL is stopped, crashes, stands still, has no connection left.

use postgres::Client;

use super::kit::{Scene, has_no_faults};
use crate::support::private_postgres::{End, PrivatePostgres};

pub(super) fn audit(postgres: &PrivatePostgres, database: &str) {
    let mut client = postgres.client(database);
    has_no_faults(|sql| client.query_one(sql, &[]).unwrap().get(0));
}

fn survives(strike: impl FnOnce(&mut PrivatePostgres), mend: impl FnOnce(&mut PrivatePostgres)) {
    let mut postgres = PrivatePostgres::start();
    let scene = Scene::on(&postgres.url("postgres"));
    strike(&mut postgres);
    scene.is_out();
    scene.finds_the_rest();
    mend(&mut postgres);
    scene.recovers();
    audit(&postgres, "postgres");
}

#[test]
fn stopped_and_started_again() {
    survives(|postgres| postgres.stop(End::Fast), PrivatePostgres::start_again);
}

#[test]
fn crashed_and_started_again() {
    survives(|postgres| postgres.stop(End::Crash), PrivatePostgres::start_again);
}

#[test]
fn paused() {
    survives(|postgres| postgres.pause(), |postgres| postgres.go_on());
}

#[test]
fn out_of_connections() {
    let postgres = PrivatePostgres::with(&["max_connections=20", "superuser_reserved_connections=3"]);
    // The last three places are for superusers: the service is none.
    postgres.admin("CREATE ROLE service LOGIN");
    postgres.admin("CREATE DATABASE service OWNER service");
    let scene = Scene::on(&postgres.url("service").replace("sightline@", "service@"));
    let mut admin = postgres.client("postgres");
    let mut hogs: Vec<Client> = Vec::new();
    let url = postgres.url("service").replace("sightline@", "service@");
    // Others take every connection that there is, as soon as the service loses its own.
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sightline'";
    super::kit::until("all connections are taken by others", || {
        admin.simple_query(sql).unwrap();
        while let Ok(client) = Client::connect(&url, postgres::NoTls) {
            hogs.push(client);
        }
        let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sightline'";
        admin.query_one(ours, &[]).unwrap().get::<_, i64>(0) == 0
    });
    scene.is_out();
    scene.finds_the_rest();
    drop(hogs);
    scene.recovers();
    audit(&postgres, "service");
}

/// The strike falls while requests and searches come without a pause.
#[test]
fn restarted_again_and_again_under_load() {
    let mut postgres = PrivatePostgres::start();
    let scene = Scene::on(&postgres.url("postgres"));
    scene.site.open();
    let key = scene.server.new_key("unlimited");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let runs = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (scene, key, is_over) = (&scene, &key, &is_over);
                scope.spawn(move || super::kit::searches_until(scene, key, client, is_over))
            })
            .collect();
        for end in [End::Fast, End::Crash, End::Fast, End::Crash] {
            std::thread::sleep(std::time::Duration::from_millis(700));
            postgres.stop(end);
            postgres.start_again();
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(runs.len() > 10, "{} searches", runs.len());
    for run in &runs {
        let run = super::kit::ended(&scene.server, &key, run);
        assert_eq!(
            (run["status"].as_str(), run["total_results"].as_u64()),
            (Some("completed"), Some(25)),
            "{run}"
        );
    }
    println!("four restarts under load: {} searches, 0 lost", runs.len());
    scene.recovers();
    audit(&postgres, "postgres");
    // Each order of a client has its key: it was charged once, however often it was repeated.
    let mut client = postgres.client("postgres");
    let sql = "SELECT count(*) FROM charges WHERE kind = 'charge'";
    // And two of the scene: one before, one after.
    assert_eq!(client.query_one(sql, &[]).unwrap().get::<_, i64>(0), runs.len() as i64 + 2);
}
