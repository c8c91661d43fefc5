//! The words of searches and runs.

use super::doc::{Answer, Doc, Tag};
use super::{events, parameters, request};
use crate::api::failure::Failure;
use crate::api::wire::run::{Answer as SearchAnswer, RunModules, SearchList};
use crate::report::body::{ReportBody, RunBody};

/// Headers of a stream.
const OF_STREAMS: [&str; 1] = ["X-Accel-Buffering"];

/// `POST /v1/searches`.
pub fn start() -> Doc {
    let (body, schemas) = request::body();
    let (event, event_schemas) = events::schema();
    let begun = Answer::new(
        200,
        "The search is accepted. JSON, or a stream where the body says `stream`. With `wait`: the results if the run \
         ended in time, else `status` `running` with `Retry-After`; a run that failed has `status` `failed` and \
         `error`.",
    );
    Doc::new("startSearch", Tag::Searches, "Start a search")
        .text(
            "Charges 1 credit, or 2 for a premium search, and starts a run. Counts as `search`, with `stream` as \
             `stream` too. Three ways to the results:\n\n\
             - **poll**: read `GET /v1/searches/{run_id}` every 2 to 5 seconds until `status` is `completed` or \
             `failed`;\n\
             - **wait** (`wait`): the answer has the results if the run ends in time;\n\
             - **stream** (`stream`): the answer is a stream of events.\n\n\
             A run goes on when its client goes away; one that fails gives its credits back.",
        )
        .parameter(parameters::idempotency_key())
        .parameter(parameters::prefer())
        .takes(body, schemas)
        .answer(
            begun
                .body::<SearchAnswer<'_>>("application/json")
                .schema(events::MEDIA_TYPE, event, event_schemas)
                .always(&["Location", "X-Run-Id"])
                .maybe(&["Retry-After", "Preference-Applied"])
                .maybe(&OF_STREAMS)
                .begins_a_run(),
        )
        .fails(Failure::InsufficientCredits)
        .fails(Failure::IdempotencyConflict)
        .fails(Failure::UnsupportedMediaType)
        .fails(Failure::IdempotencyMismatch)
        .fails(Failure::PremiumUnavailable)
        .fails(Failure::Suppressed)
}

/// `GET /v1/searches`.
pub fn list() -> Doc {
    Doc::new("listSearches", Tag::Searches, "List recent searches")
        .text("The caller's runs without their results, newest first. Costs no credits.")
        .parameter(parameters::limit())
        .parameter(parameters::cursor())
        .parameter(parameters::search_type())
        .parameter(parameters::status())
        .answer(Answer::new(200, "A page of runs.").body::<SearchList<'_>>("application/json"))
}

/// `GET /v1/searches/{run_id}`.
pub fn run() -> Doc {
    Doc::new("getSearch", Tag::Searches, "Read a run and its results")
        .text(
            "While the run is under way: what was found so far. Poll every 2 to 5 seconds, with `If-None-Match`. \
             Costs no credits.",
        )
        .parameter(parameters::if_none_match())
        .answer(
            Answer::new(200, "The run.")
                .body::<RunBody<'_>>("application/json")
                .always(&["ETag"])
                .maybe(&["Last-Modified"]),
        )
        .answer(
            Answer::new(304, "The run is as the caller has it.").always(&["ETag"]).maybe(&["Last-Modified"]),
        )
}

/// `DELETE /v1/searches/{run_id}`.
pub fn delete() -> Doc {
    Doc::new("deleteSearch", Tag::Searches, "Forget a run")
        .text(
            "Forgets the run's query and results; one that is under way stops first. Its credits stay spent.",
        )
        .answer(Answer::new(204, "It is forgotten."))
}

/// `GET /v1/searches/{run_id}/stream`.
pub fn stream() -> Doc {
    let (event, schemas) = events::schema();
    Doc::new("streamSearch", Tag::Searches, "Follow a run")
        .text(
            "The same events as a search with `stream`, from the first result on; a run that has ended is replayed. \
             `Last-Event-ID` is ignored: events have no ids. Costs no credits; counts as `stream`.\n\n\
             The end of the stream alone is no success: `done` is the last event of a run. After `reconnect`, \
             `error` or a lost connection attach again, and tell results that come again by `run_id` and `id`.",
        )
        .parameter(parameters::after())
        .answer(
            Answer::new(200, "The run's events.")
                .schema(events::MEDIA_TYPE, event, schemas)
                .always(&OF_STREAMS),
        )
}

/// `GET /v1/searches/{run_id}/modules`.
pub fn modules() -> Doc {
    Doc::new("listSearchModules", Tag::Searches, "List how the modules of a run ended")
        .text("Those that have ended. Costs no credits.")
        .answer(Answer::new(200, "The modules that have ended.").body::<RunModules>("application/json"))
}

/// `GET /v1/searches/{run_id}/export`.
pub fn export() -> Doc {
    Doc::new("exportSearch", Tag::Searches, "Get a run as a file")
        .text(
            "What is there, of a run that is under way too: `X-Run-Status` and the file's name say so. In a CSV file \
             no cell is one that a spreadsheet would run. Costs no credits.",
        )
        .parameter(parameters::format())
        .answer(
            Answer::new(200, "The file.")
                .body::<ReportBody<'_>>("application/json")
                .file("application/x-ndjson")
                .file("text/csv")
                .file("text/html")
                .always(&["Content-Disposition", "X-Run-Id", "X-Run-Status"])
                .maybe(&["Content-Security-Policy"]),
        )
}
