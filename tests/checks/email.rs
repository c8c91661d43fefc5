//! Built-in email modules on answers of the form that the sources give: what is read, what never is.

use super::*;

mod lookups;

/// Part of the request (address or body), status, content type, body (a text that is none of JSON is a
/// string).
type Told = (&'static str, u16, &'static str, Value);

const JSON: &str = "application/json";
const HTML: &str = "text/html; charset=utf-8";
const ICON: &str = "image/png";

fn told(part: &'static str, body: Value) -> Told {
    (part, 200, JSON, body)
}

struct Said {
    report: Report,
    asked: Vec<String>,
}

impl Said {
    /// Type, value and metadata of every finding.
    fn findings(&self) -> Vec<(&str, &str, Value)> {
        let findings = self.report.findings.iter();
        findings
            .map(|it| {
                let value = it.value.as_deref().unwrap_or_default();
                (it.result_type.as_str(), value, Value::Object(it.metadata.clone()))
            })
            .collect()
    }

    fn metadata(&self, value: &str) -> Value {
        let found = self.findings().into_iter().find(|(_, known, _)| *known == value);
        found.unwrap_or_else(|| panic!("no {value} in {:?}", self.findings())).2
    }

    fn outcome(&self) -> (Outcome, Option<&str>) {
        (self.report.outcome, self.report.reason.map(Reason::as_str))
    }
}

/// Returns the report of a built-in module. Each request gets the first matching answer, or 404.
fn ask(id: &str, address: &str, answers: Vec<Told>) -> Said {
    let module = builtin().get(id).unwrap().clone();
    let keys = ["emailrep_key", "hibp_key", "intelx_key", "leaklookup_key", "hunter_key"]
        .map(|name| (name, "a-key"));
    let bench = Bench::with_keys(&keys, move |request| {
        let body = request.body.as_ref().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
        let text = format!("{} {}", request.url, body.unwrap_or_default());
        let fitting = answers.iter().find(|(part, ..)| text.contains(part));
        let answer = match fitting {
            Some((_, status, kind, body)) => {
                let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
                respond(*status, &[("content-type", kind)], body)
            }
            None => respond(404, &[("content-type", "text/plain")], "nothing here"),
        };
        Ok(Response { final_url: request.url.clone(), ..answer })
    });
    let report = bench.check(&module, &Query::parse(SearchType::Email, address).unwrap());
    Said { report, asked: bench.asked() }
}

fn outcome_of(id: &str, address: &str, answers: Vec<Told>) -> Outcome {
    ask(id, address, answers).report.outcome
}

#[test]
fn a_federated_avatar_is_requested_from_the_announced_server() {
    let record = |data: &str| {
        told("_avatars-sec._tcp.example.com", json!({"Status": 0, "Answer": [{"type": 33, "data": data}]}))
    };
    let image = (
        "https://avatars.example.net/avatar/5ff860bf1190596c7188ab851db691f0f3169c453936e9e1eba2f9a47f7a0018?",
        200,
        ICON,
        "PNG".into(),
    );
    let said =
        ask("libravatar_federated", "bob@example.com", vec![record("0 0 443 Avatars.example.net."), image]);
    assert_eq!(said.metadata("bob@example.com")["avatar_server"], "avatars.example.net");
    let elsewhere = ask("libravatar_federated", "bob@example.com", vec![record("0 0 8080 a.example.net.")]);
    assert_eq!((elsewhere.outcome(), elsewhere.asked.len()), ((Outcome::Error, Some("not_saved")), 1));
    let none = told("_avatars-sec", json!({"Status": 3}));
    assert_eq!(
        ask("libravatar_federated", "bob@example.com", vec![none]).outcome(),
        (Outcome::Miss, Some("weak"))
    );
}

