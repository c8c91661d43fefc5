//! Two instances behind nginx are restarted one after the other while clients poll, wait and stream.

use std::sync::atomic::Ordering;

use crate::kills::clients::{Order, World};
use crate::kills::{SLOW, all_is_well, flags, start_site};
use crate::support::databases::postgres;
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::nginx::NginxSetup;
use crate::support::server::{Server, Setup};

const ROUNDS: usize = 3;
const CLIENTS: usize = 9;

#[test]
fn a_rolling_restart_loses_nothing() {
    let (database, site, folder) = (postgres(), start_site(), Folder::new());
    let instance = || {
        let setup = Setup::real().database(&database.url).flags(&flags(&site, &folder));
        setup.flag("--trusted-proxy=127.0.0.1").flag("--drain-timeout=20s")
    };
    let mut instances: [Server; 2] = [(); 2].map(|()| instance().start());
    let nginx = NginxSetup::before_all(&instances.each_ref().map(|server| server.address)).start();
    let key = instances[0].key.clone();
    let world = World::new(key.clone());
    world.port.store(nginx.address.port(), Ordering::SeqCst);
    let order = |client, number| Order::new(format!("{SLOW}{client}.{number}"), client + number, true);
    world.while_disturbed(CLIENTS, order, || {
        for turn in 0..ROUNDS * instances.len() {
            let server = &mut instances[turn % 2];
            let before = database.number("SELECT count(*) FROM runs");
            // The load goes on: the next instance ends only after further searches.
            eventually("new searches come", || database.number("SELECT count(*) FROM runs") >= before + 3);
            assert_eq!(server.terminate().code(), Some(0));
            *server = instance().listen(server.address).start();
        }
    });
    assert!(world.announced.load(Ordering::Relaxed) > 0, "nobody was disturbed");
    instances[0].key = key;
    all_is_well(&instances[0], &database, &world);
}
