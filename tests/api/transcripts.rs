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

#[test]
fn batches_are_accepted_and_their_searches_started_once() {
    play("api/batches.txt");
}

#[test]
fn streams_and_waits_have_what_is_read_later() {
    play("api/streams.txt");
}

#[test]
fn a_choice_decides_which_modules_are_asked() {
    play("api/modules.txt");
}

#[test]
fn webhooks_are_created_changed_and_deleted() {
    play("api/webhooks.txt");
}

#[test]
fn searches_share_answers_end_with_their_budget_and_take_turns() {
    play("api/speed.txt");
}

#[test]
fn programs_call_tools_by_the_model_context_protocol() {
    play("api/mcp.txt");
}

#[test]
fn accounts_are_exported_deleted_and_audited() {
    play("api/accounts.txt");
}
