//! The schema of a search's body compared with the decoder: the decoder refuses everything that the schema
//! refuses, and accepts everything else except for rules that a schema cannot express.

use proptest::prelude::*;
use serde_json::{Value, json};
use sightline::api::decode::SearchBody;
use sightline::base::ids::RequestId;
use sightline::http::Request;

use super::schemas::Schemas;

const SCHEMA: &str = "/components/schemas/SearchRequest";

/// Words of refusals whose rule a schema cannot express: the public suffix list, letters outside ASCII,
/// lengths in encoded form.
const BEYOND_SCHEMAS: [&str; 14] = [
    "public suffix",
    "special-use name",
    "character that is not allowed (character",
    "characters, more than 64",
    "combining mark",
    "invisible character",
    "bytes",
    "not a valid international name",
    "is an IP address",
    "label",
    "neither http nor https",
    "the port",
    "contains an '@'",
    "is empty",
];

/// Returns the reason why the decoder refuses a body.
fn refusal(body: &Value) -> Option<String> {
    let request = Request {
        headers: vec![("content-type".into(), "application/json".into())],
        body: body.to_string().into_bytes(),
        ..Request::default()
    };
    let error = SearchBody::from_request(&request).err()?;
    let answer = error.into_response(&RequestId::accept(None));
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["error"], "invalid_request");
    Some(answer["message"].as_str().unwrap().to_owned())
}

fn agree(schemas: &Schemas, body: &Value) {
    let (mistake, refusal) = (schemas.mistake(SCHEMA, body), refusal(body));
    match (mistake, refusal) {
        (Some(mistake), None) => panic!("the decoder takes what the schema refuses: {body}\n{mistake}"),
        (None, Some(refusal)) if !BEYOND_SCHEMAS.iter().any(|words| refusal.contains(words)) => {
            panic!("the schema takes what the decoder refuses: {body}\n{refusal}")
        }
        _ => {}
    }
}

#[test]
fn known_queries_are_judged_alike() {
    let schemas = Schemas::new();
    let refused = ["username", "email", "domain"].map(|kind| (kind, "", false));
    let lists = [
        ("username", "torvalds|  @Torvalds\n|a.b_c-d+e~f9|-|Jose\u{301}|हिन्दी|名前", true),
        ("username", "   |@|@@a|two words|a/b|.|@...", false),
        ("email", "name+tag@example.com| A!#$%&'*+-/=?^_`{}~.b@EXAMPLE.co.uk. |a@bücher.de", true),
        ("email", "alice|alice@|@example.com|a@b@example.com|.alice@example.com|al..ice@example.com", false),
        ("email", "alice@localhost|alice@127.0.0.1|alice@exa_mple.com", false),
        (
            "domain",
            "example.com| EXAMPLE.Com. |bücher.example.de|例え。jp|XN--BCHER-KVA.de|1.2.3.4.com",
            true,
        ),
        ("domain", "HTTPS://user:p%40ss@Example.COM:8443/a/b?c=d@e#f|//example.com/path|example.com:", true),
        ("domain", "example.com?q=http://other.com|https://example.com\\@other.com/", true),
        ("domain", "localhost|127.0.0.1|-bad-.com|a..com|exa mple.com|me@example.com", false),
        ("domain", "ftp://example.com|https:///path|[::1]", false),
    ];
    for (kind, queries, is_taken) in lists.into_iter().chain(refused) {
        for query in queries.split('|') {
            let body = json!({"type": kind, "query": query});
            assert_eq!(schemas.mistake(SCHEMA, &body).is_none(), is_taken, "{body}");
            assert_eq!(refusal(&body).is_none(), is_taken, "{body}");
        }
    }
}

#[test]
fn members_are_judged_alike() {
    let schemas = Schemas::new();
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(0.0),
        json!(1),
        json!(1.5),
        json!(6.0),
        json!(120),
        json!(121),
        json!(1e9),
        json!("6"),
        json!("true"),
        json!(""),
        json!([]),
        json!(["github"]),
        json!(["github", 1]),
        json!([null]),
        json!({}),
        json!(vec!["github"; 1000]),
        json!(vec!["github"; 1001]),
    ];
    let members = [
        "type",
        "query",
        "wait",
        "stream",
        "premium",
        "modules",
        "exclude_modules",
        "categories",
        "nsfw",
        "passive",
        "patient",
        "avatars",
        "time_budget",
        "unknown",
    ];
    for member in members {
        for value in &values {
            for kind in ["username", "email", "domain"] {
                let query = if kind == "email" { "alice@example.com" } else { "example.com" };
                let mut body = json!({"type": kind, "query": query});
                body[member] = value.clone();
                let (mistake, refusal) = (schemas.mistake(SCHEMA, &body), refusal(&body));
                let taken_by_schema = mistake.is_none();
                assert_eq!(taken_by_schema, refusal.is_none(), "{body}: {mistake:?}, {refusal:?}");
            }
        }
        let mut without = json!({"type": "username", "query": "alice"});
        without.as_object_mut().unwrap().remove(member);
        assert_eq!(schemas.mistake(SCHEMA, &without).is_none(), refusal(&without).is_none(), "{without}");
    }
    for body in [json!([]), json!(null), json!("a"), json!(1), json!({})] {
        assert!(schemas.mistake(SCHEMA, &body).is_some() && refusal(&body).is_some(), "{body}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_query_is_judged_alike(
        kind in prop::sample::select(vec!["username", "email", "domain", "phone"]),
        query in prop_oneof![
            "\\PC{0,70}",
            "[ -~]{0,40}",
            "\\s?@?[A-Za-z0-9._+~-]{0,70}\\s?",
            "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]{1,70}@[a-z0-9.-]{1,20}\\.(com|org|de|co\\.uk|zz)\\.?",
            "(https?:)?(//)?([a-z]{1,3}@)?[a-zA-Z0-9ü.-]{1,30}\\.(com|org|de|COM|zz|1)\\.?(:[0-9]{0,6})?([/?#]\\PC{0,20})?",
        ],
    ) {
        thread_local!(static SCHEMAS: Schemas = Schemas::new());
        SCHEMAS.with(|schemas| agree(schemas, &json!({"type": kind, "query": query})));
    }
}
