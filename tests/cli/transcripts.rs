//! `account`, `key`, `catalog`, `search` and what the program refuses, as transcripts.

use crate::support::transcript::play;

#[test]
fn accounts_and_keys_are_managed_on_a_database() {
    play("cli/accounts.txt");
}

#[test]
fn catalogues_are_listed_checked_and_formatted() {
    play("cli/catalog.txt");
}

#[test]
fn searches_print_what_was_found_and_exit_accordingly() {
    play("cli/search.txt");
}

#[test]
fn what_is_not_valid_is_refused_by_its_name() {
    play("cli/refusals.txt");
}

#[test]
fn a_value_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = super::sightline(&["serve", "--listen"], &[]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("--listen <ADDRESS> (SIGHTLINE_LISTEN): not valid UTF-8"), "{said}");
}
