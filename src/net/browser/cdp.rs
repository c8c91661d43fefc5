//! A page in a browser, driven by the Chrome DevTools Protocol (<https://chromedevtools.github.io/devtools-protocol/>).
//!
//! Each page has a separate WebSocket to the browser, and an empty context (profile) with its own proxy. Cookies,
//! storage, cache, service workers and popups belong to the context, and end with it. If the page is not closed, the
//! context ends with the connection.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tungstenite::error::Error as SocketError;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket};
use url::Url;

use super::process::Browser;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;
use crate::net::dial::{self, Timed};
use crate::net::failure::is_timeout;

/// The maximum size of a message, in bytes. It may contain the HTML of a page or a PDF.
const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The time limit for commands that a working browser executes at once. Busy machines take seconds.
pub(super) const SHORT: Duration = Duration::from_secs(10);
const WRITE_PAGE: &str = include_str!("write_page.js");

/// The start of the error if a browser stops answering.
pub(super) const LOST: &str = "the browser was lost";

/// A failed command. The explanation of a browser is left out, because it may contain a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection to the browser is broken.
    Gone,
    /// The answer did not arrive in time.
    Late,
    /// The browser refused the command, for example because the page is switching to the next document.
    Refused,
    /// The answer is too large to be read.
    TooLarge,
    /// The page's process has crashed.
    Crashed,
    /// The page has closed itself.
    Closed,
}

impl Fault {
    /// Returns the error of a request. `what` says what was lost or not done.
    pub(super) fn error(self, what: &str) -> ProbeError {
        let why = match self {
            Self::Gone => "it does not answer",
            Self::Late => "it does not answer in time",
            Self::Refused => "it refuses a command",
            Self::TooLarge => "its answer is too large",
            Self::Crashed => "the page crashed",
            // This is what the site has chosen.
            Self::Closed => return Reason::Protocol.because("the page closed itself"),
        };
        Reason::Browser.because(format!("{what}: {why}"))
    }
}

/// A page. Dropping it closes it.
pub(super) struct Page {
    /// Keeps a browser running that is being replaced.
    pub(super) browser: Arc<Browser>,
    socket: WebSocket<Timed<TcpStream>>,
    /// Whether a message was too large, after which none can be read.
    is_broken: bool,
    /// The number of the last command.
    last: u64,
    context: Value,
    /// The session of the page. Commands without one go to the browser.
    session: Value,
    /// The id of the page, which is also the one of its main frame.
    target: Value,
    /// The number of the last command that begins to load a URL.
    navigation: u64,
    /// Whether the site has answered it, or why the browser shows nothing, such as `net::ERR_NAME_NOT_RESOLVED`.
    pub(super) is_answered: Result<bool, String>,
    /// The status of the last answer for the main frame.
    pub(super) status: Option<u16>,
}

impl Page {
    /// Connects to the browser, without opening a page.
    pub(super) fn connect(browser: &Arc<Browser>, until: Instant) -> Result<Self, Fault> {
        let until = until.min(Instant::now() + SHORT);
        let stream = dial::dial(&[browser.addr], until)
            .map_err(|error| if error.reason.is_timeout() { Fault::Late } else { Fault::Gone })?;
        let stream = Timed::new(stream, until);
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        let url = format!("ws://{}{}", browser.addr, browser.path);
        let (socket, _) = tungstenite::client::client_with_config(url, stream, Some(config)).map_err(
            |error| match error {
                HandshakeError::Interrupted(_) => Fault::Late,
                HandshakeError::Failure(error) => gone(error),
            },
        )?;
        Ok(Self {
            browser: Arc::clone(browser),
            socket,
            last: 0,
            context: Value::Null,
            session: Value::Null,
            is_broken: false,
            target: Value::Null,
            navigation: 0,
            is_answered: Ok(false),
            status: None,
        })
    }

