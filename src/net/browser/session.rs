//! One WebDriver session, which is one browser, and its pages.
//!
//! Each page has an empty context of its own ([`super::contexts`]). If the endpoint gives no access to contexts,
//! because it hides the browser's port, a session is used for one page only.

use std::mem::take;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use log::warn;
use serde_json::{Value, json};
use url::Url;

use super::capabilities::NOT_LOADED;
use super::client::{Client, Fault, nothing};
use super::contexts::Contexts;
use super::egress::OwnPorts;
use super::session_counts::Claim;
use super::socket::Socket;
use super::wait_group::WaitGroup;
use crate::base::address::is_loopback;

/// The body of a script that writes a page.
const WRITE_PAGE: &str = "document.open(); document.write(arguments[0]); document.close();";
/// The body of a script that replaces the pictures of a page, which are inside of it as `data:` addresses, by drawings of
/// them: the browsers of checks load no pictures.
const DRAW_PICTURES: &str = "return Promise.all([...document.images].map(async (image) => {
  const [head, text] = image.src.split(';base64,');
  if (!text) return;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: head.slice(5) })).catch(() => null);
  if (!picture) return;
  const drawing = Object.assign(document.createElement('canvas'), { width: picture.width, height: picture.height });
  drawing.className = image.className;
  Object.assign(drawing.style, { width: `${image.width}px`, height: `${image.height}px` });
  drawing.getContext('2d').drawImage(picture, 0, 0);
  image.replaceWith(drawing);
})).then(() => null)";
/// The number of pages after which a browser is replaced, because it does not free all memory.
const MAX_PAGES: u32 = 100;
/// The time limit for commands that a working browser executes at once.
const SHORT: Duration = Duration::from_secs(5);

/// A WebDriver session. Dropping it ends the browser.
pub(super) struct Session {
    client: Arc<Client>,
    /// The path of the session's commands, `/session/ID`.
    path: String,
    /// The window that keeps the browser open between pages.
    base_window: String,
    contexts: Option<Contexts>,
    /// The resources of the session, or `None` when it is ending.
    resources: Option<Resources>,
    pages: u32,
}

/// The resources that a session holds until its browser has ended.
pub(super) struct Resources {
    pub(super) claim: Claim,
    pub(super) threads: Arc<WaitGroup>,
    pub(super) own: Arc<OwnPorts>,
    /// The port of the browser, if the browser is on this machine.
    pub(super) port: Option<u16>,
}

impl Resources {
    fn note_open(&mut self, port: Option<u16>) {
        self.claim.note_open();
        self.port = port;
        if let Some(port) = port {
            self.own.add(port);
        }
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        if let Some(port) = self.port {
            self.own.remove(port);
        }
    }
}

/// An open page.
pub(super) struct Page {
    context: Option<String>,
}

impl Session {
    /// Creates a session from an endpoint's answer to a New Session command.
    pub(super) fn from_answer(
        client: Arc<Client>,
        begun: &Value,
        proxy: &str,
        resources: Resources,
    ) -> Result<Self, Fault> {
        let Some(id) = begun["sessionId"].as_str().filter(|id| !id.is_empty()) else {
            return Err(Fault::Gone("the new session has no id".into()));
        };
        // From here on the session is ended if anything fails.
        let mut session = Self {
            client,
            path: format!("/session/{id}"),
            base_window: String::new(),
            contexts: None,
            resources: Some(resources),
            pages: 0,
        };
        session.connect_contexts(&begun["capabilities"], proxy)?;
        Ok(session)
    }

    fn connect_contexts(&mut self, capabilities: &Value, proxy: &str) -> Result<(), Fault> {
        let base_window = self.client.get(&format!("{}/window", self.path), SHORT)?;
        self.base_window = base_window.as_str().unwrap_or_default().to_owned();
        let (own, bidi) = (self.own_address(capabilities), self.bidi_address(capabilities));
        if let Some(resources) = &mut self.resources {
            // This is the port of the browser, if the browser is on this machine.
            let local = own.as_ref().or(bidi.as_ref().filter(|_| self.client.is_local()));
            resources.note_open(local.and_then(Url::port));
        }
        let devtools = match own {
            Some(own) => self.devtools_address(&own),
            // A grid offers the connection itself.
            None => capabilities["se:cdp"].as_str().and_then(|url| Url::parse(url).ok()),
        };
        let by_devtools = || Some(Contexts::by_devtools(Socket::connect(&devtools?, SHORT).ok()?, proxy));
        let by_bidi = || Some(Contexts::by_bidi(Socket::connect(&bidi?, SHORT).ok()?));
        let contexts = by_devtools().or_else(by_bidi);
        // Not every connection that an endpoint offers leads to the browser.
        self.contexts = contexts.and_then(|mut contexts| {
            let tried = contexts.create(SHORT);
            tried.and_then(|context| contexts.dispose(&context, SHORT)).ok().map(|()| contexts)
        });
        Ok(())
    }

