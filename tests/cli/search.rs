//! `search`: one run in the binary itself, in each format.

use std::process::Command;

use serde_json::Value;

use super::{Folder, Ran, ran, sightline};

/// Runs `search username NAME` on the simulated web without delays or faults.
fn search(name: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> =
        ["search", "username", name, "--sandbox=perfect"].iter().chain(more).copied().collect();
    ran(&args, &[])
}

#[test]
fn csv_in_a_file_begins_with_a_byte_order_mark() {
    let folder = Folder::new();
    let saved = folder.path("saved.csv");
    let one = ["search", "everybody", "--sandbox=perfect", "--module=github", "--format=csv", "-o", &saved];
    let two = [&one[..], &["everybody2"]].concat();
    for args in [&one[..], &two] {
        assert!(!ran(args, &[]).code_is(0).out.contains('\u{feff}'), "{args:?}");
        let text = std::fs::read_to_string(&saved).unwrap();
        assert!(text.starts_with("\u{feff}") && text.matches('\u{feff}').count() == 1, "{args:?}: {text}");
    }
}

#[test]
fn a_closed_output_ends_the_search_quietly() {
    for format in ["table", "json", "ndjson", "csv", "html"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let args =
            ["search", "username", "everybody", "--sandbox=perfect", "--category=coding", "--format", format];
        let output = sightline(&args, &[]).stdout(writer).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), shown.as_ref()), (Some(0), ""), "{format}");
    }
}

/// Runs a line of shell in a terminal of 100 columns, and returns what it shows. `script` is a part of util-linux.
fn in_a_terminal(line: &str, variables: &[(&str, &str)]) -> String {
    let line = format!(
        "stty cols 100; '{}' search everybody --sandbox=perfect {line}",
        env!("CARGO_BIN_EXE_sightline")
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.envs([("SHELL", "/bin/sh"), ("TERM", "xterm")]).envs(variables.iter().copied());
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn only_a_terminal_shows_a_bar_beside_the_results() {
    let ran = search("everybody", &["--category=coding"]).code_is(0);
    assert!(
        ![&ran.out, &ran.err].iter().any(|text| text.contains(['\r', '\u{1b}'])),
        "{} {}",
        ran.out,
        ran.err
    );
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    let folder = Folder::new();
    let results = folder.path("results");
    let drawn = in_a_terminal(&format!("> '{results}'"), &[]);
    assert!(drawn.contains(" modules, ") && drawn.contains(" hits, "), "no bar in {drawn:?}");
    let results = std::fs::read_to_string(results).unwrap();
    assert!(results.starts_with("CONF ") && !results.contains(['\r', '\u{1b}']), "{results:?}");
}

#[test]
fn a_terminal_shows_results_as_they_are_found_in_its_width() {
    let shown = |variables: &[(&str, &str)]| {
        in_a_terminal("--category coding,social 2>/dev/null", variables).replace('\r', "")
    };
    let bare = shown(&[("NO_COLOR", "1")]);
    assert!(!bare.contains('\u{1b}'), "{bare:?}");
    assert!(bare.starts_with("CONF  TYPE") && bare.lines().count() > 10, "{bare}");
    assert!(bare.contains("\nNames "), "{bare}");
    let width = |line: &str| sightline::base::text::columns(line);
    let is_address = |line: &str| line.trim_start().starts_with("http");
    assert!(bare.lines().all(|line| width(line) <= 100 || is_address(line)), "{bare}");
    let coloured = shown(&[]);
    assert!(coloured.contains("\u{1b}[1mNames"), "{coloured:?}");
}

#[test]
fn the_diff_of_two_reports_states_only_what_they_prove() {
    let folder = Folder::new();
    let report = search("everybody", &["--module=github", "--module=gitlab", "--format=json"]).code_is(0).out;
    let before = folder.file("before.json", &report);
    let same = ran(&["diff", &before, &before], &[]).code_is(1).out;
    assert!(same.starts_with("0 added, 0 removed, 0 changed, 0 unknown, "), "{same}");

    // The account on GitHub is gone, the one on GitLab has another name, or was blocked.
    let mut edited: Value = serde_json::from_str(&report).unwrap();
    let end = |report: &mut Value, module: &str, status: &str, reason: Value| {
        let mut modules = report["modules"].as_array_mut().unwrap().iter_mut();
        let module = modules.find(|it| it["module"] == module).unwrap();
        (module["status"], module["reason"]) = (status.into(), reason);
    };
    let of = |module: &'static str| move |it: &Value| it["source"] == module;
    edited["results"].as_array_mut().unwrap().retain(|it| !of("github")(it));
    end(&mut edited, "github", "miss", Value::Null);
    let mut account = edited["results"].as_array_mut().unwrap().iter_mut().filter(|it| of("gitlab")(it));
    account.next().unwrap()["metadata"]["display_name"] = "Another\u{1b} Name".into();
    let after = folder.file("after.json", &edited.to_string());
    let shown = ran(&["diff", &before, &after], &[]).code_is(0).out;
    assert!(shown.contains("\n- ") || shown.starts_with("- "), "{shown}");
    assert!(shown.contains("~ ") && shown.contains("Another\u{fffd} Name"), "{shown}");
    assert!(
        shown.contains(", 1 changed, 0 unknown, ") && shown.ends_with("2 of 2 modules compared\n"),
        "{shown}"
    );
    let json: Value =
        serde_json::from_str(&ran(&["diff", &before, &after, "--format=json"], &[]).code_is(0).out).unwrap();
    assert_eq!(json["changed"][0]["fields"][0]["name"], "display_name");
    assert_eq!(json["counts"]["unknown"], 0);

    end(&mut edited, "github", "blocked", "captcha".into());
    let blocked = folder.file("blocked.json", &edited.to_string());
    let shown = ran(&["diff", &before, &blocked], &[]).code_is(0).out;
    assert!(shown.contains("    github came to no conclusion in the later search (captcha)\n"), "{shown}");
    assert!(shown.contains("0 added, 0 removed, 1 changed, "), "{shown}");

    let mut other = edited.clone();
    other["query"] = "everybody2".into();
    let other = folder.file("other.json", &other.to_string());
    ran(&["diff", &before, &other], &[]).code_is(2).err_has("the runs have different queries");
    edited.as_object_mut().unwrap().remove("modules");
    let bare = folder.file("bare.json", &edited.to_string());
    ran(&["diff", &before, &bare], &[]).code_is(2).err_has("the report has no `modules`");
}
