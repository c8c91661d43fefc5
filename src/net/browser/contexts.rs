//! Empty contexts (profiles), one for each page. Cookies, storage, cache and service workers end with the context.
//! Classic WebDriver has no command for them: Chromium creates them by the Chrome DevTools Protocol, Firefox by
//! WebDriver BiDi (<https://w3c.github.io/webdriver-bidi/>), both in a few milliseconds.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::socket::Socket;

/// The contexts of one browser.
pub(super) struct Contexts {
    socket: Socket,
    protocol: Protocol,
}

enum Protocol {
    /// The Chrome DevTools Protocol. Each context has its own proxy setting, with host and port.
    DevTools { proxy: String },
    /// WebDriver BiDi. Contexts use the proxy of the session.
    Bidi,
}

impl Contexts {
    pub(super) fn by_devtools(socket: Socket, proxy: &str) -> Self {
        Self { socket, protocol: Protocol::DevTools { proxy: proxy.to_owned() } }
    }

    pub(super) fn by_bidi(socket: Socket) -> Self {
        Self { socket, protocol: Protocol::Bidi }
    }

    /// Returns whether the browser supports the Chrome DevTools Protocol.
    pub(super) fn has_devtools(&self) -> bool {
        matches!(self.protocol, Protocol::DevTools { .. })
    }

    /// Creates an empty context and returns its id.
    pub(super) fn create(&mut self, timeout: Duration) -> io::Result<String> {
        match &self.protocol {
            Protocol::DevTools { proxy } => {
                let parameters = json!({
                    "disposeOnDetach": true,
                    "proxyServer": format!("http://{proxy}"),
                    // Requests to loopback addresses use the proxy, too.
                    "proxyBypassList": "<-loopback>",
                });
                let answer = self.socket.ask("Target.createBrowserContext", &parameters, timeout)?;
                word(&answer, "browserContextId")
            }
            Protocol::Bidi => {
                let answer = self.socket.ask("browser.createUserContext", &json!({}), timeout)?;
                word(&answer, "userContext")
            }
        }
    }

    /// Creates an empty page in the context, without permission for downloads. Returns its window handle.
    pub(super) fn create_page(&mut self, context: &str, timeout: Duration) -> io::Result<String> {
        match &self.protocol {
            Protocol::DevTools { .. } => {
                let deny = json!({"behavior": "deny", "browserContextId": context});
                self.socket.ask("Browser.setDownloadBehavior", &deny, timeout)?;
                let parameters = json!({"url": "about:blank", "browserContextId": context});
                word(&self.socket.ask("Target.createTarget", &parameters, timeout)?, "targetId")
            }
            Protocol::Bidi => {
                let deny = json!({"downloadBehavior": {"type": "denied"}, "userContexts": [context]});
                // Older versions do not support the command. Their downloads are deleted with their profile.
                let _ = self.socket.ask("browser.setDownloadBehavior", &deny, timeout);
                let parameters = json!({"type": "tab", "userContext": context});
                word(&self.socket.ask("browsingContext.create", &parameters, timeout)?, "context")
            }
        }
    }

    /// Closes all pages of a context and deletes their data.
    pub(super) fn dispose(&mut self, context: &str, timeout: Duration) -> io::Result<()> {
        let (command, parameters) = match &self.protocol {
            Protocol::DevTools { .. } => {
                ("Target.disposeBrowserContext", json!({"browserContextId": context}))
            }
            Protocol::Bidi => ("browser.removeUserContext", json!({"userContext": context})),
        };
        self.socket.ask(command, &parameters, timeout).map(drop)
    }
}

fn word(answer: &Value, name: &str) -> io::Result<String> {
    let word = answer[name].as_str().map(str::to_owned);
    word.ok_or_else(|| io::Error::other(format!("the browser's answer has no {name}")))
}
