//! A simulated Chromium: the test sets its answers and sees its commands.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use sightline::net::browser::BrowserSource;
use sightline::net::{NetConfig, RealBrowsers};
use tungstenite::Message;

use super::lab;
use crate::support::awaited;
use crate::support::site::{Site, with_headers};

/// An answer to one command.
pub(super) enum Says {
    /// A page that is there; a session; nothing.
    AsUsual,
    /// Answers with this result.
    Value(Value),
    /// Refuses the command.
    Refusal,
    /// Never answers.
    Nothing,
    /// Ends the connection.
    End,
}

/// The state of a page that is not loaded yet.
pub(super) fn nothing_yet() -> Says {
    Says::Value(json!({"result": {"value": {"stage": "none"}}}))
}

/// The simulated Chromium.
pub(super) struct Chromium {
    site: Site,
    commands: Arc<Mutex<Vec<Value>>>,
}

impl Chromium {
    /// Answers commands (`Page.navigate`), and `/json/version` when it is asked for its address.
    pub(super) fn start(act: impl Fn(&str) -> Says + Send + Sync + 'static) -> Self {
        let commands = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&commands);
        let site = Site::talking(move |stream| {
            let mut begun = [0; 17];
            let _ = stream.peek(&mut begun);
            if &begun == b"GET /json/version" {
                act("/json/version");
                // The host is not the one by which it is reached.
                let address = json!({"webSocketDebuggerUrl": "ws://localhost/devtools/browser/b"});
                let _ = stream.write_all(&with_headers("", address.to_string().as_bytes()));
            } else {
                converse(stream, &act, &log);
            }
        });
        Self { site, commands }
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.site.addr
    }

    /// Uses only this browser.
    pub(super) fn browsers(&self, net: NetConfig, pages: usize) -> Arc<RealBrowsers> {
        let source = BrowserSource::At(self.site.url("").parse().unwrap());
        lab::browsers(source, net, pages)
    }

    /// Returns the parameters of all commands of that name so far.
    pub(super) fn commands(&self, name: &str) -> Vec<Value> {
        let commands = self.commands.lock().unwrap();
        commands.iter().filter(|command| command["method"] == name).map(|it| it["params"].clone()).collect()
    }

    /// Waits for the first page, and returns its egress proxy.
    pub(super) fn egress_proxy(&self) -> SocketAddr {
        let first = || self.commands("Target.createBrowserContext").into_iter().next().ok_or("none");
        let context = awaited("a page is opened", first);
        context["proxyServer"].as_str().unwrap().trim_start_matches("socks5://").parse().unwrap()
    }
}

fn converse(stream: &TcpStream, act: &impl Fn(&str) -> Says, log: &Mutex<Vec<Value>>) {
    let Ok(mut socket) = tungstenite::accept(stream.try_clone().unwrap()) else { return };
    while let Ok(message) = socket.read() {
        let Ok(command) = serde_json::from_slice::<Value>(&message.into_data()) else { continue };
        let method = command["method"].as_str().unwrap().to_owned();
        log.lock().unwrap().push(command.clone());
        let (kind, result) = match act(&method) {
            Says::AsUsual => ("result", usual(&method)),
            Says::Value(value) => ("result", value),
            Says::Refusal => ("error", json!({"code": -32000, "message": "no"})),
            Says::Nothing => continue,
            Says::End => return,
        };
        // Events and answers to other commands may come before.
        for before in [json!({"method": "Target.targetCreated", "params": {}}), json!({"id": 0, "result": 1})]
        {
            let _ = socket.send(Message::text(before.to_string()));
        }
        let _ = socket.send(Message::text(json!({"id": command["id"], kind: result}).to_string()));
    }
}

fn usual(method: &str) -> Value {
    match method {
        "Target.createBrowserContext" => json!({"browserContextId": "c"}),
        "Target.createTarget" => json!({"targetId": "t"}),
        "Target.attachToTarget" => json!({"sessionId": "s"}),
        "Runtime.evaluate" => json!({"result": {"value": {
            "stage": "page", "state": "complete", "status": 200, "isReady": true, "url": "http://a.example/u",
            "html": "<p>there"
        }}}),
        _ => json!({}),
    }
}

/// A switch that a simulated browser reads.
#[derive(Clone, Default)]
pub(super) struct Switch(Arc<std::sync::atomic::AtomicBool>);

impl Switch {
    pub(super) fn turn_on(&self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::SeqCst)
    }
}