#[test]
fn a_web_key_directory_is_queried_by_hash() {
    // The example is from the Internet-Draft.
    const HASH: &str = "/hu/iy9q119eutrkn8s1mk4r39qejnbu3n5q?l=Joe.Doe";
    let key = || (HASH, 200, "application/octet-stream", "\u{99}\u{1}key".into());
    let host = |status: u16| {
        told(
            "name=openpgpkey.example.org",
            json!({"Status": status, "Question": [{"name": "openpgpkey.example.org."}]}),
        )
    };
    let said = ask("wkd_advanced", "Joe.Doe@example.org", vec![host(0), key()]);
    assert_eq!(said.outcome().0, Outcome::Hit);
    let want = format!("https://openpgpkey.example.org/.well-known/openpgpkey/example.org{HASH}");
    assert_eq!(said.metadata("Joe.Doe@example.org")["key_url"], want);
    assert_eq!(said.asked[1], want);
    let no_host = ask("wkd_advanced", "Joe.Doe@example.org", vec![host(3)]);
    assert_eq!((no_host.outcome(), no_host.asked.len()), ((Outcome::Miss, Some("weak")), 1));
    assert_eq!(outcome_of("wkd_direct", "Joe.Doe@example.org", vec![key()]), Outcome::Hit);
    // A site that shows its front page for every address has no directory.
    let page = (HASH, 200, HTML, "<html>Welcome</html>".into());
    assert_eq!(outcome_of("wkd_direct", "Joe.Doe@example.org", vec![page]), Outcome::Error);
    assert_eq!(outcome_of("wkd_direct", "joe@gmail.com", vec![]), Outcome::Skipped);
}

#[test]
fn a_dane_record_is_queried_by_the_truncated_hash() {
    // The example is from RFC 7929.
    const NAME: &str = "c93f1e400f26708f98cb19d936620da35eec8f72e57f9eec01c1afd6._openpgpkey.example.com";
    let record =
        told(NAME, json!({"Status": 0, "AD": true, "Answer": [{"type": 61, "data": "\\# 4 99010203"}]}));
    let none = told("_openpgpkey", json!({"Status": 3}));
    let said = ask("dane_openpgpkey", "hugh@example.com", vec![record, none]);
    assert_eq!(
        said.findings(),
        [(
            "public_key",
            "hugh@example.com",
            json!({"dnssec_validated": true, "owner_name": NAME, "record_type": "OPENPGPKEY"})
        )]
    );
}

#[test]
fn a_nostr_name_gives_only_its_own_key() {
    let key = |digit: &str| digit.repeat(64);
    let file = || {
        told("/.well-known/nostr.json", json!({"names": {"alice": key("a"), "bob": key("b")}, "relays": {}}))
    };
    let said = ask("nostr_nip05", "bob@example.com", vec![file()]);
    assert_eq!(
        said.findings(),
        [("account", "bob@example.com", json!({"public_key": key("b"), "service": "Nostr"}))]
    );
    let page = |text: &str| ("nostr.json", 200, HTML, format!("<html>{text}</html>").into());
    for (answer, want) in [
        (told("nostr.json", json!({"names": {"bobby": key("b")}})), Outcome::Miss),
        (told("nostr.json", json!({"names": {"alice": key("a")}, "note": "bob"})), Outcome::Error),
        (page("Welcome"), Outcome::Miss),
        (page("<input type=password>"), Outcome::Error),
    ] {
        assert_eq!(outcome_of("nostr_nip05", "bob@example.com", vec![answer]), want);
    }
}

#[test]
fn a_lightning_address_shows_its_terms() {
    let body = json!({"tag": "payRequest", "callback": "https://pay.example.net/cb?u=1", "minSendable": 1000,
        "maxSendable": 9000, "metadata": "[[\"text/plain\",\"Tips for Bob\"],[\"image/png;base64\",\"AA\"]]"});
    let said = ask("lightning_address", "bob@example.com", vec![told("/lnurlp/bob", body)]);
    assert_eq!(
        said.metadata("bob@example.com"),
        json!({"description": "Tips for Bob", "max_sendable_msat": 9000, "min_sendable_msat": 1000,
            "payment_host": "pay.example.net", "service": "Lightning"})
    );
}

