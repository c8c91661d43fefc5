//! The operator's pages over HTTP.

use serde_json::json;

use super::person::{Person, text};
use crate::support::eventually;
use crate::support::server::Setup;

const EMAIL: &str = "ann@example.org";
const PAGES: [&str; 3] = ["/app/operator", "/app/operator/load", "/app/operator/accounts"];

/// Returns the platforms of the table from top to bottom.
fn platforms(page: &str) -> Vec<&str> {
    let rows = page.split("<th scope=\"row\">").skip(1);
    rows.map(|row| row.split(['<', '\n']).next().unwrap_or_default()).collect()
}

#[test]
fn only_operators_see_the_operator_pages() {
    let server = Setup::new().all_modules().start();
    let ann = Person::signed_in(&server, EMAIL, "pro");
    for path in PAGES {
        assert_eq!(ann.get(path).status, 403, "{path}");
        let nobody = Person::new(&server).get(path);
        assert_eq!(nobody.status, 303, "{path}");
    }
    let set_role = |role: &str| server.cli(&["account", "set-role", "--email", EMAIL, "--role", role]);
    set_role("operator");
    for _ in 0..3 {
        let begun = server.post(&json!({"type": "username", "query": "everybody"})).json();
        server.finished(begun["run_id"].as_str().unwrap());
    }

    let page = text(&ann.get("/app/operator"));
    assert!(page.contains("1–100 of ") && page.contains("aria-sort=\"ascending\""), "{page}");
    assert_eq!(platforms(&page).len(), 100);
    // The modules that were asked are healthy; the others come before them.
    let well = text(&ann.get("/app/operator?health=ok&sort=platform"));
    let names: Vec<String> = platforms(&well).into_iter().map(str::to_lowercase).collect();
    assert!(names.len() == 100 && names.is_sorted(), "{names:?}");
    let falling = text(&ann.get("/app/operator?health=ok&sort=platform&order=falling"));
    assert!(falling.contains("aria-sort=\"descending\"") && platforms(&falling)[0] != platforms(&well)[0]);
    let found = text(&ann.get("/app/operator?q=GITHUB&type=username"));
    assert!(platforms(&found).contains(&"GitHub") && found.contains("100%"), "{found}");
    let off = text(&ann.get("/app/operator?q=reddit&type=username"));
    assert!(off.contains("<small>2026-08-06: Reddit ended its JSON"), "{off}");
    let oldest = text(&ann.get("/app/operator?q=hashnode&sort=verified"));
    assert!(oldest.contains("<td>list 2026-03-09</td>"), "{oldest}");
    let second = text(&ann.get("/app/operator?page=2"));
    assert!(second.contains("101–200 of ") && platforms(&second) != platforms(&page));
    let last = text(&ann.get("/app/operator?page=999"));
    assert!(!platforms(&last).is_empty() && !last.contains("rel=\"next\""));
    assert!(text(&ann.get("/app/operator?q=%00nothing")).contains("No module matches."));

    // The end of a run is visible before its driver has ended.
    eventually("no run is driven", || ann.get("/app/operator/load").json()["runs_driven"]["value"] == 0);
    let load = ann.get("/app/operator/load").json();
    assert_eq!((&load["runs_driven"]["value"], &load["started"]["value"]), (&0.into(), &3.into()), "{load}");
    assert!(load["requests"]["percent"].as_u64().is_some_and(|share| (1..=100).contains(&share)), "{load}");

    let accounts = text(&ann.get("/app/operator/accounts"));
    assert!(accounts.contains(EMAIL) && accounts.contains("3 of unlimited"), "{accounts}");
    let pro = text(&ann.get("/app/operator/accounts?plan=pro&q=ANN"));
    assert!(pro.contains(EMAIL) && pro.contains("0 of 100") && !pro.contains("local@localhost"), "{pro}");
    assert!(text(&ann.get("/app/operator/accounts?q=nobody@nowhere")).contains("No account matches."));

    set_role("user");
    assert_eq!(ann.get("/app/operator").status, 403, "the role was taken away");
}
