//! Pages for man.

use std::fs;
use std::process::Command;

use super::super::{Folder, ran};

/// Returns a page as `man` formats it.
fn formatted(path: &str) -> String {
    let mut groff = Command::new("groff");
    let output = groff.args(["-man", "-Tascii", "-P-cbou", "-ww", "-b", path]).output().unwrap();
    let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && warnings.is_empty(), "{path}: {warnings}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_command_has_a_page_that_formats() {
    let folder = Folder::new();
    let pages = folder.path("man/man1");
    let said = ran(&["man", "--output", &pages], &[]).code_is(0);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", ""));
    for (name, part) in [
        ("sightline", "sightline-search(1)"),
        ("sightline-search", "--time-budget"),
        ("sightline-account-create", "--email"),
        ("sightline-man", "--output"),
    ] {
        let page = formatted(&format!("{pages}/{name}.1"));
        assert!(page.contains(part), "{name} has no {part}:\n{page}");
    }
    let commands = sightline::cli::command();
    let written = fs::read_dir(&pages).unwrap().count();
    assert!(written > commands.get_subcommands().count(), "{written} pages");
}

#[test]
fn the_page_of_the_program_is_printed() {
    let page = ran(&["man"], &[("SIGHTLINE_DATABASE", "postgres://u:hunter2@h/d")]).code_is(0);
    assert!(page.out.contains(".TH sightline 1"), "{}", page.out);
    page.never_prints("hunter2");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let file = folder.file("file", "");
    ran(&["man", "--output", &file], &[]).code_is(3).err_has("cannot write").err_has(&file);
    // The name of a file does not control the terminal.
    let named = format!("{file}/\u{1b}[2J");
    ran(&["man", "--output", &named], &[]).code_is(3).err_has("cannot write").never_prints("\u{1b}");
}