#[test]
fn commits_and_papers_of_other_people_are_ignored() {
    let commit = |login: &str, email: &str, repository: &str| {
        json!({"html_url": format!("https://github.com/{repository}/commit/1"), "author": {"login": login, "html_url": format!("https://github.com/{login}")},
            "commit": {"author": {"name": login, "email": email, "date": "2024-05-06T07:08:09.000+02:00"}},
            "repository": {"full_name": repository, "html_url": format!("https://github.com/{repository}")}})
    };
    let items = [commit("bob", "Bob@example.com", "bob/a"), commit("eve", "eve@example.com", "eve/b")];
    let said = ask(
        "github_commits",
        "bob@example.com",
        vec![told("author-email", json!({"total_count": 2, "items": items}))],
    );
    let values: Vec<&str> = said.findings().iter().map(|(_, value, _)| *value).collect();
    assert_eq!(values, ["https://github.com/bob", "bob", "bob", "https://github.com/bob/a"]);
    assert_eq!(said.metadata("https://github.com/bob/a")["committed_at"], "2024-05-06T05:08:09Z");
    let strangers =
        told("author-email", json!({"total_count": 1, "items": [commit("eve", "eve@example.com", "eve/b")]}));
    assert_eq!(outcome_of("github_commits", "bob@example.com", vec![strangers]), Outcome::Miss);
    let many =
        told("author-email", json!({"total_count": 31, "items": [commit("eve", "e@example.com", "e/b")]}));
    assert_eq!(outcome_of("github_commits", "bob@example.com", vec![many]), Outcome::Error);

    let author = |name: &str, text: &str| {
        json!({"fullName": name,
        "authorAffiliationDetailsList": {"authorAffiliation": [{"affiliation": text}]}})
    };
    let paper = |authors: &[Value]| {
        told(
            "europepmc",
            json!({"hitCount": 1, "request": {"queryString": "AFF:\"bob@example.com\""},
        "resultList": {"result": [{"doi": "10.1/x", "title": "On x", "authorList": {"author": authors}}]}}),
        )
    };
    let said = ask(
        "europe_pmc",
        "bob@example.com",
        vec![paper(&[
            author("Eve E", "Lab, eve@example.com"),
            author("Bob B", "Lab. Email: Bob@example.com."),
        ])],
    );
    let values: Vec<&str> = said.findings().iter().map(|(_, value, _)| *value).collect();
    assert_eq!(values, ["Bob B", "https://doi.org/10.1/x"]);
    let near = paper(&[author("Jim", "jim-bob@example.com")]);
    assert_eq!(outcome_of("europe_pmc", "bob@example.com", vec![near]), Outcome::Error);

    let found = |extra: Value| {
        told("esearch", json!({"esearchresult": {"count": "7", "idlist": ["11", "12"], "errorlist": extra}}))
    };
    let said = ask("pubmed", "bob@example.com", vec![found(Value::Null)]);
    assert_eq!(said.metadata("https://pubmed.ncbi.nlm.nih.gov/12/")["pmid"], "12");
    assert!(!said.asked[0].contains("api_key"), "no key was given");
    // A phrase that is not in the index is dropped from the search.
    let dropped = found(json!({"phrasesnotfound": ["\"bob@example.com\"[Affiliation]"]}));
    assert_eq!(ask("pubmed", "bob@example.com", vec![dropped]).outcome(), (Outcome::Miss, Some("weak")));
}

#[test]
fn only_keys_with_the_address_count() {
    let uid = |name: &str, address: &str| format!("uid:{name}%20<{address}>:1420070400::\n");
    let key = |id: &str, uids: &[String]| format!("pub:{id}:1:4096:1420070400::\n{}", uids.concat());
    let foreign = key("AB01", &[uid("Eve", "eve@example.org"), uid("Jim", "jim-bob@example.com")]);
    let own = key("CD02", &[uid("Work", "work@example.org"), uid("Bob", "Bob%40example.com")]);
    for id in ["ubuntu_keyserver", "pgpkeys_eu"] {
        let list = |keys: &str| ("op=index", 200, "text/plain", format!("info:1:2\n{keys}").into());
        let said = ask(id, "bob@example.com", vec![list(&format!("{foreign}{own}{foreign}"))]);
        let found: Vec<(&str, &str)> =
            said.findings().iter().map(|(kind, value, _)| (*kind, *value)).collect();
        let want = [
            ("public_key", "CD02"),
            ("person_name", "Bob"),
            ("email", "work@example.org"),
            ("email", "bob@example.com"),
        ];
        assert_eq!(found, want, "{id}");
        assert_eq!(said.metadata("CD02")["algorithm"], "RSA");
        assert_eq!(outcome_of(id, "bob@example.com", vec![list(&foreign)]), Outcome::Error, "{id}");
    }
}

