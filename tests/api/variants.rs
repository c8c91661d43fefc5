//! Usernames that a person may have chosen.

use serde_json::{Value, json};

use crate::support::server::{Answer, Server, Setup};

fn ask(server: &Server, body: &Value) -> Answer {
    server.request("POST", "/v1/variants").key(&server.key).json(body).send()
}

fn names(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{answer}");
    let answer = answer.json();
    let variants = answer["variants"].as_array().unwrap();
    assert_eq!(answer["count"], variants.len());
    variants.iter().map(|variant| variant["username"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn variants_of_names_and_usernames_are_listed_without_a_charge() {
    let server = Setup::new().start();
    let answer = ask(&server, &json!({"first": "Jürgen", "last": "Weiß", "middle": null, "year": 1985.0}));
    assert_eq!(names(&answer)[..3], ["juergenweiss", "jurgenweiss", "juergenweiss85"]);
    let first = &answer.json()["variants"][0];
    assert_eq!(*first, json!({"username": "juergenweiss", "rule": "{first}{last}", "weight": 0.0673949}));
    assert_eq!(names(&ask(&server, &json!({"username": " @JohnDoe "})))[..2], ["johndoe", "john_doe"]);
    assert_eq!(names(&ask(&server, &json!({"first": "--", "last": "!"}))), [] as [String; 0]);
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 0);
}

#[test]
fn wrong_names_are_refused_with_what_is_allowed() {
    let server = Setup::new().start();
    for (body, field) in [
        (json!({}), "body"),
        (json!([]), "body"),
        (json!({"first": "Ada"}), "last"),
        (json!({"last": "Lovelace"}), "first"),
        (json!({"first": "", "last": "Lovelace"}), "first"),
        (json!({"first": "Ada", "last": "x".repeat(101)}), "last"),
        (json!({"first": "Ada", "last": "Lovelace", "nick": 7}), "nick"),
        (json!({"first": "Ada", "last": "Lovelace", "year": 1899}), "year"),
        (json!({"first": "Ada", "last": "Lovelace", "year": "1985"}), "year"),
        (json!({"first": "Ada", "username": "ada"}), "first"),
        (json!({"username": "a b"}), "username"),
    ] {
        let answer = ask(&server, &body);
        answer.is_error(400, "invalid_request");
        assert_eq!(answer.json()["detail"]["field"], field, "{body}: {answer}");
    }
}
