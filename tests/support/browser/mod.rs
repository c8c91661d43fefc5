//! A real browser: headless Chromium, driven through chromedriver (W3C WebDriver over HTTP and JSON).
//!
//! One runs at a time; it is gone when its [`Browser`] is dropped, also when the test fails. It resolves no names but
//! `localhost`: what a page asks elsewhere fails, and shows up in [`Browser::requests`] and [`Browser::console`].

mod driver;
mod element;
mod traffic;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::folder::Folder;
use super::server::PATIENCE;
use driver::{Driver, DriverError};
pub(crate) use element::Element;
use traffic::Traffic;
pub(crate) use traffic::{Message, WebRequest};

/// How often a condition is looked at.
const PACE: Duration = Duration::from_millis(25);
/// Two browsers at once would only slow each other down, and take twice the memory.
static TURN: Mutex<()> = Mutex::new(());

/// A browser with one window.
pub(crate) struct Browser {
    driver: Driver,
    traffic: RefCell<Traffic>,
    // After the driver, so that the browser has let go of it; and the next one's turn comes last.
    _profile: Folder,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts one, with an empty profile and a window of 1280 by 1000.
    pub(crate) fn start() -> Self {
        let turn = TURN.lock();
        let profile = Folder::new();
        let driver = Driver::start(&capabilities(&profile));
        let browser = Self { driver, traffic: RefCell::default(), _profile: profile, _turn: turn };
        // The browser's own first page has asked for things: they are no page's of ours.
        browser.open("about:blank");
        browser.read_traffic();
        browser.traffic.take();
        browser
    }

    /// Opens an address and waits until the page has loaded.
    pub(crate) fn open(&self, url: &str) {
        self.post("url", &json!({"url": url}));
    }

    /// The address that is shown.
    pub(crate) fn url(&self) -> String {
        text(&self.get("url"))
    }

    pub(crate) fn title(&self) -> String {
        text(&self.get("title"))
    }

    /// The first element that fits the CSS selector; waits for it.
    pub(crate) fn find(&self, selector: &str) -> Element<'_> {
        self.wait(&format!("an element {selector}"), || self.find_all(selector).into_iter().next())
    }

    /// All that fit the CSS selector now.
    pub(crate) fn find_all(&self, selector: &str) -> Vec<Element<'_>> {
        let found = self.post("elements", &by_css(selector));
        found.as_array().unwrap().iter().map(|element| Element::new(self, element)).collect()
    }

    /// Clicks the first element that fits, as soon as it can be clicked.
    pub(crate) fn click(&self, selector: &str) {
        self.wait(&format!("a click on {selector}"), || {
            self.find_all(selector).first().is_some_and(|element| element.try_click().is_ok()).then_some(())
        });
    }

    /// Types into the first element that fits, after what stands there; waits for it.
    pub(crate) fn type_into(&self, selector: &str, keys: &str) {
        self.find(selector).type_keys(keys);
    }

    /// Runs the body of a function in the page and gives what it returns; `arguments[0]` is the first of `with`.
    pub(crate) fn run(&self, script: &str, with: &[Value]) -> Value {
        self.post("execute/sync", &json!({"script": script, "args": with}))
    }

    /// Runs the body of an async function in the page and gives what it comes to.
    pub(crate) fn run_async(&self, script: &str, with: &[Value]) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; (async (...given) => {{ {script} }})(...arguments)\
             .then(value => done({{value}}), error => done({{error: String(error)}}));"
        );
        let end = self.post("execute/async", &json!({"script": script, "args": with}));
        assert!(end.get("error").is_none(), "the script failed: {}", end["error"]);
        end["value"].clone()
    }

    /// Waits until `look` gives something.
    pub(crate) fn wait<T>(&self, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look() {
                return found;
            }
            if Instant::now() >= until {
                panic!("{what}: it does not come\n{}", self.scene());
            }
            std::thread::sleep(PACE);
        }
    }

    /// Waits until a JavaScript expression is true.
    pub(crate) fn wait_until(&self, expression: &str) {
        let script = format!("return Boolean({expression})");
        self.wait(expression, || (self.run(&script, &[]) == true).then_some(()));
    }

    /// All that the console said since the start.
    pub(crate) fn console(&self) -> Vec<Message> {
        self.read_traffic();
        self.traffic.borrow().console.clone()
    }

    /// The console's messages that a person would see as errors or warnings.
    pub(crate) fn complaints(&self) -> Vec<Message> {
        self.console().into_iter().filter(Message::is_complaint).collect()
    }

    /// All that pages asked for since the start.
    pub(crate) fn requests(&self) -> Vec<WebRequest> {
        self.read_traffic();
        self.traffic.borrow().requests.clone()
    }

    /// Those of them that went, or would have gone, to another place than `origin`.
    pub(crate) fn requests_outside(&self, origin: &str) -> Vec<WebRequest> {
        self.requests().into_iter().filter(|request| !request.is_of(origin)).collect()
    }

    /// A picture of the window, as a PNG file.
    pub(crate) fn screenshot(&self, file: &Path) {
        let picture = BASE64_STANDARD.decode(text(&self.get("screenshot"))).unwrap();
        std::fs::write(file, picture).unwrap();
    }

    /// Makes the page's part of the window so many pixels wide and high, as a phone or a screen would.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Whether the reader's system asks pages for a dark look.
    pub(crate) fn prefer_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", &features);
    }

    /// Sends a command of the DevTools protocol.
    pub(crate) fn command(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": parameters}))
    }

    fn read_traffic(&self) {
        let log = |kind: &str| self.post("se/log", &json!({"type": kind}));
        self.traffic.borrow_mut().add(&log("browser"), &log("performance"));
    }

    /// What a failed test shows.
    fn scene(&self) -> String {
        let body = self.run("return document.body ? document.body.innerText.slice(0, 3000) : ''", &[]);
        format!("--- at {}\n{}\n--- console\n{:#?}", self.url(), text(&body), self.complaints())
    }

    fn get(&self, path: &str) -> Value {
        expected(self.driver.get(path))
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        expected(self.driver.post(path, body))
    }
}

fn expected(answer: Result<Value, DriverError>) -> Value {
    answer.unwrap_or_else(|error| panic!("the browser refuses: {error:?}"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn by_css(selector: &str) -> Value {
    json!({"using": "css selector", "value": selector})
}

fn capabilities(profile: &Folder) -> Value {
    let profile = format!("--user-data-dir={}", profile.path("profile"));
    json!({"capabilities": {"alwaysMatch": {
        "browserName": "chrome",
        "acceptInsecureCerts": true,
        "timeouts": {"script": PATIENCE.as_millis(), "pageLoad": PATIENCE.as_millis(), "implicit": 0},
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "goog:chromeOptions": {"args": [
            profile,
            "--headless=new",
            "--window-size=1280,1000",
            "--lang=en",
            // Tests run as any user, root included, in small containers too.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--renderer-process-limit=2",
            "--js-flags=--max-old-space-size=512",
            // Only what the page does is to be seen.
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-extensions",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
        ]},
    }}})
}
