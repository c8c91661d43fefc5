//! Email modules that ask a site whether it knows an address, and public records that name one.

use super::*;

/// Returns the outcome for `bob@example.com` if every request that contains this part gets the answer.
fn outcome_with(id: &str, part: &'static str, status: u16, body: Value) -> (Outcome, Option<String>) {
    // Instagram shows a token on its front page first.
    let token =
        ("https://www.instagram.com/ ", 200, HTML, "<script>{\"csrf_token\":\"abc\"}</script>".into());
    let said = ask(id, "bob@example.com", vec![(part, status, JSON, body), token]);
    (said.report.outcome, said.report.reason.map(|reason| reason.as_str().to_owned()))
}

/// The answers are of the form that the lists of such checks describe.
#[test]
fn addresses_that_a_site_knows_or_does_not_know() {
    let valid = |is_valid: bool| json!({"responses": [{"data": {"validateEmail": {"isValid": is_valid}}}]});
    let emirates = |code: &str| json!({"status": false, "body": {"errors": [{"code": code}]}});
    let cake = |error: bool, kind: &str| json!({"result": "SUCCESS", "data": {"hasError": error, "errorType": kind}});
    let ok = |body: Value| (200, body);
    for (id, part, known, unknown, unclear) in [
        (
            "flipboard_email",
            "bob%40",
            ok(json!({"success": true, "errorcode": 3109})),
            ok(json!({"success": true, "valid": true, "code": 200})),
            ok(json!({"success": true, "errorcode": 3108, "reason": "refused"})),
        ),
        (
            "instagram_email",
            "email=bob%40",
            ok(json!({"error_type": "email_is_taken", "available": false})),
            ok(json!({"available": true})),
            (400, json!({"spam": true})),
        ),
        ("quizlet_email", "bob@", ok(valid(false)), ok(valid(true)), ok(json!({"responses": []}))),
        (
            "emirates_email",
            "bob@",
            ok(emirates("program.member.EmailExistsForAnotherMember")),
            ok(json!({"status": true, "body": {}})),
            ok(emirates("other")),
        ),
        (
            "nykaa_man_email",
            "bob%40",
            ok(json!({"response": {"is_exists": true}})),
            ok(json!({"response": {"is_exists": false}})),
            ok(json!({"response": {}})),
        ),
        ("rappi_email", "bob@", ok(json!({"exists": true})), ok(json!({"exists": false})), ok(json!({}))),
        (
            "cake_email",
            "bob%40",
            ok(cake(true, "DUPLICATED")),
            ok(cake(false, "")),
            ok(cake(true, "INVALID")),
        ),
        (
            "jiosaavn_email",
            "bob%40",
            ok(json!({"status": true})),
            ok(json!({"status": false})),
            ok(json!({})),
        ),
        (
            "picsart_email",
            "bob%40",
            ok(json!({"status": "success", "response": [{"id": 1}]})),
            ok(json!({"status": "success", "response": []})),
            ok(json!({"status": "error"})),
        ),
        (
            "wattpad_email",
            "bob%40",
            (400, json!({"code": 1, "message": "That email is already in use."})),
            ok(json!({"code": 200, "message": "OK"})),
            (400, json!({"message": "Enter a valid email"})),
        ),
        (
            "apple_account",
            "bob@",
            ok(json!({"primaryAuthOptions": ["password"], "hasSWP": true})),
            ok(json!({"hasSWP": false})),
            ok(json!({"serviceErrors": [{"code": "-1"}]})),
        ),
        ("fox_email", "bob%40", ok(json!({"found": true})), ok(json!({"found": false})), ok(json!({}))),
        (
            "skyscanner_email",
            "bob@",
            ok(json!({"providers": ["google"]})),
            (404, json!({"code": 404, "message": "Not Found"})),
            (404, json!({"message": "no such route"})),
        ),
    ] {
        let ((status, body), (missing_status, missing), (odd_status, odd)) = (known, unknown, unclear);
        // The control check asks for another address, which gets 404.
        let part_of_bob = outcome_with(id, part, status, body);
        assert_eq!(part_of_bob.0, Outcome::Hit, "{id}: {part_of_bob:?}");
        let missed = outcome_with(id, part, missing_status, missing);
        assert_eq!(missed.0, Outcome::Miss, "{id}: {missed:?}");
        let odd = outcome_with(id, part, odd_status, odd);
        assert!(matches!(odd.0, Outcome::Error | Outcome::Blocked), "{id}: {odd:?}");
    }
}

