//! A real browser: headless Chromium, driven through chromedriver.
//!
//! One browser runs at a time, and ends when its [`Browser`] is dropped, also after a failed test. Chromium resolves no
//! name but `localhost`: requests to other hosts fail, and appear in [`Browser::requests`] and [`Browser::console`].

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
use driver::{Chromedriver, DriverError};
pub(crate) use element::Element;
use traffic::Traffic;
pub(crate) use traffic::{Message, WebRequest};

/// Pause between two checks of a condition.
const PACE: Duration = Duration::from_millis(25);
/// Two browsers at once would slow each other down and need twice the memory.
static TURN: Mutex<()> = Mutex::new(());

/// A browser with one window.
pub(crate) struct Browser {
    driver: Chromedriver,
    traffic: RefCell<Traffic>,
    // Dropped after the driver, when the browser no longer uses it, and before the next browser may start.
    _profile: Folder,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts Chromium with an empty profile and a window of 1280 by 1000.
    pub(crate) fn start() -> Self {
        let (turn, profile) = (TURN.lock(), Folder::new());
        let driver = Chromedriver::start(&capabilities(&profile));
        let browser = Self { driver, traffic: RefCell::default(), _profile: profile, _turn: turn };
        // Some versions do not give a window the focus without a screen, and `focus()` then causes no event.
        browser.command("Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
        // Requests of the browser's own start page do not count.
        browser.open("about:blank");
        browser.read_traffic();
        browser.traffic.take();
        browser
    }

    /// Opens an address and waits until the page has loaded.
    pub(crate) fn open(&self, url: &str) {
        self.post("url", &json!({"url": url}));
    }

    /// Returns the current address.
    pub(crate) fn url(&self) -> String {
        text(&self.get("url"))
    }

    /// Waits for the first element that matches the CSS selector, and returns it.
    pub(crate) fn find(&self, selector: &str) -> Element<'_> {
        self.wait(&format!("an element {selector}"), || self.find_all(selector).into_iter().next())
    }

    /// Returns all elements that match the CSS selector now.
    pub(crate) fn find_all(&self, selector: &str) -> Vec<Element<'_>> {
        let found = self.post("elements", &by_css(selector));
        found.as_array().unwrap().iter().map(|element| Element::new(self, element)).collect()
    }

    /// Clicks the first element that matches, as soon as it can be clicked.
    pub(crate) fn click(&self, selector: &str) {
        self.wait(&format!("a click on {selector}"), || {
            self.find_all(selector).first().is_some_and(|element| element.try_click().is_ok()).then_some(())
        });
    }

    /// Waits for the first element that matches, and types after its text.
    pub(crate) fn type_into(&self, selector: &str, keys: &str) {
        self.find(selector).type_keys(keys);
    }

    /// Runs the body of a function in the page and returns its value. `arguments[0]` is the first of `with`.
    pub(crate) fn run(&self, script: &str, with: &[Value]) -> Value {
        self.post("execute/sync", &json!({"script": script, "args": with}))
    }

    /// Runs the body of an async function in the page and returns its value.
    pub(crate) fn run_async(&self, script: &str, with: &[Value]) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; (async (...given) => {{ {script} }})(...arguments)\
             .then(value => done({{value}}), error => done({{error: String(error)}}));"
        );
        let end = self.post("execute/async", &json!({"script": script, "args": with}));
        assert!(end.get("error").is_none(), "the script failed: {}", end["error"]);
        end["value"].clone()
    }

    /// Waits until `look` returns a value.
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

    /// Returns all console messages since the start.
    pub(crate) fn console(&self) -> Vec<Message> {
        self.read_traffic();
        self.traffic.borrow().console.clone()
    }

    /// Returns the errors and warnings of the console.
    pub(crate) fn complaints(&self) -> Vec<Message> {
        self.console().into_iter().filter(Message::is_complaint).collect()
    }

    /// Returns all requests of pages since the start.
    pub(crate) fn requests(&self) -> Vec<WebRequest> {
        self.read_traffic();
        self.traffic.borrow().requests.clone()
    }

    /// Returns the requests to another origin than `origin`, also those that failed.
    pub(crate) fn requests_outside(&self, origin: &str) -> Vec<WebRequest> {
        self.requests().into_iter().filter(|request| !request.is_of(origin)).collect()
    }

    /// Writes a screenshot of the window as a PNG file.
    pub(crate) fn screenshot(&self, file: &Path) {
        let picture = BASE64_STANDARD.decode(text(&self.get("screenshot"))).unwrap();
        std::fs::write(file, picture).unwrap();
    }

    /// Sets the size of the page in pixels.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Sets whether pages see a preference for dark colours.
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

    /// Returns what a failed test shows.
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
            // Tests run as any user, also as root, and in small containers.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--renderer-process-limit=2",
            "--js-flags=--max-old-space-size=512",
            // Disables requests of the browser's own.
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
