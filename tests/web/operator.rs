//! The operator's pages over HTTP.

use serde_json::json;

use super::person::{Person, text};
use crate::support::awaited;
use crate::support::server::Setup;

const EMAIL: &str = "ann@example.org";

/// Returns the platforms of the table from top to bottom.
fn platforms(page: &str) -> Vec<&str> {
    let table = page.split("<table class=\"health\">").nth(1).unwrap_or_default();
    table.split("<th scope=\"row\">").skip(1).filter_map(|row| row.split('<').next()).collect()
}

/// Returns the value of a figure of the load.
fn figure<'p>(page: &'p str, name: &str) -> &'p str {
    let tile = page.split(&format!(">{name}</dt>")).nth(1).unwrap_or_else(|| panic!("{name}: {page}"));
    tile.split("<span class=\"figure\">").nth(1).and_then(|value| value.split('<').next()).unwrap()
}

#[test]
fn only_operators_see_the_operator_pages() {
    let server = Setup::new().all_modules().start();
    let ann = Person::signed_in(&server, EMAIL, "pro");
    assert_eq!(ann.get("/app/operator").status, 403);
    let set_role = |role: &str| server.cli(&["account", "set-role", "--email", EMAIL, "--role", role]);
    set_role("operator");
    for _ in 0..3 {
        let begun = server.post(&json!({"type": "username", "query": "everybody"})).json();
        server.finished(begun["run_id"].as_str().unwrap());
    }

    let page = text(&ann.get("/app/operator"));
    assert!(page.contains("1–100 of "), "{page}");
    assert_eq!(platforms(&page).len(), 100);
    // The modules that were asked are healthy; the others come before them.
    let well = text(&ann.get("/app/operator?health=ok"));
    let names: Vec<String> = platforms(&well).into_iter().map(str::to_lowercase).collect();
    assert!(names.len() == 100 && names.is_sorted(), "{names:?}");
    assert!(platforms(&page)[0] != platforms(&well)[0]);
    let found = text(&ann.get("/app/operator?q=GITHUB&type=username"));
    assert!(platforms(&found).contains(&"GitHub") && found.contains("100%"), "{found}");
    let off = text(&ann.get("/app/operator?q=reddit&type=username"));
    assert!(off.contains("<small>2026-08-06: Reddit ended its JSON"), "{off}");
    let oldest = text(&ann.get("/app/operator?q=hashnode"));
    assert!(oldest.contains("<td>list 2026-03-09</td>"), "{oldest}");
    let second = text(&ann.get("/app/operator?page=2"));
    assert!(second.contains("101–200 of ") && platforms(&second) != platforms(&page));
    let last = text(&ann.get("/app/operator?page=999"));
    assert!(!platforms(&last).is_empty() && !last.contains("rel=\"next\""));
    assert!(text(&ann.get("/app/operator?q=%00nothing")).contains("No module matches."));

    // The end of a run is visible before its driver has ended, and an answer before its request has.
    let load = awaited("no run is driven, and only this request runs", || {
        let load = text(&ann.get("/app/operator/load"));
        let is_quiet = figure(&load, "running searches") == "0"
            && figure(&load, "running requests").split(' ').next() == Some("1");
        if is_quiet { Ok(load) } else { Err(load) }
    });
    assert_eq!(figure(&load, "searches since the start"), "3", "{load}");
    assert!(load.contains("data-part=\"load\"") && !page.contains("everybody"), "{load}");

    let accounts = text(&ann.get("/app/operator/accounts"));
    assert!(accounts.contains(EMAIL) && accounts.contains("3 of unlimited"), "{accounts}");
    let pro = text(&ann.get("/app/operator/accounts?plan=pro&q=ANN"));
    assert!(pro.contains(EMAIL) && pro.contains("0 of 100") && !pro.contains("local@localhost"), "{pro}");
    assert!(text(&ann.get("/app/operator/accounts?q=nobody@nowhere")).contains("No account matches."));

    set_role("user");
    assert_eq!(ann.get("/app/operator").status, 403, "the role was taken away");
}