    /// Returns the address on which a Chromium on this machine listens.
    fn own_address(&self, capabilities: &Value) -> Option<Url> {
        let debugger = capabilities["goog:chromeOptions"]["debuggerAddress"].as_str()?;
        Url::parse(&format!("http://{debugger}")).ok().filter(|_| self.client.is_local())
    }

    fn devtools_address(&self, own: &Url) -> Option<Url> {
        let version = self.client.json(own.join("json/version").ok().as_ref(), SHORT).ok()?;
        Url::parse(version["webSocketDebuggerUrl"].as_str()?).ok()
    }

    /// Returns the address for WebDriver BiDi. A driver on another machine may report an address of that machine.
    fn bidi_address(&self, capabilities: &Value) -> Option<Url> {
        let url = Url::parse(capabilities["webSocketUrl"].as_str()?).ok()?;
        (self.client.is_local() || !is_loopback(&url)).then_some(url)
    }

    /// Returns whether no page has been opened yet.
    pub(super) fn is_new(&self) -> bool {
        self.pages == 0
    }

    /// Returns whether the session can close a page that hangs. A session with geckodriver cannot be ended otherwise:
    /// geckodriver waits for the page's answer to a script without a time limit and does nothing else meanwhile.
    pub(super) fn survives_hung_pages(&self) -> bool {
        self.contexts.as_ref().is_some_and(|contexts| !contexts.has_devtools())
    }

    /// Returns whether the next page needs a new session.
    pub(super) fn is_spent(&self) -> bool {
        self.pages >= if self.contexts.is_some() { MAX_PAGES } else { 1 }
    }

    /// Starts loading an address in an empty context.
    pub(super) fn open_page(&mut self, url: &Url, deadline: Instant) -> Result<Page, Fault> {
        let page = self.blank_page(deadline)?;
        if self.contexts.as_ref().is_some_and(Contexts::has_devtools) {
            // Browsers that do not support the command only load more.
            let _ = self.devtools_command("Network.enable", &nothing(), deadline);
            let _ = self.devtools_command("Network.setBlockedURLs", &json!({"urls": NOT_LOADED}), deadline);
        }
        match self.post("url", &json!({"url": url.as_str()}), deadline) {
            // Some drivers wait for the page to load in spite of the page load strategy.
            Err(fault) if fault.is_blocked_script() => Ok(page),
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

    /// Opens an empty page in an empty context.
    pub(super) fn blank_page(&mut self, deadline: Instant) -> Result<Page, Fault> {
        let page = self.empty_page(deadline)?;
        self.pages += 1;
        Ok(page)
    }

    /// Writes HTML into the empty page, and prints it as a PDF on A4 paper.
    pub(super) fn print(&self, html: &str, deadline: Instant) -> Result<Vec<u8>, Fault> {
        self.run(WRITE_PAGE, &json!([html]), deadline)?;
        self.run(DRAW_PICTURES, &json!([]), deadline)?;
        let paper = json!({"page": {"width": 21.0, "height": 29.7}, "background": true});
        let printed = self.post("print", &paper, deadline)?;
        let decoded = printed.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        decoded.ok_or_else(|| Fault::Gone("the printed page is not Base64".into()))
    }

    fn devtools_command(&self, command: &str, with: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.post("goog/cdp/execute", &json!({"cmd": command, "params": with}), deadline)
    }

    /// Runs a script in the page. `script` is the body of a function.
    pub(super) fn run(&self, script: &str, with: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.post("execute/sync", &json!({"script": script, "args": with}), deadline)
    }

    /// Returns the URL that the browser shows, which may be one that could not be loaded.
    pub(super) fn url(&self, deadline: Instant) -> Option<Url> {
        let url = self.client.get(&format!("{}/url", self.path), left(deadline)).ok()?;
        Url::parse(url.as_str()?).ok()
    }

    /// Closes a page and deletes its data.
    pub(super) fn close_page(&mut self, page: Page, deadline: Instant) -> Result<(), Fault> {
        let (Some(context), Some(contexts)) = (page.context, &mut self.contexts) else { return Ok(()) };
        contexts.dispose(&context, left(deadline)).map_err(|error| gone(&error))?;
        self.post("window", &json!({"handle": self.base_window}), deadline).map(drop)
    }

    fn post(&self, command: &str, body: &Value, deadline: Instant) -> Result<Value, Fault> {
        self.client.post(&format!("{}/{command}", self.path), body, left(deadline))
    }
}

impl Drop for Session {
    /// Ends the browser on a separate thread, because a hanging browser takes long.
    fn drop(&mut self) {
        let Some(resources) = self.resources.take() else { return };
        let (client, path, threads) =
            (Arc::clone(&self.client), take(&mut self.path), Arc::clone(&resources.threads));
        let end = move || {
            // The command fails if the browser has already ended.
            let _ = client.delete(&path, SHORT);
            drop(resources);
        };
        if let Err(error) = threads.start("browser-close", end) {
            warn!("cannot start a thread to end a browser: {error}");
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
