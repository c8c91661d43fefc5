//! One WebDriver session, a browser of our own, and the pages in it.
//!
//! Each page has an empty context: cookies, storage, cache and service workers end with it. Chromium makes
//! one in a few milliseconds ([`super::devtools`]); where that way is closed (Firefox, a grid that hides the
//! browser's port), a session is used for one page alone.

use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use serde_json::{Value, json};
use url::Url;

use super::capabilities::NOT_LOADED;
use super::client::{Client, Fault, nothing};
use super::crew::Crew;
use super::devtools::DevTools;
use super::egress::OwnPorts;
use super::roster::Claim;

/// Pages after which a browser is replaced: memory that it does not give back.
const MAX_PAGES: u32 = 100;
/// For what a living browser does at once.
const SHORT: Duration = Duration::from_secs(5);

/// See the file's head.
pub(super) struct Session {
    client: Arc<Client>,
    /// `/session/ID`.
    path: String,
    /// The window that keeps the browser open between pages.
    home: String,
    devtools: Option<DevTools>,
    proxy: String,
    /// `None` once it ends.
    holding: Option<Holding>,
    pages: u32,
}

/// What a session has of ours until its browser has ended.
pub(super) struct Holding {
    pub(super) claim: Claim,
    pub(super) crew: Arc<Crew>,
    pub(super) own: Arc<OwnPorts>,
    /// Of the browser's own, on this machine.
    pub(super) port: Option<u16>,
}

impl Holding {
    fn note_open(&mut self, port: Option<u16>) {
        self.claim.note_open();
        self.port = port;
        if let Some(port) = port {
            self.own.add(port);
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if let Some(port) = self.port {
            self.own.remove(port);
        }
    }
}

/// A page that was opened in it.
pub(super) struct Page {
    context: Option<String>,
}

impl Session {
    /// Takes over a session that an endpoint has begun: the value of its answer.
    pub(super) fn take_over(
        client: Arc<Client>,
        begun: &Value,
        proxy: &str,
        holding: Holding,
    ) -> Result<Self, Fault> {
        let Some(id) = begun["sessionId"].as_str().filter(|id| !id.is_empty()) else {
            return Err(Fault::Gone("its new session has no id".into()));
        };
        // From here on it ends where it is of no use.
        let mut session = Self {
            client,
            path: format!("/session/{id}"),
            home: String::new(),
            devtools: None,
            proxy: proxy.to_owned(),
            holding: Some(holding),
            pages: 0,
        };
        session.settle(&begun["capabilities"])?;
        Ok(session)
    }

    fn settle(&mut self, capabilities: &Value) -> Result<(), Fault> {
        let home = self.client.get(&format!("{}/window", self.path), SHORT)?;
        self.home = home.as_str().unwrap_or_default().to_owned();
        let debugger = capabilities["goog:chromeOptions"]["debuggerAddress"].as_str();
        let debugger = debugger
            .filter(|_| self.client.is_local())
            .and_then(|at| Url::parse(&format!("http://{at}")).ok());
        if let Some(holding) = &mut self.holding {
            holding.note_open(debugger.as_ref().and_then(Url::port));
        }
        let socket = match (debugger, capabilities["se:cdp"].as_str()) {
            (Some(at), _) => self
                .client
                .json(at.join("json/version").ok().as_ref(), SHORT)
                .ok()
                .and_then(|version| Url::parse(version["webSocketDebuggerUrl"].as_str()?).ok()),
            (None, Some(url)) => Url::parse(url).ok(),
            (None, None) => None,
        };
        self.devtools = socket.and_then(|url| DevTools::connect(&url, SHORT).ok());
        // Not every connection that is offered is one to the browser itself.
        if let Some(devtools) = &mut self.devtools {
            let tried = devtools.create_context(&self.proxy, SHORT);
            if tried.and_then(|context| devtools.dispose_context(&context, SHORT)).is_err() {
                self.devtools = None;
            }
        }
        Ok(())
    }

    /// Whether no page was opened so far.
    pub(super) fn is_new(&self) -> bool {
        self.pages == 0
    }

    /// Whether the next page needs another session.
    pub(super) fn is_spent(&self) -> bool {
        self.pages >= if self.devtools.is_some() { MAX_PAGES } else { 1 }
    }

    /// Begins to load an address in an empty context.
    pub(super) fn open_page(&mut self, url: &Url, deadline: Instant) -> Result<Page, Fault> {
        let page = self.empty_page(deadline)?;
        self.pages += 1;
        if page.context.is_some() {
            // Nothing is lost where the browser knows no such command.
            let _ = self.devtools_command("Network.enable", &nothing(), deadline);
            let _ = self.devtools_command("Network.setBlockedURLs", &json!({"urls": NOT_LOADED}), deadline);
        }
        match self.post("url", &json!({"url": url.as_str()}), deadline) {
            // A driver that waits all the same, for a page that does not come.
            Err(fault) if fault.is_hang() => Ok(page),
            Err(fault) => Err(fault),
            Ok(_) => Ok(page),
        }
    }

    fn empty_page(&mut self, deadline: Instant) -> Result<Page, Fault> {
        let Some(devtools) = &mut self.devtools else { return Ok(Page { context: None }) };
        let context =
            devtools.create_context(&self.proxy, left(deadline).min(SHORT)).map_err(|error| gone(&error))?;
        let target =
            devtools.create_page(&context, left(deadline).min(SHORT)).map_err(|error| gone(&error))?;
        self.post("window", &json!({"handle": target}), deadline)?;
        Ok(Page { context: Some(context) })
    }

    fn devtools_command(&self, command: &str, with: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": with}), deadline)
    }

    /// Runs the body of a function in the page.
    pub(super) fn run(&self, script: &str, with: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.post("execute/sync", &json!({"script": script, "args": with}), deadline)
    }

    /// The address that is shown, be it one that could not be loaded.
    pub(super) fn url(&self, deadline: Instant) -> Option<Url> {
        let url = self.client.get(&format!("{}/url", self.path), left(deadline)).ok()?;
        Url::parse(url.as_str()?).ok()
    }

    /// Forgets a page and all that it left behind.
    pub(super) fn close_page(&mut self, page: Page, deadline: Instant) -> Result<(), Fault> {
        let (Some(context), Some(devtools)) = (page.context, &mut self.devtools) else { return Ok(()) };
        devtools.dispose_context(&context, left(deadline)).map_err(|error| gone(&error))?;
        self.post("window", &json!({"handle": self.home}), deadline).map(drop)
    }

    fn post(&self, command: &str, body: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.client.post(&format!("{}/{command}", self.path), body, left(deadline))
    }
}

impl Drop for Session {
    /// Ends the browser, on a thread of its own: one that hangs takes long.
    fn drop(&mut self) {
        let Some(holding) = self.holding.take() else { return };
        let (client, path, crew) =
            (Arc::clone(&self.client), take(&mut self.path), Arc::clone(&holding.crew));
        let end = move || {
            // One that is gone already is as good.
            let _ = client.delete(&path, SHORT);
            drop(holding);
        };
        if let Err(error) = crew.start("browser-close", end) {
            warn!("no thread to end a browser: {error}");
        }
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

fn gone(error: &std::io::Error) -> Fault {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match error.kind() {
        TimedOut | WouldBlock => Fault::Late,
        _ => Fault::Gone(error.to_string()),
    }
}
