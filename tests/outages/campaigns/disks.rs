//! The disk is full: reading works, writing does not.

use std::process::Command;

use serde_json::json;

use super::super::kit::{Scene, has_no_faults};
use super::super::servers::audit;
use crate::support::folder::Folder;
use crate::support::private_postgres::{PrivatePostgres, is_root};
use crate::support::small_disk;

#[test]
fn postgres_on_a_full_disk() {
    if !is_root() || !small_disk::can_be_had() {
        // A limit on file sizes will not do here: PostgreSQL does not take it for a full disk, and its server ends.
        return crate::support::tier::left_out("only root can mount a small disk for PostgreSQL");
    }
    let postgres = PrivatePostgres::on_a_small_disk();
    let scene = Scene::on(&postgres.url("small"));
    postgres.client("small").batch_execute("CREATE SEQUENCE filler").unwrap();
    postgres.fill_disk();
    FILLERS.iter().for_each(|filler| fill_pages(&postgres, filler));
    scene.refuses_writes();
    scene.finds_the_rest();
    // Reading works all the time.
    assert_eq!(scene.get("/v1/credits").json()["credits_used"], 1);
    postgres.free_disk();
    let remove = "DELETE FROM results x USING runs r WHERE x.run = r.id AND r.query = 'filler'; \
                  DELETE FROM runs WHERE query = 'filler'";
    postgres.client("small").batch_execute(remove).unwrap();
    scene.recovers();
    audit(&postgres, "small");
}

/// Fills the existing pages: these rows fit into them, one after the other. No run is smaller than these, so that
/// nothing is left for one.
const FILLERS: [&str; 2] = [
    "INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), \
     'query', 'filler', 'status', 'completed', 'owner', NULL, 'lease_until', NULL, 'started_at', NULL, 'progress', 0, \
     'coverage', 0, 'planned', 0, 'options', 0))).* FROM runs r WHERE query = 'alice'",
    "INSERT INTO results (run, id, dedup, record, revision) \
     SELECT r.id, nextval('filler'), decode(md5(random()::text), 'hex'), x.record, 0 FROM \
     (SELECT id FROM runs WHERE query = 'filler' LIMIT 1) r, (SELECT record FROM results LIMIT 1) x",
];

/// The lock keeps the server from updating its run meanwhile: the space of the version before would be free afterwards,
/// and a search would be taken on.
fn fill_pages(postgres: &PrivatePostgres, filler: &str) {
    let mut client = postgres.client("small");
    let mut rows = 0;
    let mut fill = || {
        let mut transaction = client.transaction()?;
        transaction.batch_execute("LOCK TABLE runs IN EXCLUSIVE MODE")?;
        transaction.batch_execute(filler)?;
        transaction.commit()
    };
    while fill().is_ok() {
        rows += 1;
        assert!(rows < 100_000, "the disk has no end");
    }
}

#[test]
fn sqlite_on_a_full_disk() {
    if !small_disk::can_be_had() {
        return sqlite_at_the_limit_of_its_file();
    }
    let folder = Folder::new();
    let database = format!("sqlite:{}", folder.path("sightline.db"));
    let launcher = small_disk::mounting(&folder.path(""), "4m", "0");
    let scene = Scene::with(|setup| setup.database(&database).mounted_by(&launcher));
    let process = scene.server.child.id();
    let disk = std::path::PathBuf::from(format!("/proc/{process}/root{}", folder.path("")));
    small_disk::fill(&disk);
    scene.refuses_writes();
    scene.finds_the_rest();
    assert_eq!(scene.get("/v1/credits").json()["credits_used"], 1, "reading goes on");
    small_disk::free(&disk);
    scene.recovers();
    // Other processes do not see the file: a copy is examined.
    let copy = Folder::new();
    for file in ["sightline.db", "sightline.db-wal"] {
        std::fs::copy(disk.join(file), copy.path(file)).unwrap();
    }
    let connection = rusqlite::Connection::open(copy.path("sightline.db")).unwrap();
    has_no_faults(|sql| connection.query_row(sql, [], |row| row.get(0)).unwrap());
}

/// Lets no file grow, as on a full disk, or none be written at all, as on a file system that went read-only.
#[test]
fn sqlite_at_the_limit_of_its_file() {
    let folder = Folder::new();
    let database = format!("sqlite:{}", folder.path("sightline.db"));
    // The signal of the limit would end the process: an operator's shell ignores it, too.
    let launcher = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];
    let scene = Scene::with(|setup| setup.database(&database).launched_by(&launcher));
    limit_files(&scene, "0:");
    scene.refuses_writes();
    scene.finds_the_rest();
    assert_eq!(scene.get("/v1/credits").json()["credits_used"], 1, "reading goes on");
    limit_files(&scene, "unlimited:");
    scene.recovers();
    let connection = rusqlite::Connection::open(folder.path("sightline.db")).unwrap();
    has_no_faults(|sql| connection.query_row(sql, [], |row| row.get(0)).unwrap());
}

fn limit_files(scene: &Scene, limit: &str) {
    let process = scene.server.child.id().to_string();
    let set =
        Command::new("prlimit").args(["--pid", &process, &format!("--fsize={limit}")]).status().unwrap();
    assert!(set.success());
    assert_eq!(scene.health()["service"], json!("sightline"));
}