    /// Opens an empty page in an empty context whose traffic goes through `proxy`.
    pub(super) fn open(browser: &Arc<Browser>, proxy: &str, until: Instant) -> Result<Self, Fault> {
        let until = until.min(Instant::now() + SHORT);
        let mut page = Self::connect(browser, until)?;
        let with = json!({
            "disposeOnDetach": true,
            "proxyServer": format!("socks5://{proxy}"),
            // Requests to loopback addresses use the proxy, too.
            "proxyBypassList": "<-loopback>",
        });
        page.context = page.ask("Target.createBrowserContext", &with, until)?["browserContextId"].clone();
        let with = json!({"behavior": "deny", "browserContextId": page.context});
        page.ask("Browser.setDownloadBehavior", &with, until)?;
        let with = json!({"url": "about:blank", "browserContextId": page.context});
        page.target = page.ask("Target.createTarget", &with, until)?["targetId"].clone();
        let with = json!({"targetId": page.target, "flatten": true});
        page.session = page.ask("Target.attachToTarget", &with, until)?["sessionId"].clone();
        // Dialogs are reported, since they stop the page until they are answered, and crashes.
        page.ask("Page.enable", &json!({}), until)?;
        page.ask("Inspector.enable", &json!({}), until)?;
        Ok(page)
    }

