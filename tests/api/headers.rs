//! What every answer wears: request ids, the sandbox's mark, authentication in its two forms, CORS.

use crate::support::server::Setup;

#[test]
fn a_key_is_taken_from_either_header_and_refused_in_every_other_form() {
    let server = Setup::new().start();
    let (key, other) = (server.key.clone(), server.new_key("pro"));
    let bearer = format!("Bearer {key}");
    let ok: &[&[(&str, &str)]] = &[
        &[("Authorization", &bearer)],
        &[("authorization", &format!("bearer {key}"))],
        &[("X-API-Key", &key)],
        &[("Authorization", &bearer), ("X-API-Key", &key)],
    ];
    for headers in ok {
        let mut request = server.request("GET", "/v1/me");
        for (name, value) in *headers {
            request = request.header(name, value);
        }
        assert_eq!(request.send().status, 200, "{headers:?}");
    }
    let mut mistyped = key.clone().into_bytes();
    mistyped[20] = if mistyped[20] == b'a' { b'b' } else { b'a' };
    let mistyped = String::from_utf8(mistyped).unwrap();
    let unknown = "sl_live_000000000000000000000000000000";
    let bad: &[&[(&str, &str)]] = &[
        &[],
        &[("Authorization", "")],
        &[("Authorization", "Bearer")],
        &[("Authorization", "Bearer ")],
        &[("Authorization", &key)],
        &[("Authorization", &format!("Basic {key}"))],
        &[("Authorization", &format!("Bearer {mistyped}"))],
        &[("Authorization", &format!("Bearer {unknown}"))],
        &[("Authorization", &format!("Bearer {}", "x".repeat(5000)))],
        &[("X-API-Key", "")],
        &[("X-API-Key", &key[..key.len() - 1])],
        &[("X-API-Key", &key), ("X-API-Key", &other)],
        &[("Authorization", &bearer), ("X-API-Key", &other)],
    ];
    for headers in bad {
        for path in [
            "/v1/me",
            "/v1/credits",
            "/v1/searches",
            "/v1/searches/x",
            "/v1/searches/x/stream",
            "/v1/modules",
        ] {
            let mut request = server.request("GET", path);
            for (name, value) in *headers {
                request = request.header(name, value);
            }
            let answer = request.send();
            answer.is_error(401, "invalid_api_key");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let log = server.log();
    assert!(!log.contains(&key) && !log.contains(&other), "a key stands in the log");
}

#[test]
fn request_ids_are_the_callers_or_new_and_stand_in_the_log() {
    let server = Setup::new().start();
    let ask = |id: Option<&str>| {
        let request = server.request("GET", "/v1/health");
        let request = match id {
            Some(id) => request.header("X-Request-Id", id),
            None => request,
        };
        request.send().header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(ask(Some("my-id_1.2")), "my-id_1.2");
    let new = [ask(None), ask(None), ask(Some("has space")), ask(Some(&"x".repeat(65)))];
    for (index, id) in new.iter().enumerate() {
        assert_eq!(id.len(), 32);
        assert!(!new[..index].contains(id));
    }
    assert!(server.log().contains("my-id_1.2"));
}

#[test]
fn every_answer_of_the_sandbox_says_so() {
    let server = Setup::new().start();
    for (method, path) in [
        ("GET", "/v1/health"),
        ("GET", "/v1/me"),
        ("GET", "/nothing"),
        ("PUT", "/v1/me"),
        ("OPTIONS", "/v1/me"),
    ] {
        let answer = server.request(method, path).send();
        assert_eq!(answer.header("x-sightline-sandbox"), Some("true"), "{answer}");
        assert!(answer.header("x-request-id").is_some() && answer.header("date").is_some(), "{answer}");
    }
}

#[test]
fn problem_json_is_sent_where_it_is_asked_for() {
    let server = Setup::new().start();
    let answer = server.request("GET", "/v1/me").header("Accept", "application/problem+json").send();
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let body = answer.json();
    assert_eq!(
        (&body["status"], &body["title"], &body["error"]),
        (&401.into(), &"invalid_api_key".into(), &"invalid_api_key".into())
    );
}

#[test]
fn other_origins_get_nothing_unless_they_are_configured() {
    let closed = Setup::new().start();
    let answer = closed.request("GET", "/v1/health").header("Origin", "https://app.example.org").send();
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let open = Setup::new().flag("--cors-origin=https://app.example.org").start();
    let preflight = open
        .request("OPTIONS", "/v1/searches")
        .header("Origin", "https://app.example.org")
        .header("Access-Control-Request-Method", "POST")
        .send();
    assert_eq!(preflight.status, 204, "{preflight}");
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example.org"));
    assert!(preflight.header("access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    assert!(
        preflight
            .header("access-control-allow-headers")
            .is_some_and(|headers| headers.contains("Authorization"))
    );
    let other = open.request("GET", "/v1/health").header("Origin", "https://evil.example.org").send();
    assert_eq!(other.header("access-control-allow-origin"), None);
}