#[test]
fn answers_about_another_address_are_no_hits() {
    const MD5: &str = "4b9bb80620f03eb3719e0a061c14283d";
    const SHA256: &str = "5ff860bf1190596c7188ab851db691f0f3169c453936e9e1eba2f9a47f7a0018";
    let legacy = |name: &str, hash: &str| {
        let mut entry = json!({"hash": "0".repeat(32), "profileUrl": "https://gravatar.com/bob", "preferredUsername": "bob"});
        entry[name] = hash.into();
        told(MD5, json!({"entry": [entry]}))
    };
    let profile = |hash: &str| told(SHA256, json!({"hash": hash, "profile_url": "https://gravatar.com/bob"}));
    let domain = |name: &str| told("rdap", json!({"objectClassName": "domain", "ldhName": name}));
    let reputation = |email: &str, references: u64| {
        told("emailrep.io", json!({"email": email, "reputation": "high", "references": references}))
    };
    for (id, answer, outcome) in [
        ("gravatar_legacy", legacy("hash", MD5), Outcome::Hit),
        ("gravatar_legacy", legacy("requestHash", MD5), Outcome::Hit),
        ("gravatar_legacy", legacy("requestHash", &"1".repeat(32)), Outcome::Error),
        ("gravatar_profile", profile(SHA256), Outcome::Hit),
        ("gravatar_profile", profile(&"0".repeat(64)), Outcome::Error),
        ("mail_domain_rdap", domain("EXAMPLE.COM."), Outcome::Hit),
        ("mail_domain_rdap", domain("example.net"), Outcome::Error),
        ("mail_domain_rdap", told("rdap", json!({"objectClassName": "domain"})), Outcome::Error),
        ("emailrep", reputation("Bob@example.com", 3), Outcome::Hit),
        ("emailrep", reputation("bob@example.com", 0), Outcome::Miss),
        ("emailrep", reputation("eve@example.com", 3), Outcome::Error),
        ("emailrep", reputation("eve@example.com", 0), Outcome::Error),
    ] {
        let said = ask(id, "bob@example.com", vec![answer]);
        assert_eq!(said.report.outcome, outcome, "{id}: {:?}", said.report.evidence.matcher);
    }
}

#[test]
fn leak_results_have_names_and_dates_but_no_leaked_data() {
    const SECRETS: [&str; 5] = ["hunter2", "1.2.3.4", "DESKTOP-BOB", "5f4dcc3b", "C:\\\\bob"];
    let stealer = json!({"stealers": [{"date_compromised": "2023-04-05T00:00:00.000Z", "stealer_family": "Sample", "ip": "1.2.3.4",
        "computer_name": "DESKTOP-BOB", "malware_path": "C:\\bob", "top_passwords": ["hunter2"], "top_logins": ["b**@example.com"],
        "total_user_services": 12, "total_corporate_services": 1}]});
    let lookup = json!({"error": "false", "message": {"sample.com": [{"password": "hunter2", "hash": "5f4dcc3b", "ipaddress": "1.2.3.4"}]}});
    let paste = json!([{"Source": "Pastebin", "Id": "8Q0", "Title": "dump", "Date": "2014-03-04T19:14:54Z", "EmailCount": 139}]);
    let analysis = json!({"ExposedBreaches": {"breaches_details": [{"breach": "Sample", "xposed_date": "2019", "xposed_records": 5,
        "xposed_data": "Email addresses;Passwords; Names", "password_risk": "plaintext"}]},
        "BreachMetrics": {"risk": [{"risk_label": "Low", "risk_score": 3}]}});
    for (id, answer, value, metadata) in [
        (
            "hudson_rock_email",
            told("cavalier", stealer),
            "infostealer infection, 2023-04-05T00:00:00Z",
            json!({"corporate_services": 1, "breached_on": "2023-04-05T00:00:00Z", "malware_family": "Sample", "user_services": 12}),
        ),
        ("leak_lookup", told("leak-lookup", lookup), "sample.com", json!({})),
        (
            "hibp_pastes",
            told("pasteaccount", paste),
            "paste 8Q0",
            json!({"addresses": 139, "published_at": "2014-03-04T19:14:54Z", "source": "Pastebin", "title": "dump"}),
        ),
        (
            "xposedornot",
            told("breach-analytics", analysis),
            "Sample",
            json!({"accounts": 5, "data_classes": ["Email addresses", "Passwords", "Names"], "breached_on": "2019", "password_risk": "plaintext"}),
        ),
    ] {
        let said = ask(id, "bob@example.com", vec![answer]);
        assert_eq!(said.metadata(value), metadata, "{id}");
        assert_eq!(said.asked.len(), 1, "{id}");
        let shown = format!("{:?}", said.findings());
        assert!(!SECRETS.iter().any(|secret| shown.contains(secret)), "{id}: {shown}");
    }
}