    /// Starts loading a URL, without fonts and media, and with images only if they are wanted.
    pub(super) fn navigate(&mut self, url: &Url, with_images: bool, until: Instant) -> Result<(), Fault> {
        // Documents are only taken up so that the browser does not ask anybody for a password.
        let kinds = ["Document", "Font", "Media", "Image"];
        let kinds = &kinds[..if with_images { 3 } else { 4 }];
        let of_kind = |kind: &&str| json!({"urlPattern": "*", "resourceType": kind});
        let mut patterns: Vec<Value> = kinds.iter().map(of_kind).collect();
        // Nothing else has the status if the answer is empty.
        patterns.push(json!({"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}));
        self.ask("Fetch.enable", &json!({"patterns": patterns, "handleAuthRequests": true}), until)?;
        self.navigation = self.send("Page.navigate", &json!({"url": url.as_str()}))?;
        Ok(())
    }

    /// Handles the events until then.
    pub(super) fn attend(&mut self, until: Instant) -> Result<(), Fault> {
        loop {
            match self.receive(until) {
                Ok(message) => self.note(&message)?,
                Err(Fault::Late) => return Ok(()),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Calls a function in the page. `body` is its body. A promise that it returns is waited for.
    pub(super) fn call(&mut self, body: &str, arguments: &Value, until: Instant) -> Result<Value, Fault> {
        let expression = format!("(function () {{\n{body}\n}}).apply(null, {arguments})");
        let with = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.ask("Runtime.evaluate", &with, until)?;
        match answer.get("exceptionDetails") {
            Some(_) => Err(Fault::Refused),
            None => Ok(answer.pointer_mut("/result/value").map(Value::take).unwrap_or_default()),
        }
    }

    /// Writes HTML into the empty page, and prints it as a PDF on A4 paper.
    pub(super) fn print(&mut self, html: &str, until: Instant) -> Result<Vec<u8>, Fault> {
        self.call(WRITE_PAGE, &json!([html]), until)?;
        let footer = "<p style=\"width: 100%; margin: 0 1cm; font: 6px sans-serif\"><span class=title></span> \
                      · page <span class=pageNumber></span> of <span class=totalPages></span></p>";
        let paper = json!({
            "paperWidth": 8.27, "paperHeight": 11.69, "marginBottom": 0.6, "printBackground": true,
            "displayHeaderFooter": true, "headerTemplate": "<p></p>", "footerTemplate": footer,
        });
        self.file("Page.printToPDF", &paper, until)
    }

    /// Returns how the page looks, as a JPEG.
    pub(super) fn screenshot(&mut self, until: Instant) -> Result<Vec<u8>, Fault> {
        self.file("Page.captureScreenshot", &json!({"format": "jpeg", "quality": 85}), until)
    }

    fn file(&mut self, method: &str, with: &Value, until: Instant) -> Result<Vec<u8>, Fault> {
        let file = self.ask(method, with, until)?;
        let decoded = file["data"].as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
        decoded.ok_or(Fault::Refused)
    }

    /// Returns the URL that the browser shows, which may be one that could not be loaded.
    pub(super) fn url(&mut self, until: Instant) -> Option<Url> {
        let history = self.ask("Page.getNavigationHistory", &json!({}), until).ok()?;
        let current = usize::try_from(history["currentIndex"].as_u64()?).ok()?;
        Url::parse(history["entries"][current]["url"].as_str()?).ok()
    }

    /// Closes the page, and deletes its data.
    pub(super) fn close(mut self, until: Instant) -> Result<(), Fault> {
        // Events of the page no longer matter.
        self.session = Value::Null;
        let with = json!({"browserContextId": self.context});
        self.ask("Target.disposeBrowserContext", &with, until).map(drop)
    }

    /// Asks the browser for its version, which shows that it answers.
    pub(super) fn version(&mut self, until: Instant) -> Result<(), Fault> {
        self.ask("Browser.getVersion", &json!({}), until).map(drop)
    }

    /// Sends a command, and returns its result.
    fn ask(&mut self, method: &str, with: &Value, until: Instant) -> Result<Value, Fault> {
        self.socket.get_mut().deadline = until;
        let id = self.send(method, with)?;
        loop {
            let mut message = self.receive(until)?;
            if message["id"] != id {
                self.note(&message)?;
            } else if let Some(error) = message.get("error") {
                // The session of a page that is no longer there.
                let is_closed = error["code"] == -32001;
                return Err(if is_closed { Fault::Closed } else { Fault::Refused });
            } else {
                return Ok(message["result"].take());
            }
        }
    }

    /// Sends a command to the browser or, by its method, to the page.
    fn send(&mut self, method: &str, with: &Value) -> Result<u64, Fault> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": with});
        if !method.starts_with("Target.") && !method.starts_with("Browser.") {
            command["sessionId"] = self.session.clone();
        }
        self.socket.send(Message::text(command.to_string())).map_err(gone)?;
        Ok(self.last)
    }

    /// Reads the next message that is valid JSON.
    fn receive(&mut self, until: Instant) -> Result<Value, Fault> {
        loop {
            if self.is_broken {
                return Err(Fault::TooLarge);
            }
            if Instant::now() >= until {
                return Err(Fault::Late);
            }
            self.socket.get_mut().deadline = until;
            let read = self.socket.read().map_err(gone);
            self.is_broken = read == Err(Fault::TooLarge);
            if let Message::Text(text) = read?
                && let Ok(message) = serde_json::from_str(&text)
            {
                return Ok(message);
            }
        }
    }

    /// Handles an event, or the answer to another command.
    fn note(&mut self, message: &Value) -> Result<(), Fault> {
        if message["id"] == self.navigation {
            let why = message["result"]["errorText"].as_str().or(message["error"]["message"].as_str());
            self.is_answered = why.map_or(Ok(true), |why| Err(why.to_owned()));
        }
        let params = &message["params"];
        if params["frameId"] == self.target
            && let Some(status) = params["responseStatusCode"].as_u64()
        {
            self.status = status.try_into().ok();
        }
        let request = &params["requestId"];
        let (reply, with) = match message["method"].as_str() {
            Some("Page.javascriptDialogOpening") => ("Page.handleJavaScriptDialog", json!({"accept": false})),
            Some("Fetch.requestPaused") if params["resourceType"] == "Document" => {
                ("Fetch.continueRequest", json!({"requestId": request}))
            }
            Some("Fetch.requestPaused") => {
                ("Fetch.failRequest", json!({"requestId": request, "errorReason": "BlockedByClient"}))
            }
            Some("Fetch.authRequired") => {
                let cancel = json!({"response": "CancelAuth"});
                ("Fetch.continueWithAuth", json!({"requestId": request, "authChallengeResponse": cancel}))
            }
            Some("Inspector.targetCrashed") if !self.session.is_null() => return Err(Fault::Crashed),
            Some("Target.detachedFromTarget") if !self.session.is_null() => return Err(Fault::Closed),
            _ => return Ok(()),
        };
        self.send(reply, &with).map(drop)
    }
}

fn gone(error: SocketError) -> Fault {
    match error {
        SocketError::Io(error) if is_timeout(&error) => Fault::Late,
        SocketError::Capacity(_) => Fault::TooLarge,
        _ => Fault::Gone,
    }
}
