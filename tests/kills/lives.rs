//! The server's lives and deaths, and what each left in the database.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::clients::World;
use super::process::{Process, Program};
use super::site::Site;
use super::stalls::{Stalls, Watch};
use crate::http::chance::Chance;
use crate::support::databases::TestDatabase;
use crate::support::folder::Folder;

/// A database, sites to ask, and a server that searches them.
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
        // The shortest lease; no check runs out of time.
        let flags = ["--lease=5s", "--check-workers=256", "--check-timeout=60s", "--run-timeout=10m"];
        let more = ["--no-builtin", "--allow-private-targets", "--log-level=info"];
        let limits = ["search", "stream", "read"].map(|policy| format!("--rate-limit-{policy}=1000000"));
        let flags = flags.into_iter().chain(more).map(str::to_owned).chain(limits);
        let flags = flags.chain([format!("--catalog={catalog}")]).collect();
        let program =
            Program { database: database.url.clone(), flags, log: PathBuf::from(folder.path("log")) };
        Self { database, site, program, _folder: folder }
    }

    /// A key of an account that may search as much as it likes.
    pub(super) fn new_key(&self) -> String {
        self.program.cli(&["account", "create", "--email", "someone@example.com", "--plan", "unlimited"]);
        self.program.cli(&["key", "create", "--account", "someone@example.com"]).trim().to_owned()
    }

    /// The runs that were not at their end when the server died: the names that they search and the modules
    /// whose answers are in their checkpoint.
    fn checkpoints(&self) -> Vec<(String, Vec<String>)> {
        // A name holds no blank.
        let running = "SELECT query || ' ' || CAST(reports AS TEXT) FROM runs WHERE status = 'running'";
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

/// How it went.
pub(super) struct Deaths {
    /// When each life had ended.
    pub(super) at: Vec<Instant>,
    /// What was in a checkpoint when that life had ended: the name, and the module.
    pub(super) checkpointed: Vec<(usize, String, String)>,
    /// When the machine kept everyone waiting meanwhile.
    pub(super) stalls: Stalls,
    /// The life that goes on.
    pub(super) _last: Process,
}

/// Kills the server so many times at random moments, and starts it once more.
pub(super) fn live_and_die(scene: &Scene, world: &World, kills: usize, chance: &mut Chance) -> Deaths {
    let (mut at, mut checkpointed, watch) = (Vec::new(), Vec::new(), Watch::start());
    for life in 0..kills {
        live(scene, world, life, chance).kill();
        world.port.store(0, Ordering::SeqCst);
        at.push(Instant::now());
        // Otherwise the next life is the first one to open what the dead one left.
        if life % 2 == 0 {
            for (name, modules) in scene.checkpoints() {
                checkpointed.extend(modules.into_iter().map(|module| (life, name.clone(), module)));
            }
        }
    }
    let stalls = watch.end();
    let mut last = scene.program.spawn(kills);
    world.port.store(last.port(), Ordering::SeqCst);
    Deaths { at, checkpointed, stalls, _last: last }
}

/// One life up to its last moment: some end before they listen, some last long enough to take over the runs of
/// those before.
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
