//! The schema of a search's body compared with what is read: both refuse the same members. The schema has no rules for
//! queries.

use serde_json::{Value, json};
use sightline::api::decode::SearchBody;
use sightline::base::ids::RequestId;
use sightline::http::Request;

use super::schemas::Schemas;

const SCHEMA: &str = "/components/schemas/SearchRequest";

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

#[test]
fn members_are_judged_alike() {
    let schemas = Schemas::new();
    let values =
        r#"null true -1 0 0.0 1 1.5 6.0 120 121 1e9 "6" "true" "" [] ["github"] ["github",1] [null] {}"#;
    let values = values.split(' ').map(|text| serde_json::from_str(text).unwrap());
    let values: Vec<Value> = values.chain([1000, 1001].map(|count| json!(vec!["github"; count]))).collect();
    let members = "type query wait stream premium modules exclude_modules categories nsfw passive patient avatars \
                   time_budget unknown";
    for member in members.split_whitespace() {
        for value in &values {
            for kind in ["username", "email", "domain"] {
                let query = if kind == "email" { "alice@example.com" } else { "example.com" };
                let mut body = json!({"type": kind, "query": query});
                body[member] = value.clone();
                if member == "query" && value.is_string() {
                    continue;
                }
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
