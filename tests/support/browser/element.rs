//! One element of a page.

use serde_json::{Value, json};

use super::driver::DriverError;
use super::{Browser, expected, text};

/// The member that identifies an element in WebDriver's JSON (W3C WebDriver, section 12.1).
const NAME: &str = "element-6066-11e4-a52e-4f735466cecf";

/// An element that was found. It is stale when the page replaces it.
pub(crate) struct Element<'a> {
    browser: &'a Browser,
    id: String,
}

impl<'a> Element<'a> {
    pub(super) fn new(browser: &'a Browser, found: &Value) -> Self {
        Self { browser, id: text(&found[NAME]) }
    }

    /// Scrolls to it and clicks it.
    pub(super) fn try_click(&self) -> Result<(), DriverError> {
        self.browser.driver.post(&self.path("click"), &json!({})).map(drop)
    }

    /// Types after the existing text. Special keys are those of WebDriver: `\u{e007}` is Enter.
    pub(crate) fn type_keys(&self, keys: &str) {
        self.browser.wait("to type", || {
            match self.browser.driver.post(&self.path("value"), &json!({"text": keys})) {
                Ok(_) => Some(()),
                Err(error) if is_in_the_way(&error) => None,
                Err(error) => panic!("typing fails: {error:?}"),
            }
        });
    }

    /// Empties an input.
    pub(crate) fn clear(&self) {
        self.browser.post(&self.path("clear"), &json!({}));
    }

    /// Returns its visible text.
    pub(crate) fn text(&self) -> String {
        text(&self.browser.get(&self.path("text")))
    }

    /// Returns an attribute of its markup.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.browser.get(&self.path(&format!("attribute/{name}"))).as_str().map(str::to_owned)
    }

    /// Returns a property as scripts see it: `value`, `checked`.
    pub(crate) fn property(&self, name: &str) -> Value {
        self.browser.get(&self.path(&format!("property/{name}")))
    }

    /// Returns whether it is visible.
    pub(crate) fn is_shown(&self) -> bool {
        expected(self.browser.driver.get(&self.path("displayed"))) == true
    }

    /// Returns it as an argument of [`Browser::run`].
    pub(crate) fn as_argument(&self) -> Value {
        json!({NAME: self.id})
    }

    fn path(&self, of: &str) -> String {
        format!("element/{}/{of}", self.id)
    }
}

/// Returns whether the error is temporary, because the page is being drawn or scrolled.
fn is_in_the_way(error: &DriverError) -> bool {
    ["element click intercepted", "element not interactable"].contains(&error.code.as_str())
}
