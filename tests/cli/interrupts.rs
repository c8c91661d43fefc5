//! Ctrl-C during a search.

use serde_json::{Value, json};

use super::{Folder, sightline};
use crate::support::eventually;
use crate::support::held_site::Site;
use crate::support::process::signal;

/// Waits for the first results, and presses Ctrl-C.
fn interrupted(site: &Site, args: &[&str]) -> (Option<i32>, String, String) {
    use std::io::{BufRead as _, BufReader, Read as _};

    let flags = site.flags(2, 2);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let args = [&["search", "username"], args, &flags].concat();
    let mut command = sightline(&args, &[]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut shown = String::new();
    // The head and the results of the sites that answer at once.
    while shown.lines().count() < 3 {
        assert!(out.read_line(&mut shown).unwrap() > 0, "{shown}");
    }
    signal(child.id(), "INT");
    let ended = child.wait().unwrap();
    out.read_to_string(&mut shown).unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (ended.code(), shown, err)
}

#[test]
fn an_interrupted_search_writes_what_it_has_found_in_every_format() {
    let (site, folder) = (Site::start(), Folder::new());
    let path = |suffix: &str| folder.path(&format!("alice.{suffix}"));
    let files =
        ["json", "csv", "ndjson", "html", "md", "txt"].map(|suffix| format!("--output={}", path(suffix)));
    let args: Vec<&str> = ["alice"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let (code, out, err) = interrupted(&site, &args);
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(
        err.contains("2 results; 2 of 4 modules gave an answer (2 skipped); 2 cut short: stopped"),
        "{err}"
    );
    let read = |suffix: &str| std::fs::read_to_string(path(suffix)).unwrap();
    let json: Value = serde_json::from_str(&read("json")).unwrap();
    assert_eq!((&json["status"], &json["total_results"]), (&json!("completed"), &json!(2)));
    assert!(json["stopped_at"].is_string());
    let reasons = json["modules"].as_array().unwrap().iter().filter(|it| it["reason"] == "stopped");
    assert_eq!(reasons.count(), 2, "{json}");
    assert_eq!((read("ndjson").lines().count(), read("csv").lines().count()), (2, 3));
    assert_eq!((read("html").matches(" id=\"result-").count(), read("txt").lines().count()), (2, 3));
    assert!(read("md").contains("## Coverage"));
    assert_eq!(out, read("txt"));
}

#[test]
fn an_interrupted_list_begins_no_further_search() {
    let site = Site::start();
    let (code, out, err) = interrupted(&site, &["alice", "bob", "carol", "dave", "erin", "frank"]);
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(out.starts_with("username alice\nCONF"), "{out}");
    assert_eq!((site.asked_by("erin"), site.asked_by("frank")), (0, 0), "{err}");
}

#[test]
fn a_second_interrupt_ends_the_command_at_once() {
    use std::io::Read as _;

    const SITES: usize = 60;
    let site = Site::start();
    let flags = [site.flags(SITES, 1), vec!["--format=json".to_owned()]].concat();
    // The report does not fit into the pipe, so the command waits for its reader after the first Ctrl-C.
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    let args: Vec<&str> =
        ["search", "username", "alice"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let mut command = sightline(&args, &[]);
    let mut child = command.stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // The command holds the other end of the pipe.
    drop(command);
    eventually("all sites are asked", || site.asked_by("alice") > SITES);
    signal(child.id(), "INT");
    // The report begins when the first Ctrl-C has ended the search.
    let mut report = vec![0];
    reader.read_exact(&mut report).unwrap();
    signal(child.id(), "INT");
    eventually("the command ends", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    reader.read_to_end(&mut report).unwrap();
    assert!(report.len() <= 8192 && serde_json::from_slice::<Value>(&report).is_err(), "{}", report.len());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(err, "", "no summary");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_browser_that_does_not_start() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = Folder::new();
    let program = folder.path("browser");
    std::fs::write(&program, "#!/bin/sh\ntouch $0.$$\nsleep 600\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let browser = format!("--browser={program}");
    let args = ["search", "username", "alice", "--premium", &browser];
    let [mut waiting, mut interrupted] = [2, 3].map(|files| {
        let child = sightline(&args, &[]).spawn().unwrap();
        let found = || std::fs::read_dir(folder.path("")).unwrap().count();
        eventually("its browser is started", || found() >= files);
        child
    });
    signal(interrupted.id(), "INT");
    assert_eq!(interrupted.wait().unwrap().code(), Some(130));
    assert!(waiting.try_wait().unwrap().is_none(), "the one before it still waits");
    signal(waiting.id(), "INT");
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
}