#[test]
fn a_project_that_hides_its_users_is_no_miss() {
    for id in ["justwatch_email", "crazygames_email", "al_jazeera_email"] {
        let hidden = json!({"kind": "identitytoolkit#CreateAuthUriResponse", "sessionId": "s"});
        assert_eq!(outcome_with(id, "bob@", 200, hidden).0, Outcome::Error, "{id}");
        assert_eq!(outcome_with(id, "bob@", 200, json!({"registered": false})).0, Outcome::Miss, "{id}");
        let known = json!({"registered": true, "signinMethods": ["google.com"]});
        let said = ask(id, "bob@example.com", vec![("bob@", 200, JSON, known)]);
        assert_eq!(said.metadata("bob@example.com")["sign_in_methods"], json!(["google.com"]), "{id}");
    }
}

#[test]
fn a_mailbox_in_exchange_online() {
    let found = json!({"Protocol": "Autodiscoverv1", "Url": "https://outlook.office365.com/autodiscover/autodiscover.xml"});
    assert_eq!(outcome_with("office_365_mailbox", "v1.0/bob", 200, found).0, Outcome::Hit);
    let other = json!({"ErrorCode": "ProtocolNotSupported"});
    assert_eq!(outcome_with("office_365_mailbox", "v1.0/bob", 200, other).0, Outcome::Error);
}

#[test]
fn reports_of_another_person_are_no_hit() {
    let bug = |id: u32, creator: &str| json!({"id": id, "creator": creator, "summary": "It fails", "product": "Core", "creation_time": "2024-01-02T03:04:05Z", "creator_detail": {"id": 7, "real_name": format!("{creator} B."), "nick": creator}});
    for (id, host) in [
        ("mozilla_bugzilla", "https://bugzilla.mozilla.org"),
        ("redhat_bugzilla", "https://bugzilla.redhat.com"),
        ("kernel_bugzilla", "https://bugzilla.kernel.org"),
        ("gentoo_bugzilla", "https://bugs.gentoo.org"),
    ] {
        let bugs = |list: &[Value]| told("creator=bob%40example.com", json!({"bugs": list}));
        let said = ask(
            id,
            "bob@example.com",
            vec![bugs(&[bug(1, "bob"), bug(2, "Bob@Example.com"), bug(3, "eve")])],
        );
        let urls: Vec<String> = said
            .findings()
            .iter()
            .filter(|(kind, ..)| *kind == "url")
            .map(|(_, value, _)| (*value).to_owned())
            .collect();
        let want = ["1", "2"].map(|number| format!("{host}/show_bug.cgi?id={number}"));
        assert_eq!(urls, want, "{id}");
        assert_eq!(said.metadata(&want[0])["created_at"], "2024-01-02T03:04:05Z");
        assert_eq!(said.metadata("bob@example.com")["user_id"], 7);
        let foreign = bugs(&[bug(3, "eve"), bug(4, "bob@example.net"), bug(5, "bobby")]);
        assert_eq!(outcome_of(id, "bob@example.com", vec![foreign]), Outcome::Error, "{id}");
        assert_eq!(
            outcome_of(id, "eve@example.com", vec![told("creator=eve", json!({"bugs": []}))]),
            Outcome::Miss
        );
    }
}

#[test]
fn packages_of_a_maintainer() {
    let package = |name: &str, maintainer: &str| json!([{"repo": "freebsd", "srcname": format!("devel/{name}"), "visiblename": name, "version": "1.2", "maintainers": [maintainer, "team@example.org"]}]);
    let list = |maintainer: &str| {
        told(
            "maintainer=bob%40example.com",
            json!({"a": package("a", "bob@example.com"), "b": package("b", maintainer)}),
        )
    };
    let said = ask("repology_maintainer", "Bob@example.com", vec![list("eve@example.com")]);
    assert_eq!(said.outcome().0, Outcome::Hit);
    assert_eq!(said.metadata("a")["version"], "1.2");
    assert!(!said.findings().iter().any(|(_, value, _)| *value == "b"), "{:?}", said.findings());
    // The miss is confirmed with the known address.
    let none = || told("maintainer=eve%40", json!({}));
    let known = told("maintainer=ports%40freebsd.org", json!({"p": package("p", "ports@freebsd.org")}));
    assert_eq!(outcome_of("repology_maintainer", "eve@example.com", vec![none(), known]), Outcome::Miss);
    let empty = told("maintainer=", json!({}));
    let said = ask("repology_maintainer", "eve@example.com", vec![none(), empty]);
    assert_eq!(said.outcome(), (Outcome::Unreliable, Some("known_missed")));
}
