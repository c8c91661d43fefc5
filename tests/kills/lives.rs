//! The processes of the server, and the state of the database after each.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;

use super::clients::World;
use super::process::{Process, Program};
use super::site::Site;
use crate::support::chance::Chance;
use crate::support::databases::TestDatabase;
use crate::support::folder::Folder;

/// A database, the queried sites, and a server.
pub(super) struct Scene {
    pub(super) database: TestDatabase,
    pub(super) site: Site,
    pub(super) program: Program,
    _folder: Folder,
}

impl Scene {
    pub(super) fn new(database: TestDatabase) -> Self {
        let (folder, site) = (Folder::new(), Site::start());
        let catalog = folder.path("catalog.json");
        std::fs::write(&catalog, site.catalog()).unwrap();
        // The shortest lease, and no check reaches its deadline.
        let flags = ["--times=lease=5s", "--check-workers=256", "--check-timeout=60s", "--run-timeout=10m"];
        let more = ["--no-builtin", "--allow-private-targets", "--log-level=info"];
        let limits = ["search", "stream", "read"].map(|policy| format!("--rate-limits={policy}=1000000"));
        let flags = flags.into_iter().chain(more).map(str::to_owned).chain(limits);
        let flags = flags.chain([format!("--catalog={catalog}")]).collect();
        let program =
            Program { database: database.url.clone(), flags, log: PathBuf::from(folder.path("log")) };
        Self { database, site, program, _folder: folder }
    }

    /// Returns a key of an account without a limit.
    pub(super) fn new_key(&self) -> String {
        self.program.cli(&["migrate"]);
        self.program.cli(&["account", "create", "--email", "someone@example.com", "--plan", "unlimited"]);
        self.program.cli(&["key", "create", "--account", "someone@example.com"]).trim().to_owned()
    }

    /// Returns the runs that had not ended when the server was killed: the names that they search, and the modules in
    /// their checkpoint.
    fn checkpoints(&self) -> Vec<(String, Vec<String>)> {
        // Names have no blanks.
        let running = "SELECT query || ' ' || reports FROM runs JOIN module_reports ON run = runs.id \
             WHERE status = 'running'";
        let modules = |reports: &str| {
            let reports: Vec<Vec<Value>> = serde_json::from_str(reports).unwrap();
            reports.iter().map(|report| report[0].as_str().unwrap().to_owned()).collect()
        };
        let rows = self.database.texts(running).into_iter();
        rows.map(|row| {
            row.split_once(' ').map(|(name, reports)| (name.to_owned(), modules(reports))).unwrap()
        })
        .collect()
    }
}

/// The record of all processes.
pub(super) struct Deaths {
    /// The answers in a checkpoint when a process had ended: the number of the process, the name, and the module.
    pub(super) checkpointed: Vec<(usize, String, String)>,
    /// The process that still runs.
    pub(super) _last: Process,
}

/// Kills the server a number of times at random moments, and then starts it once more.
pub(super) fn live_and_die(scene: &Scene, world: &World, kills: usize, chance: &mut Chance) -> Deaths {
    let mut checkpointed = Vec::new();
    for life in 0..kills {
        live(scene, world, life, chance).kill();
        world.port.store(0, Ordering::SeqCst);
        // In the other half of the cases, the next process is the first to open the database after a kill.
        if life % 2 == 1 {
            for (name, modules) in scene.checkpoints() {
                checkpointed.extend(modules.into_iter().map(|module| (life, name.clone(), module)));
            }
        }
    }
    let mut last = scene.program.spawn(kills);
    world.port.store(last.port(), Ordering::SeqCst);
    Deaths { checkpointed, _last: last }
}

/// Runs a process until it is killed: some before they listen, some after they took over the runs of earlier ones.
fn live(scene: &Scene, world: &World, life: usize, chance: &mut Chance) -> Process {
    let mut process = scene.program.spawn(life);
    let (listens, lasts) = match life % 8 {
        6 => (false, chance.below(400)),
        7 => (true, 5500 + chance.below(1500)),
        _ => (true, chance.below(800)),
    };
    if listens {
        world.port.store(process.port(), Ordering::SeqCst);
    }
    std::thread::sleep(Duration::from_millis(lasts as u64));
    process
}
