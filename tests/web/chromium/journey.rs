//! From the set-up link to the end of the session.

use std::process::Command;

use serde_json::json;

use super::Desk;
use crate::support::server::Setup;
use crate::web::person::PASSWORD;

const EMAIL: &str = "ann@example.com";

#[test]
fn a_user_signs_in_creates_a_key_searches_and_signs_out() {
    let desk = Desk::new(Setup::new().all_modules());
    // From the start page, without an account.
    desk.open("/");
    desk.browser.click("a.enter");
    desk.arrives_at("/app/sign-in");
    desk.sign_up(EMAIL, "pro");
    makes_a_key_that_works(&desk);
    let run = searches_to_the_end(&desk);
    deletes(&desk, &run);
    desk.is_clean();
    others_cannot_act_for_her(&desk);
    leaves(&desk);
}

/// The key is shown once, and the command beside it works unchanged.
fn makes_a_key_that_works(desk: &Desk) {
    let browser = &desk.browser;
    desk.open("/app/keys");
    browser.type_into("input[name=label]", "laptop");
    // A double click creates one key; a second one would never be shown.
    browser.run(
        "const button = document.querySelector('form:has(input[name=label]) button'); button.click(); button.click()",
        &[],
    );
    desk.reads("sl_live_");
    let shown = browser.find("main").text();
    let at = shown.find("sl_live_").unwrap();
    let key = shown[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap().to_owned();
    let line = browser.run(
        "return [...document.querySelectorAll('code, pre')].map((at) => at.textContent).find((text) => text.includes('curl '))",
        &[],
    );
    let line = line
        .as_str()
        .unwrap_or_else(|| panic!("no line with curl: {shown}"))
        .replace("curl ", "curl -sS -m 60 ");
    let output = Command::new("bash").args(["-c", &line]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("run_id"),
        "{line}\n{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(desk.server.request("GET", "/v1/me").key(&key).send().json()["tier"], "pro");
    // The key is not shown again; its last characters identify it.
    desk.open("/app/keys");
    assert_eq!(browser.find_all("main tbody tr").len(), 1);
    let listed = browser.find("main").text();
    assert!(
        !listed.contains(&key) && listed.contains("laptop") && listed.contains(&key[key.len() - 4..]),
        "{listed}"
    );
}

fn searches_to_the_end(desk: &Desk) -> String {
    let run = desk.search("everybody");
    let results = desk.draws_all();
    let id = run.rsplit('/').next().unwrap();
    let total = desk.browser.find("[data-part=found]").text();
    assert_eq!(results.to_string(), total, "{id}");
    assert!(total.parse::<usize>().unwrap() > 100, "{total}");
    // No result is shown twice, and every picture is a thumbnail of the service.
    assert_eq!(desk.browser.find_all("main img:not([src*='/thumbnails/'])").len(), 0);
    let outside = desk.browser.requests_outside(&desk.origin);
    assert!(outside.is_empty(), "{outside:#?}");
    // Field names are not visible text.
    desk.browser.type_into("#filter", "created_at");
    desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length === 0");
    desk.browser.run("document.querySelector('#filter').value = ''", &[]);
    desk.browser.type_into("#filter", "github");
    desk.browser.wait_until(
        "(() => {
            const found = document.querySelectorAll('[id^=result-]').length;
            return found > 0 && found < 50;
        })()",
    );
    assert!(desk.browser.find("[data-part=results]").text().contains("GitHub"));
    run
}

fn deletes(desk: &Desk, run: &str) {
    desk.open("/app/searches?text=everyb");
    desk.browser.click(&format!("a[href='{run}']"));
    desk.arrives_at(run);
    desk.browser.click("#delete > summary");
    desk.browser.click("#delete form button");
    desk.arrives_at("/app/searches");
    let main = desk.browser.find("main").text();
    assert!(!main.contains("everybody"), "{main}");
}

/// Another site sends a form and frames the page.
fn others_cannot_act_for_her(desk: &Desk) {
    let browser = &desk.browser;
    let keys = |desk: &Desk| {
        desk.open("/app/keys");
        desk.browser.find_all("main tbody tr").len()
    };
    let before = keys(desk);
    let csrf = browser.find("input[name=csrf]").property("value");
    // For the browser, `localhost` is another site than this address, and its page sets no policy.
    let elsewhere = format!("http://localhost:{}/v1/health", desk.server.address.port());
    browser.open(&elsewhere);
    let form = "const form = document.createElement('form'); form.method = 'post'; form.action = arguments[0];
        for (const [name, value] of Object.entries(arguments[1])) {
            const field = document.createElement('input'); field.name = name; field.value = value; form.append(field);
        }
        document.body.append(form); window.before = true; form.submit();";
    browser
        .run(form, &[json!(format!("{}/app/keys", desk.origin)), json!({"label": "theirs", "csrf": csrf})]);
    browser.wait_until("window.before === undefined && document.readyState === 'complete'");
    assert!(!browser.find("body").text().contains("sl_live_"));
    assert_eq!(keys(desk), before, "a form from elsewhere made a key");

    browser.open(&elsewhere);
    let heard = browser.complaints().len();
    let frame = "const frame = document.createElement('iframe'); frame.src = arguments[0]; document.body.append(frame)";
    browser.run(frame, &[json!(format!("{}/app/keys", desk.origin))]);
    browser.wait("the refusal to be framed", || {
        browser.complaints()[heard..]
            .iter()
            .any(|message| message.text.contains("frame-ancestors"))
            .then_some(())
    });
}

/// Signs out, and fails to sign in with a wrong password.
fn leaves(desk: &Desk) {
    desk.open("/app");
    desk.browser.click("form[action$='/app/sign-out'] button");
    desk.arrives_at("/app/sign-in");
    desk.sign_in(EMAIL, "wrong horse battery staple");
    assert!(desk.place().starts_with("/app/sign-in"), "{}", desk.place());
    desk.sign_in(EMAIL, PASSWORD);
    assert!(!desk.place().starts_with("/app/sign-in"), "{}", desk.place());
}
