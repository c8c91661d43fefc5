//! Empty contexts (profiles), one for each page: cookies, storage, cache and service workers end with it. WebDriver's
//! classic commands have no word for them: Chromium makes them by the Chrome DevTools Protocol, Firefox by WebDriver BiDi
//! (<https://w3c.github.io/webdriver-bidi/>), both in a few milliseconds.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::socket::Socket;

/// Contexts of one browser.
pub(super) struct Contexts {
    socket: Socket,
    dialect: Dialect,
}

enum Dialect {
    /// Each context is told its proxy: host and port.
    DevTools { proxy: String },
    /// Contexts have the session's.
    Bidi,
}

impl Contexts {
    pub(super) fn by_devtools(socket: Socket, proxy: &str) -> Self {
        Self { socket, dialect: Dialect::DevTools { proxy: proxy.to_owned() } }
    }

    pub(super) fn by_bidi(socket: Socket) -> Self {
        Self { socket, dialect: Dialect::Bidi }
    }

    /// Whether the browser knows commands of the Chrome DevTools Protocol.
    pub(super) fn has_devtools(&self) -> bool {
        matches!(self.dialect, Dialect::DevTools { .. })
    }

    /// A new, empty context; gives its name.
    pub(super) fn create(&mut self, timeout: Duration) -> io::Result<String> {
        match &self.dialect {
            Dialect::DevTools { proxy } => {
                let parameters = json!({
                    "disposeOnDetach": true,
                    "proxyServer": format!("http://{proxy}"),
                    // Loopback is not left out.
                    "proxyBypassList": "<-loopback>",
                });
                let answer = self.socket.ask("Target.createBrowserContext", &parameters, timeout)?;
                word(&answer, "browserContextId")
            }
            Dialect::Bidi => {
                let answer = self.socket.ask("browser.createUserContext", &json!({}), timeout)?;
                word(&answer, "userContext")
            }
        }
    }

    /// An empty page in that context, which may download nothing; gives its window handle.
    pub(super) fn create_page(&mut self, context: &str, timeout: Duration) -> io::Result<String> {
        match &self.dialect {
            Dialect::DevTools { .. } => {
                let deny = json!({"behavior": "deny", "browserContextId": context});
                self.socket.ask("Browser.setDownloadBehavior", &deny, timeout)?;
                let parameters = json!({"url": "about:blank", "browserContextId": context});
                word(&self.socket.ask("Target.createTarget", &parameters, timeout)?, "targetId")
            }
            Dialect::Bidi => {
                let deny = json!({"downloadBehavior": {"type": "denied"}, "userContexts": [context]});
                // Older versions have no such command; what they download ends with them.
                let _ = self.socket.ask("browser.setDownloadBehavior", &deny, timeout);
                let parameters = json!({"type": "tab", "userContext": context});
                word(&self.socket.ask("browsingContext.create", &parameters, timeout)?, "context")
            }
        }
    }

    /// Closes all pages of a context and forgets what they left behind.
    pub(super) fn dispose(&mut self, context: &str, timeout: Duration) -> io::Result<()> {
        let (command, parameters) = match &self.dialect {
            Dialect::DevTools { .. } => {
                ("Target.disposeBrowserContext", json!({"browserContextId": context}))
            }
            Dialect::Bidi => ("browser.removeUserContext", json!({"userContext": context})),
        };
        self.socket.ask(command, &parameters, timeout).map(drop)
    }
}

fn word(answer: &Value, name: &str) -> io::Result<String> {
    let word = answer[name].as_str().map(str::to_owned);
    word.ok_or_else(|| io::Error::other(format!("the browser's answer has no {name}")))
}
