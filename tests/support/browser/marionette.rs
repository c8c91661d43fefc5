//! Firefox, and one session of Marionette in it: the protocol by which geckodriver drives Firefox. Its commands are those of
//! WebDriver (<https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html>).

use std::cell::{Cell, RefCell};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::super::folder::Folder;
use super::super::server::PATIENCE;
use super::super::waiting::awaited;
use super::driver::{Driver, DriverError, LONGEST};

/// The names of the program: in Debian, and elsewhere.
const PROGRAMS: [&str; 2] = ["firefox-esr", "firefox"];
/// Firefox chooses a free port and writes it into this file of the profile.
const PORT_FILE: &str = "MarionetteActivePort";
const PREFERENCES: &str = "user_pref(\"marionette.port\", 0);\n";
/// Returns the messages of pages since the last time, as chromedriver does. Firefox's own parts have other addresses.
const CONSOLE: &str = "
    const { nsIScriptError } = Components.interfaces;
    const messages = Services.console.getMessageArray();
    Services.console.reset();
    const level = (flags) => (flags & nsIScriptError.infoFlag ? 'INFO' : flags & nsIScriptError.warningFlag ? 'WARNING' : 'SEVERE');
    return messages.filter((one) => one instanceof nsIScriptError && /^https?:/.test(one.sourceName))
        .map((one) => ({ level: level(one.flags), message: `${one.sourceName}:${one.lineNumber} ${one.errorMessage}` }));";

pub(super) struct Marionette {
    // It ends after the connection.
    _firefox: Firefox,
    wire: RefCell<BufReader<TcpStream>>,
    sent: Cell<u64>,
}

/// The process. It ends with its children when this is dropped.
struct Firefox(Child);

impl Firefox {
    /// Returns `None` if there is no such program.
    fn start(profile: &Folder) -> Option<Self> {
        std::fs::write(profile.path("user.js"), PREFERENCES).unwrap();
        let spawn = |program: &&str| {
            let mut command = Command::new(program);
            command.args([
                "--headless",
                "--no-remote",
                "--marionette",
                "--remote-allow-system-access",
                "--profile",
            ]);
            command.arg(profile.path("")).env("HOME", profile.path("")).process_group(0);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            match command.spawn() {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                child => Some(Self(child.expect("Firefox cannot be started"))),
            }
        };
        PROGRAMS.iter().find_map(spawn)
    }

    /// Waits for the port on which it listens.
    fn port(&mut self, profile: &Folder) -> u16 {
        awaited("Firefox listens", || {
            let ended = self.0.try_wait().unwrap();
            assert!(ended.is_none(), "Firefox has ended: {ended:?}");
            let port = std::fs::read_to_string(profile.path(PORT_FILE)).unwrap_or_default();
            port.trim().parse().map_err(|_| port)
        })
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

impl Marionette {
    /// Returns `None` if there is no Firefox.
    pub(super) fn start(profile: &Folder) -> Option<Self> {
        let mut firefox = Firefox::start(profile)?;
        let wire = TcpStream::connect(("127.0.0.1", firefox.port(profile))).unwrap();
        wire.set_read_timeout(Some(LONGEST)).unwrap();
        let driver = Self { _firefox: firefox, wire: RefCell::new(BufReader::new(wire)), sent: Cell::new(0) };
        let greeting = driver.message();
        assert_eq!(greeting["marionetteProtocol"], 3, "{greeting}");
        let patience = PATIENCE.as_millis();
        let timeouts = json!({"script": patience, "pageLoad": patience, "implicit": 0});
        driver.send("WebDriver:NewSession", &json!({"timeouts": timeouts})).expect("no session begins");
        Some(driver)
    }

    /// Sends a command and returns its result.
    fn send(&self, name: &str, parameters: &Value) -> Result<Value, DriverError> {
        let id = self.sent.get() + 1;
        self.sent.set(id);
        let command = json!([0, id, name, parameters]).to_string();
        write!(self.wire.borrow_mut().get_mut(), "{}:{command}", command.len()).unwrap();
        let mut answer = self.message();
        assert_eq!((&answer[0], &answer[1]), (&json!(1), &json!(id)), "{answer}");
        let word = |name: &str| answer[2][name].as_str().unwrap_or_default().to_owned();
        if !answer[2].is_null() {
            return Err(DriverError { code: word("error"), message: word("message") });
        }
        // A list comes alone.
        let mut result = answer[3].take();
        Ok(if result.is_object() { result["value"].take() } else { result })
    }

    /// Reads a message: its length, a colon, and JSON.
    fn message(&self) -> Value {
        let (mut wire, mut length) = (self.wire.borrow_mut(), Vec::new());
        wire.read_until(b':', &mut length).expect("Firefox does not answer");
        let length: usize = String::from_utf8_lossy(&length).trim_end_matches(':').parse().unwrap();
        let mut message = vec![0; length];
        wire.read_exact(&mut message).unwrap();
        serde_json::from_slice(&message).unwrap()
    }

    /// Returns the new messages of the console, which only the browser's own scripts can read.
    fn console(&self) -> Result<Value, DriverError> {
        self.send("Marionette:SetContext", &json!({"value": "chrome"}))?;
        let messages = self.send("WebDriver:ExecuteScript", &json!({"script": CONSOLE, "args": []}));
        self.send("Marionette:SetContext", &json!({"value": "content"}))?;
        messages
    }
}

impl Driver for Marionette {
    fn get(&self, path: &str) -> Result<Value, DriverError> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["url"] => self.send("WebDriver:GetCurrentURL", &json!({})),
            ["element", id, "text"] => self.send("WebDriver:GetElementText", &json!({"id": id})),
            ["element", id, "displayed"] => self.send("WebDriver:IsElementDisplayed", &json!({"id": id})),
            ["element", id, "attribute", name] => {
                self.send("WebDriver:GetElementAttribute", &json!({"id": id, "name": name}))
            }
            _ => panic!("no command of Marionette for GET {path} yet"),
        }
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, DriverError> {
        let parts: Vec<&str> = path.split('/').collect();
        let about = |id: &str| {
            let mut body = body.clone();
            body["id"] = id.into();
            body
        };
        match parts[..] {
            ["url"] => self.send("WebDriver:Navigate", body),
            ["elements"] => self.send("WebDriver:FindElements", body),
            ["element", id, "click"] => self.send("WebDriver:ElementClick", &about(id)),
            ["element", id, "clear"] => self.send("WebDriver:ElementClear", &about(id)),
            ["element", id, "value"] => self.send("WebDriver:ElementSendKeys", &about(id)),
            ["execute", "sync"] => self.send("WebDriver:ExecuteScript", body),
            ["execute", "async"] => self.send("WebDriver:ExecuteAsyncScript", body),
            ["se", "log"] if body["type"] == "browser" => self.console(),
            ["se", "log"] => Ok(json!([])),
            _ => panic!("no command of Marionette for POST {path} yet"),
        }
    }
}
