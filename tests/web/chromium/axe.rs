//! axe-core on the current page: obstacles for people with a screen reader, with only a keyboard or with weak
//! eyesight.

use serde_json::Value;

use crate::support::browser::Browser;
use crate::support::npm::packages;
use crate::support::tier::is_all;

const RELEASE: &str = "axe-core@4.10.3";
/// Colours change gradually, and a colour in between may have too little contrast.
pub(super) const AT_REST: &str = "!document.getAnimations().some((one) => one instanceof CSSTransition)";

/// The source of axe-core, which comes from npm. Without it, as in all tiers but `all`, nothing is checked.
pub(super) struct Axe(Option<String>);

/// The findings on one page.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Findings of any impact: rule, impact, place, correction.
    pub(super) faults: Vec<String>,
    /// The number of passed rules.
    pub(super) kept: u64,
}

impl Axe {
    pub(super) fn load() -> Self {
        let read = || {
            let file = packages("axe", &[RELEASE]).file("node_modules/axe-core/axe.min.js");
            std::fs::read_to_string(file).unwrap()
        };
        Self(is_all().then(read))
    }

    /// Checks the current page.
    pub(super) fn look(&self, browser: &Browser) -> Findings {
        self.look_by(browser, "{}")
    }

    /// Checks the current page with some rules.
    fn look_by(&self, browser: &Browser, rules: &str) -> Findings {
        if browser.run("return typeof window.axe", &[]) != "object" {
            browser.run(self.0.as_deref().unwrap(), &[]);
        }
        let script = format!(
            "const found = await axe.run(document, {{ ...{rules}, resultTypes: ['violations'] }});
             const faults = found.violations.flatMap(({{ id, impact, help, nodes }}) => nodes.map((node) =>
                 `${{id}} (${{impact}}): ${{help}}, at ${{node.target.join(' ')}}: ${{node.failureSummary}}`));
             return {{ faults, kept: found.passes.length }};"
        );
        browser.wait_until(AT_REST);
        let found = browser.run_async(&script, &[]);
        let faults = found["faults"].as_array().into_iter().flatten();
        let faults = faults.filter_map(Value::as_str).map(str::to_owned).collect();
        Findings { faults, kept: found["kept"].as_u64().unwrap_or_default() }
    }

    /// Asserts that the current page has no finding.
    pub(super) fn approves(&self, browser: &Browser, page: &str) -> Findings {
        if self.0.is_none() {
            return Findings::default();
        }
        let found = self.look(browser);
        assert!(found.faults.is_empty(), "{page}: {:#?}", found.faults);
        // A page that has not loaded would have no finding either.
        assert!(found.kept > 10, "{page}: {found:?}");
        found
    }

    /// Asserts that all texts of the current page have enough contrast.
    pub(super) fn can_read(&self, browser: &Browser, page: &str) {
        if self.0.is_none() {
            return;
        }
        let found = self.look_by(browser, "{ runOnly: ['color-contrast'] }");
        assert!(found.faults.is_empty(), "{page}: {:#?}", found.faults);
        assert_eq!(found.kept, 1, "{page}: {found:?}");
    }

    /// Asserts that a defect is found, since a test that cannot fail proves nothing.
    pub(super) fn sees_a_fault(&self, browser: &Browser) {
        if self.0.is_none() {
            return;
        }
        browser.run(
            "const box = document.createElement('input'); box.id = 'fault'; document.querySelector('main').append(box)",
            &[],
        );
        let found = self.look(browser);
        assert!(found.faults.iter().any(|text| text.starts_with("label ")), "{found:?}");
        browser.run("document.querySelector('#fault').remove()", &[]);
    }
}
