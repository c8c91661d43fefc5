//! Answers that sites give for every name when they fail. No proposed rule may match them.

use url::Url;

use crate::modules::judge::judge;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::probe::Response;
use crate::modules::query::Query;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const WELCOME: &str = "<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>Welcome</h1>\
                       <p>Discover what is new.</p></body></html>";
const FAULT: &str = "<!DOCTYPE html><html><head><title>Error</title></head><body><h1>Something went wrong</h1>\
                     </body></html>";

/// The status, content type and body of each answer.
const ANSWERS: [(u16, &str, &str); 12] = [
    (200, HTML, WELCOME),
    (200, HTML, FAULT),
    (200, HTML, ""),
    (200, JSON, r#"{"error": "temporarily unavailable"}"#),
    (200, JSON, r#"{"success": false, "message": "error"}"#),
    (400, JSON, r#"{"error": {"message": "bad request"}, "status": "error"}"#),
    (400, HTML, FAULT),
    (403, HTML, FAULT),
    (403, JSON, r#"{"error": "forbidden"}"#),
    (429, HTML, FAULT),
    (500, HTML, FAULT),
    (503, JSON, r#"{"message": "unavailable"}"#),
];

/// Returns whether the module takes an answer of a failing site for a hit or a miss that `before`, if given, does
/// not take it for. `asked` is the address of a request for `query`.
pub(super) fn is_misled(module: &Module, before: Option<&Module>, query: &Query, asked: &Url) -> bool {
    ANSWERS.iter().any(|(status, content_type, body)| {
        let response = Response {
            status: *status,
            final_url: asked.clone(),
            headers: vec![("content-type".to_owned(), (*content_type).to_owned())],
            body: body.as_bytes().to_vec(),
            truncated: false,
        };
        let responses = [Some(response)];
        let outcome = |module: &Module| judge(module, query, &responses).outcome;
        let found = outcome(module);
        matches!(found, Outcome::Hit | Outcome::Miss) && before.map(outcome) != Some(found)
    })
}
