//! The service manager: the messages that it gets, and the unit file.

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use crate::support::folder::Folder;
use crate::support::server::{BINARY, PATIENCE, Setup};

#[test]
fn the_service_manager_is_told_when_the_server_is_ready_and_when_it_stops() {
    let folder = Folder::new();
    let path = folder.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut said = [0; 64];
        let length = socket.recv(&mut said).unwrap();
        String::from_utf8_lossy(&said[..length]).into_owned()
    };
    let mut server = Setup::new().launched_by(&["env", &format!("NOTIFY_SOCKET={path}")]).start();
    assert_eq!(heard(), "READY=1");
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(heard(), "STOPPING=1");
}

/// The address of the database may be passed as a file.
#[test]
fn a_credential_holds_the_databases_address() {
    let folder = Folder::new();
    let (credential, database) = (folder.path("database"), folder.path("data/sightline.db"));
    std::fs::write(&credential, format!("sqlite:{database}\n")).unwrap();
    let server = Setup::new().database(&format!("@{credential}")).start();
    server.finished(&server.search("username", "everybody"));
    assert!(std::fs::exists(&database).unwrap());
}

fn systemd_analyze(arguments: &[&str]) -> Option<String> {
    let output = match Command::new("systemd-analyze").args(arguments).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            crate::support::tier::left_out("systemd-analyze is not installed");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "systemd-analyze {arguments:?}: {text}");
    Some(text)
}

/// The stop timeout of systemd is longer than the drain timeout.
#[test]
fn the_unit_waits_for_the_drain() {
    let unit = include_str!("../../scripts/sightline.service");
    let seconds = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_end_matches('s').parse::<u64>().unwrap()
    };
    let drain =
        sightline::config::ServeConfig::from_flags(Vec::<String>::new()).unwrap().server.drain_timeout;
    assert!(seconds("TimeoutStopSec=") > drain.as_secs() + 1);
}

mod campaigns {
    use super::*;

    #[test]
    fn systemd_accepts_the_unit_as_hardened() {
        let unit = include_str!("../../scripts/sightline.service");
        let folder = Folder::new();
        let path = folder.path("sightline.service");
        // The path of the binary on this machine.
        assert!(unit.contains("ExecStart=/usr/local/bin/sightline serve"), "{unit}");
        std::fs::write(&path, unit.replace("/usr/local/bin/sightline", BINARY)).unwrap();
        let Some(said) = systemd_analyze(&["verify", "--man=no", "--recursive-errors=no", &path]) else {
            return;
        };
        assert_eq!(said.trim(), "", "it has nothing to say against it");
        let said =
            systemd_analyze(&["security", "--offline=true", "--threshold=20", "--no-pager", &path]).unwrap();
        assert!(said.contains("Overall exposure level"), "{said}");
    }
}