#[test]
fn an_unusable_answer_leads_to_the_fallback() {
    let plain = json!({"breaches": [["Sample", "Other"]], "breach_details": [{"name": "Sample", "breach_date": "2019-01-01"}]});
    let broken = ("breach-analytics", 502, HTML, "bad gateway".into());
    let said = ask("xposedornot", "bob@example.com", vec![broken, told("check-email", plain)]);
    let values: Vec<&str> = said.findings().iter().map(|(_, value, _)| *value).collect();
    assert_eq!(values, ["Sample", "Other"]);

    let odd = told("v1/account", json!({"status": 20, "errors": {"email": "This domain is not allowed."}}));
    let said = ask(
        "spotify_email",
        "bob@example.com",
        vec![odd, told("FIELD_EMAIL\",\"value\":\"bob@", json!({"error": {"already_exists": {}}}))],
    );
    assert_eq!(said.outcome().0, Outcome::Hit);

    let started = told("\"term\":\"bob@example.com\"", json!({"id": "s1", "status": 0}));
    let waiting = told("id=s1", json!({"status": 3, "records": []}));
    let said = ask("intelx_email", "bob@example.com", vec![started, waiting]);
    assert_eq!((said.outcome(), said.asked.len()), ((Outcome::Error, Some("unrecognized")), 3));
}

#[test]
fn sign_in_pages_distinguish_a_limit_from_an_answer() {
    let code = |exists: i64, throttle: i64| {
        told(
            "GetCredentialType",
            json!({"IfExistsResult": exists, "ThrottleStatus": throttle,
            "Credentials": {"HasPassword": true}, "EstsProperties": {"DomainType": 3}}),
        )
    };
    let all = ask("microsoft_account", "bob@example.com", vec![code(0, 0)]);
    assert_eq!(all.outcome().0, Outcome::Unreliable, "a tenant that says yes to every name");
    assert_eq!(outcome_of("microsoft_account", "bob@example.com", vec![code(0, 1)]), Outcome::Blocked);
    assert_eq!(outcome_of("microsoft_account", "bob@example.com", vec![code(1, 0)]), Outcome::Miss);
}

#[test]
fn modules_about_the_domain_do_not_send_the_name() {
    for id in [
        "disify",
        "kickbox_disposable",
        "debounce_disposable",
        "mail_domain_mx",
        "mail_domain_spf",
        "mail_domain_dmarc",
        "mail_domain_ispdb",
        "mail_domain_microsoft_realm",
        "mail_domain_rdap",
    ] {
        let said = ask(id, "some.body@example.com", vec![]);
        // A control check may ask for the domain of a known address after that.
        assert!(said.asked[0].contains("example.com"), "{id}: {:?}", said.asked);
        assert!(said.asked.iter().all(|url| !url.contains("body")), "{id}: {:?}", said.asked);
    }
}
