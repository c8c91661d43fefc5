//! chromedriver: the process, and one session in it (W3C WebDriver over HTTP and JSON).

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use super::super::server::PATIENCE;

/// A command may wait for a page or a script, which have [`PATIENCE`] themselves.
const LONGEST: Duration = Duration::from_secs(2 * PATIENCE.as_secs());
/// A crashed browser must not keep the test from ending.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Chromedriver {
    child: Child,
    agent: Agent,
    /// The address of the session.
    session: String,
}

/// The error code of the driver, and its explanation.
#[derive(Debug)]
pub(super) struct DriverError {
    pub(super) code: String,
    #[expect(dead_code, reason = "for the message of a failed test")]
    pub(super) message: String,
}

impl Chromedriver {
    pub(super) fn start(capabilities: &Value) -> Self {
        let (child, port) = started();
        let config = Agent::config_builder().proxy(None).http_status_as_error(false);
        // From here on, a failure ends the child process too.
        let mut driver = Self {
            child,
            agent: config.timeout_global(Some(LONGEST)).build().new_agent(),
            session: format!("http://127.0.0.1:{port}/session"),
        };
        let begun = driver.post("", capabilities).expect("no browser starts");
        driver.session = format!("{}/{}", driver.session, begun["sessionId"].as_str().unwrap());
        driver
    }

    fn address(&self, path: &str) -> String {
        if path.is_empty() { self.session.clone() } else { format!("{}/{path}", self.session) }
    }

    pub(super) fn get(&self, path: &str) -> Result<Value, DriverError> {
        let answer = self.agent.get(self.address(path)).call();
        read(answer.expect("chromedriver does not answer"))
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Value, DriverError> {
        let request = self.agent.post(self.address(path)).header("Content-Type", "application/json");
        read(request.send(body.to_string()).expect("chromedriver does not answer"))
    }
}

/// Starts chromedriver on a free IPv4 port. It exits if another program uses the same IPv6 port.
fn started() -> (Child, u16) {
    for _ in 0..10 {
        let mut child = Command::new("chromedriver")
            .args(["--port=0", "--log-level=WARNING"])
            // The browser's processes are in its group, so that none outlives it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium and chromium-driver are needed: run scripts/test");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| port_in(&line));
        if let Some(port) = port {
            // Reads the rest of the output, so that the pipe does not fill up.
            std::thread::spawn(move || for _ in lines {});
            return (child, port);
        }
        child.wait().unwrap();
    }
    panic!("chromedriver names no port");
}

/// Returns the port in "ChromeDriver was started successfully on port 12345."
fn port_in(line: &str) -> Option<u16> {
    line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<Value, DriverError> {
    let is_ok = answer.status().is_success();
    // Logs and screenshots are large.
    let text = answer.body_mut().with_config().limit(256 << 20).read_to_string().unwrap();
    let mut body: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"value": {"message": text}}));
    let value = body["value"].take();
    if is_ok {
        return Ok(value);
    }
    let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    Err(DriverError { code: word("error"), message: word("message") })
}

impl Drop for Chromedriver {
    /// Ends the browser by a command, so that it removes its files; then by force.
    fn drop(&mut self) {
        let quit = self.agent.delete(&self.session).config().timeout_global(Some(QUIT_TIMEOUT)).build();
        let _ = quit.call();
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}
