//! One WebDriver session, a browser of our own, and the pages in it.
//!
//! Each page has an empty context of its own ([`super::contexts`]); where the way to them is closed (an endpoint that
//! hides the browser's port), a session is used for one page alone.

use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use serde_json::{Value, json};
use url::Url;

use super::capabilities::NOT_LOADED;
use super::client::{Client, Fault, is_local, nothing};
use super::contexts::Contexts;
use super::crew::Crew;
use super::egress::OwnPorts;
use super::roster::Claim;
use super::socket::Socket;

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
    contexts: Option<Contexts>,
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
            contexts: None,
            holding: Some(holding),
            pages: 0,
        };
        session.settle(&begun["capabilities"], proxy)?;
        Ok(session)
    }

    fn settle(&mut self, capabilities: &Value, proxy: &str) -> Result<(), Fault> {
        let home = self.client.get(&format!("{}/window", self.path), SHORT)?;
        self.home = home.as_str().unwrap_or_default().to_owned();
        let (own, bidi) = (self.own_address(capabilities), self.bidi_address(capabilities));
        if let Some(holding) = &mut self.holding {
            // The port of the browser's own, if it is on this machine.
            let local = own.as_ref().or(bidi.as_ref().filter(|_| self.client.is_local()));
            holding.note_open(local.and_then(Url::port));
        }
        let devtools = match own {
            Some(own) => self.devtools_address(&own),
            // A grid's.
            None => capabilities["se:cdp"].as_str().and_then(|url| Url::parse(url).ok()),
        };
        let by_devtools = || Some(Contexts::by_devtools(Socket::connect(&devtools?, SHORT).ok()?, proxy));
        let by_bidi = || Some(Contexts::by_bidi(Socket::connect(&bidi?, SHORT).ok()?));
        let contexts = by_devtools().or_else(by_bidi);
        // Not every connection that is offered is one to the browser itself.
        self.contexts = contexts.and_then(|mut contexts| {
            let tried = contexts.create(SHORT);
            tried.and_then(|context| contexts.dispose(&context, SHORT)).ok().map(|()| contexts)
        });
        Ok(())
    }

    /// Where a Chromium on this machine listens.
    fn own_address(&self, capabilities: &Value) -> Option<Url> {
        let debugger = capabilities["goog:chromeOptions"]["debuggerAddress"].as_str()?;
        Url::parse(&format!("http://{debugger}")).ok().filter(|_| self.client.is_local())
    }

    fn devtools_address(&self, own: &Url) -> Option<Url> {
        let version = self.client.json(own.join("json/version").ok().as_ref(), SHORT).ok()?;
        Url::parse(version["webSocketDebuggerUrl"].as_str()?).ok()
    }

    /// Where WebDriver BiDi is spoken. A driver elsewhere may name an address of its own machine.
    fn bidi_address(&self, capabilities: &Value) -> Option<Url> {
        let url = Url::parse(capabilities["webSocketUrl"].as_str()?).ok()?;
        (self.client.is_local() || !is_local(&url)).then_some(url)
    }

    /// Whether no page was opened so far.
    pub(super) fn is_new(&self) -> bool {
        self.pages == 0
    }

    /// Whether a page that hangs is closed like any other. Where it is, it must be: geckodriver waits for its answer to a
    /// script, for good, and does nothing else meanwhile, not even end the session.
    pub(super) fn outlives_a_hung_page(&self) -> bool {
        self.contexts.as_ref().is_some_and(|contexts| !contexts.has_devtools())
    }

    /// Whether the next page needs another session.
    pub(super) fn is_spent(&self) -> bool {
        self.pages >= if self.contexts.is_some() { MAX_PAGES } else { 1 }
    }

    /// Begins to load an address in an empty context.
    pub(super) fn open_page(&mut self, url: &Url, deadline: Instant) -> Result<Page, Fault> {
        let page = self.empty_page(deadline)?;
        self.pages += 1;
        if self.contexts.as_ref().is_some_and(Contexts::has_devtools) {
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
        let Some(contexts) = &mut self.contexts else { return Ok(Page { context: None }) };
        let context = contexts.create(left(deadline).min(SHORT)).map_err(|error| gone(&error))?;
        let page = contexts.create_page(&context, left(deadline).min(SHORT)).map_err(|error| gone(&error))?;
        self.post("window", &json!({"handle": page}), deadline)?;
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
        let (Some(context), Some(contexts)) = (page.context, &mut self.contexts) else { return Ok(()) };
        contexts.dispose(&context, left(deadline)).map_err(|error| gone(&error))?;
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
