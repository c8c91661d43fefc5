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

fn probe(more: &Value) -> Value {
    json!({"probes": [with(json!({"url": URL}), more)]})
}

#[test]
fn valid_requests_load() {
    for changes in [
        probe(&json!({"method": "POST", "form": {"name": "{query}", "{config.k?}": "x"}})),
        probe(&json!({"method": "POST", "json": {"q": "{query}", "k": "{config.k?}"}})),
        json!({
            "type": "domain",
            "probes": [{"url": "https://site.example/list", "feed": {"keep_s": 604_800},
                        "save": {"row": {"from": ["json:/rows/*"], "where": [{"at": "", "equals_query": true}]}}}],
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
