//! Requests and answers of the API, as transcripts.

use crate::support::transcript::play;

#[test]
fn what_is_not_valid_is_refused_with_its_field_and_costs_nothing() {
    play("api/bad_input.txt");
}

#[test]
fn searches_start_once_for_their_price_and_within_limits() {
    play("api/starts.txt");
}

#[test]
fn runs_are_read_exported_compared_stopped_and_asked_again() {
    play("api/runs.txt");
}

#[test]
fn notes_are_kept_with_runs_and_results() {
    play("api/notes.txt");
}

#[test]
fn watches_repeat_searches_and_find_changes() {
    play("api/watches.txt");
}
