//! Mistakes are reported with file, entry and field. Valid entries load.

use super::*;

/// Returns the mistakes: a change of an entry, the message about it, and whether the JSON Schema refuses it, too.
pub(super) fn mistakes() -> Vec<(Value, &'static str, bool)> {
    let mut found = Vec::new();
    for section in include_str!("mistakes.txt").split("\n# ").skip(1) {
        let lines: Vec<&str> = section.lines().skip(1).filter(|line| !line.is_empty()).collect();
        found.extend(lines.chunks(2).map(|case| {
            let marked = case[0].strip_prefix("! ");
            let is_refused = marked.is_some() || section.starts_with("Structure");
            (marked.unwrap_or(case[0]).parse().unwrap(), case[1].strip_prefix("  ").unwrap(), is_refused)
        }));
    }
    found
}

#[test]
fn mistakes_name_file_entry_and_field() {
    assert_eq!(faults(&json!({})), [""; 0]);
    let all = mistakes();
    assert!(all.len() > 130);
    let told = |changes: &Value| faults(changes).join("\n");
    let wrong = all.into_iter().filter(|(changes, want, _)| told(changes) != format!("f.json: {want}"));
    let wrong: Vec<String> = wrong.map(|(changes, ..)| format!("{changes}\n  {}", told(&changes))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_repeated_name_is_refused() {
    let result = r#""metadata": {"a": "const:b", "a": "const:c"}"#;
    for (field, value, at) in [
        (
            "probes",
            r#"[{"url": "https://site.example/{query}", "headers": {"a": "b", "a": "c"}}]"#,
            "probes[0].headers.a",
        ),
        (
            "probes",
            r#"[{"url": "https://site.example/{query}", "form": {"a": "b", "a": "c"}}]"#,
            "probes[0].form.a",
        ),
        (
            "probes",
            r#"[{"url": "https://site.example/{query}", "save": {"a": "title:", "a": "title:"}}]"#,
            "probes[0].save.a",
        ),
        ("hit", r#"[{"header": {"a": "b", "a": "c"}}]"#, "hit[0].header.a"),
        ("result", &format!(r#"{{"type": "account", {result}}}"#), "result.metadata.a"),
        ("results", &format!(r#"[{{"type": "url", "each": "lines:", {result}}}]"#), "results[0].metadata.a"),
    ] {
        let entry = with(entry(), &json!({field: "HERE"}));
        let text = json!([entry]).to_string().replace("\"HERE\"", value);
        let error = Catalog::from_text("f.json", &text).unwrap_err().to_string();
        assert_eq!(error, format!("f.json:1: site: {at}: `a` is repeated; give it one value"));
    }
}

fn probe(more: &Value) -> Value {
    json!({"probes": [with(json!({"url": URL}), more)]})
}

#[test]
fn valid_requests_load() {
    for changes in [
        probe(&json!({"method": "POST", "form": {"name": "{query}", "key": "{config.k?}"}})),
        probe(&json!({"method": "POST", "json": {"q": "{query}", "k": "{config.k?}"}})),
        json!({
            "type": "domain",
            "probes": [{"url": "https://site.example/list", "feed": {"keep_s": 604_800},
                        "save": {"row": {"from": ["json:"], "each": "/rows/*", "where": [{"at": "", "equals_query": true}]}}}],
        }),
        json!({"type": "email", "domain_not_in": ["a.example"]}),
        probe(&json!({"url": "http://whois.example:43/{query}", "via": "whois"})),
        json!({"needs": ["config.k"], "probes": [
            {"url": URL, "save": {"next": "json:/next"}},
            {"url": "https://api.site.example/{saved.next}", "headers": {"Authorization": "Bearer {config.k}"}},
        ]}),
        json!({"needs": ["config.k"], "probes": [
            {"url": URL, "save": {"next": "json:/next"}},
            {"url": "https://{saved.next}.site.example/", "headers": {"Authorization": "Bearer {config.k}"}},
        ]}),
        json!({
            "needs": ["config.k"],
            "probes": [{"url": "https://site.example/{query}?k={config.k}"}],
            "result": {"type": "account", "metadata": {"a": "json:/a"}},
        }),
    ] {
        assert_eq!(faults(&changes), Vec::<String>::new(), "{changes}");
    }
}
