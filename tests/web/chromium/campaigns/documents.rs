//! Pages that people read outside the web app: reports in HTML, and the reference where requests can be tried.

use super::super::Desk;
use super::super::axe::Axe;
use crate::support::folder::Folder;
use crate::support::server::Setup;

#[test]
fn reports_and_references_are_accessible_in_light_and_in_dark() {
    let (desk, axe, folder) = (Desk::new(Setup::new()), Axe::load(), Folder::new());
    let reports = [("username", "everybody"), ("domain", "example.com")]
        .map(|(kind, query)| report(&desk, &folder, kind, query));
    for scheme in ["light", "dark"] {
        desk.browser.prefer_dark(scheme == "dark");
        for report in &reports {
            desk.browser.open(&format!("file://{report}"));
            axe.approves(&desk.browser, &format!("{report}, {scheme}"));
            desk.browser.run("document.querySelectorAll('details').forEach((at) => { at.open = true })", &[]);
            axe.approves(&desk.browser, &format!("{report}, opened, {scheme}"));
        }
        swagger_ui(&desk, &axe, scheme);
    }
    // In the dark only, since axe takes long for all operations at once: in light, ReDoc's own colours are used.
    desk.open("/redoc");
    desk.browser.find("[id^=operation] h5[aria-level]");
    axe.approves(&desk.browser, "ReDoc, dark");
}

/// Writes the report of a search as a file, and returns its path.
fn report(desk: &Desk, folder: &Folder, kind: &str, query: &str) -> String {
    let id = desk.server.search(kind, query);
    desk.server.finished(&id);
    let path = folder.path(&format!("{kind}.html"));
    let report = desk.server.get(&format!("/v1/searches/{id}/export?format=html"));
    assert_eq!(report.status, 200, "{report}");
    std::fs::write(&path, report.body).unwrap();
    path
}

/// The list, an operation that is tried with a body, one with parameters, and the dialog for the key.
fn swagger_ui(desk: &Desk, axe: &Axe, scheme: &str) {
    let browser = &desk.browser;
    let approve = |what: &str| axe.approves(browser, &format!("Swagger UI, {what}, {scheme}"));
    desk.open("/docs");
    browser.find(".opblock");
    approve("closed");
    for operation in [".opblock-post", ".opblock-get"] {
        let operation = format!("{operation}:has([data-path='/v1/searches'])");
        browser.click(&format!("{operation} .opblock-summary-control"));
        browser.click(&format!("{operation} .try-out__btn"));
        browser.find(&format!("{operation} .execute"));
        browser.find(&format!("{operation} pre.microlight[tabindex]"));
    }
    approve("opened");
    browser.click(".btn.authorize");
    browser.find(".modal-ux [aria-label]");
    approve("with the dialog for the key");
}
