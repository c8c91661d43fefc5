//! Help texts, and the pages of the manual with the same content.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::ran;
use crate::support::manual::page_has_table;

const TABLE_START: &str = "<!-- configuration: generated, see tests/cli -->\n";
const TABLE_END: &str = "<!-- configuration ends -->";

/// Returns all commands that do something, as their words.
fn commands() -> Vec<Vec<String>> {
    fn collect(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
        for sub in command.get_subcommands() {
            let path: Vec<String> = path.iter().cloned().chain([sub.get_name().to_owned()]).collect();
            if sub.has_subcommands() {
                collect(sub, &path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&sightline::cli::command(), &[], &mut found);
    found
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let commands = commands();
    assert!(commands.len() > 30, "{commands:?}");
    for mut words in commands {
        let name = words.join(" ");
        let short = ran(&[words.clone(), vec!["-h".to_owned()]].concat(), &[("COLUMNS", "100")]).code_is(0);
        assert!(short.out.lines().count() <= 50, "it does not fit on a screen: {}", short.out);
        words.push("--help".to_owned());
        let help = ran(&words, &[]).code_is(0);
        assert_eq!(help.err, "");
        assert!(help.out.contains(&format!("Usage: sightline {name}")), "{}", help.out);
        assert!(
            help.out.contains("Example") && help.out.contains(&format!("sightline {name}")),
            "{}",
            help.out
        );
    }
}

fn row(arg: &Arg) -> String {
    let names = arg.get_value_names().filter(|_| arg.get_action().takes_values());
    let is_optional = arg.is_require_equals_set();
    let value = match names.and_then(|names| names.first()) {
        Some(name) if is_optional => format!("[={name}]"),
        Some(name) => format!(" {name}"),
        None => String::new(),
    };
    let long = arg.get_long().unwrap();
    let variable = arg.get_env().map_or("SIGHTLINE_KEY_NAME".into(), |name| name.to_string_lossy());
    let defaults = arg.get_default_values();
    let default = match (defaults.first(), arg.get_action().takes_values()) {
        (_, false) => "off".to_owned(),
        (Some(default), true) => format!("`{}`", default.to_string_lossy()),
        (None, true) => "none".to_owned(),
    };
    let help = arg.get_help().unwrap().to_string().replace('|', "\\|");
    format!("| `--{long}{value}` | `{variable}` | {default} | {help} |\n")
}

/// Returns the options of `serve` in the form of the manual's table.
fn table() -> String {
    let command = sightline::cli::command();
    let serve = command.find_subcommand("serve").unwrap();
    let mut table = String::from("| option | variable | default | |\n|---|---|---|---|\n");
    let mut heading = "";
    let options: Vec<&Arg> =
        serve.get_arguments().filter(|arg| arg.get_id() != "help" && !arg.is_hide_set()).collect();
    assert!(options.len() <= 36, "{} options", options.len());
    for arg in options {
        let group = arg.get_help_heading().unwrap();
        if group != heading {
            let _ = writeln!(table, "| **{group}** | | | |");
            heading = group;
        }
        table.push_str(&row(arg));
    }
    table
}

/// To rewrite the table: `SIGHTLINE_TEST_UPDATE=1 cargo test --test main the_manual_lists`.
#[test]
fn the_manual_lists_every_option_as_it_is() {
    page_has_table("configuration.md", [TABLE_START, TABLE_END], &table());
}

#[test]
fn the_manual_names_every_command_and_exit_code() {
    let page = sightline::manual::topic("command-line").unwrap().markdown;
    for words in commands() {
        let last = words.last().unwrap();
        assert!(page.contains(last), "the manual leaves out `{}`", words.join(" "));
    }
    for exit in ["| 0 | done |", "| 1 |", "| 2 |", "| 3 | failed"] {
        assert!(page.contains(exit), "{exit}");
    }
}

/// The words with a fixed outcome on the simulated web do what the manual says.
#[test]
fn the_sandbox_names_behave_as_documented() {
    let page = sightline::manual::topic("sandbox").unwrap().markdown;
    for (word, outcome, code) in [
        ("nobody", "miss", 1),
        ("everybody", "hit", 0),
        ("blocked", "blocked", 3),
        ("limited", "rate_limited", 3),
        ("silent", "timeout", 3),
        ("broken", "error", 3),
    ] {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{word}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for {word}"));
        assert!(row.contains(outcome) && row.contains("the search fails") == (code == 3), "{row}");
        let query = format!("{word}.smith");
        // These sites never answer; all others do, also on a busy machine.
        let deadline = if word == "silent" { "--check-timeout=500ms" } else { "--check-timeout=60s" };
        let args = ["search", "username", &query, "--sandbox=perfect", "--format=json", deadline];
        let run: serde_json::Value = serde_json::from_str(&ran(&args, &[]).code_is(code).out).unwrap();
        let asked =
            run["coverage"]["checked"].as_u64().unwrap() - run["coverage"]["skipped"].as_u64().unwrap();
        assert!(asked > 0 && run["coverage"][outcome] == asked, "{word}: {}", run["coverage"]);
    }
}
