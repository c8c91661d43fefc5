//! axe-core on the current page: obstacles for people with a screen reader, with only a keyboard or with weak
//! eyesight.

use crate::support::browser::Browser;
use crate::support::npm::packages;
use crate::support::tier::is_all;

const RELEASE: &str = "axe-core@4.10.3";
/// Colours change gradually, and a colour in between may have too little contrast.
pub(super) const AT_REST: &str = "!document.getAnimations().some((one) => one instanceof CSSTransition)";

/// The source of axe-core, which comes from npm. Without it, as in all tiers but `all`, nothing is checked.
pub(super) struct Axe(Option<String>);

impl Axe {
    pub(super) fn load() -> Self {
        let read = || {
            let file = packages("axe", &[RELEASE]).file("node_modules/axe-core/axe.min.js");
            std::fs::read_to_string(file).unwrap()
        };
        Self(is_all().then(read))
    }

    /// Returns what some rules find on the current page, of any impact, and the number of rules that it passes.
    fn look(&self, browser: &Browser, rules: &str) -> Option<(Vec<String>, u64)> {
        let source = self.0.as_deref()?;
        if browser.run("return typeof window.axe", &[]) != "object" {
            browser.run(source, &[]);
        }
        let script = format!(
            "const found = await axe.run(document, {{ ...{rules}, resultTypes: ['violations'] }});
             const faults = found.violations.flatMap(({{ id, impact, help, nodes }}) => nodes.map((node) =>
                 `${{id}} (${{impact}}): ${{help}}, at ${{node.target.join(' ')}}: ${{node.failureSummary}}`));
             return [faults, found.passes.length];"
        );
        browser.wait_until(AT_REST);
        Some(serde_json::from_value(browser.run_async(&script, &[])).unwrap())
    }

    fn finds_nothing(&self, browser: &Browser, page: &str, rules: &str, least: u64) {
        let Some((faults, passed)) = self.look(browser, rules) else { return };
        assert!(faults.is_empty(), "{page}: {faults:#?}");
        // A page that has not loaded would have no finding either.
        assert!(passed >= least, "{page}: {passed} rules");
    }

    /// Asserts that the current page has no finding.
    pub(super) fn approves(&self, browser: &Browser, page: &str) {
        self.finds_nothing(browser, page, "{}", 11);
    }

    /// Asserts that all texts of the current page have enough contrast.
    pub(super) fn can_read(&self, browser: &Browser, page: &str) {
        self.finds_nothing(browser, page, "{ runOnly: ['color-contrast'] }", 1);
    }

    /// Asserts that a defect is found, since a test that cannot fail proves nothing.
    pub(super) fn sees_a_fault(&self, browser: &Browser) {
        let box_without_label = "const box = document.createElement('input'); box.id = 'fault'; \
                                 document.querySelector('main').append(box)";
        browser.run(box_without_label, &[]);
        if let Some((faults, _)) = self.look(browser, "{}") {
            assert!(faults.iter().any(|text| text.starts_with("label ")), "{faults:?}");
        }
        browser.run("document.querySelector('#fault').remove()", &[]);
    }
}
