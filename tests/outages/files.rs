//! Databases that may not be written: a file without permission, one that another program holds, and a full disk.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use rusqlite::{Connection, TransactionBehavior};

use super::kit::{Scene, has_no_faults};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::folder::Folder;
use crate::support::private_postgres::is_root;
use crate::support::server::{BINARY, Setup};

/// Starts a server that file permissions apply to: they do not apply to root, so it drops the capabilities that bypass
/// them.
fn serve(database: &Path) -> Output {
    let database = format!("sqlite:{}", database.display());
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search", BINARY]);
        command
    } else {
        Command::new(BINARY)
    };
    command.args(["serve", "--listen", "127.0.0.1:0", "--sandbox=perfect", "--database", &database]);
    command.output().unwrap()
}

fn set_mode(path: &str, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The error names the file and the reason at once, and leaves the file as it was.
#[test]
fn a_read_only_file_or_folder_is_refused_at_the_start() {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    let file = folder.path("data/sightline.db");
    Setup::new().database(&format!("sqlite:{file}")).start().terminate();
    for (file_mode, folder_mode) in [(0o400, 0o700), (0o600, 0o500), (0o400, 0o500)] {
        for left in ["sightline.db-wal", "sightline.db-shm", "sightline.db.lock"] {
            let _ = fs::remove_file(folder.path(&format!("data/{left}")));
        }
        let before = fs::read(&file).unwrap();
        set_mode(&file, file_mode);
        set_mode(&folder.path("data"), folder_mode);
        let output = serve(Path::new(&file));
        set_mode(&folder.path("data"), 0o700);
        set_mode(&file, 0o600);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{file_mode:o} in {folder_mode:o}: {error}");
        assert!(error.contains("sightline.db") && error.contains("ermission denied"), "{error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

/// Another program holds the write lock for longer than any caller waits.
#[test]
fn a_locked_file() {
    let database = sqlite();
    let scene = Scene::on(&database.url);
    let mut other = Connection::open(database.path()).unwrap();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    scene.survives_readably(|| lock.rollback().unwrap());
    has_no_faults(|sql| database.number(sql));
}

/// Lets no file grow, as on a full disk.
#[test]
fn a_full_disk() {
    let database = sqlite();
    // The signal of the limit would end the process: an operator's shell ignores it, too.
    let launcher = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];
    let scene = Scene::with(|setup| setup.database(&database.url).launched_by(&launcher));
    let limit_files = |limit: &str| {
        let process = scene.server.child.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &process, &format!("--fsize={limit}")]).status();
        assert!(set.unwrap().success());
    };
    limit_files("0:");
    scene.survives_readably(|| limit_files("unlimited:"));
    has_no_faults(|sql| database.number(sql));
}

/// What a trigger does that fails as an insert does on a full disk.
const FULL: &str = "CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$";

/// Executes a statement for each table, `%s`. The lock of a table is released before the next one is locked, since the
/// server locks several tables, too, in another order.
fn for_each_table(database: &TestDatabase, statement: &str) {
    database.execute(&format!(
        "DO $$ DECLARE t regclass; BEGIN
            FOR t IN SELECT format('%I', tablename)::regclass FROM pg_tables WHERE schemaname = 'public' LOOP
                EXECUTE format('{statement}', t);
                COMMIT;
            END LOOP;
        END $$"
    ));
}

#[test]
fn a_full_disk_of_postgres() {
    let database = postgres();
    let scene = Scene::on(&database.url);
    database.execute(FULL);
    for_each_table(
        &database,
        "CREATE TRIGGER disk_full BEFORE INSERT OR UPDATE ON %s EXECUTE FUNCTION disk_full()",
    );
    scene.survives_readably(|| for_each_table(&database, "DROP TRIGGER disk_full ON %s"));
    has_no_faults(|sql| database.number(sql));
}
