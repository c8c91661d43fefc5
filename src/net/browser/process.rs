//! Chromium: a process of this service, which never outlives it, or one that the operator runs.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use log::{info, warn};
use serde_json::Value;
use ureq::Agent;
use url::Url;

use crate::base::threads::start;
use crate::modules::probe::ProbeError;
use crate::net::failure::out_of_resources;

/// The names of Chromium in the `PATH`.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// The time limit for Chromium to print its address.
const START: Duration = Duration::from_secs(30);
/// The time limit for the answer of an operator's Chromium.
const ATTACH: Duration = Duration::from_secs(5);
/// The interval at which a start looks whether the service ends.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs Chromium so that it never outlives this process.
const WATCHDOG_SCRIPT: &str = include_str!("watchdog.sh");

const FLAGS: [&str; 29] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-startup-window",
    "--window-size=1280,1000",
    "--lang=en-US",
    // Small containers have little shared memory and no graphics.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--disable-remote-fonts",
    "--mute-audio",
    "--autoplay-policy=user-gesture-required",
    // These options prevent traffic that would bypass the proxy. Only pages have one that leads anywhere.
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    // The browser itself has no traffic. It would reach nobody.
    "--no-first-run",
    "--password-store=basic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=MediaRouter,OptimizationHints,Prerender2,SafeBrowsing,Translate,WebTransport",
    // There are no crash reports, and no more memory than pages need.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-hang-monitor",
    "--js-flags=--max-old-space-size=512",
    "--disk-cache-size=33554432",
];

/// Where the browser is.
#[derive(Debug, Clone)]
pub enum BrowserSource {
    /// This program, which this process starts and ends.
    Program(PathBuf),
    /// A Chromium that the operator runs with `--remote-debugging-port`, at `http://HOST:PORT`.
    At(Url),
}

impl BrowserSource {
    /// Returns the Chromium in the `PATH`.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn auto() -> Result<Self, String> {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut programs = env::split_paths(&path).flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
        let missing = || format!("none of {} is in the PATH (Debian: install chromium)", PROGRAMS.join(", "));
        programs.find(|program| program.is_file()).map(Self::Program).ok_or_else(missing)
    }
}

/// A running browser. Dropping the last reference to one that this process has started ends it.
pub(super) struct Browser {
    /// The address of the DevTools protocol, and the path of its WebSocket.
    pub(super) addr: SocketAddr,
    pub(super) path: String,
    /// The addresses of the operator's browser, one of which may use the egress proxy.
    pub(super) hosts: Vec<IpAddr>,
    /// The number of pages that were opened.
    pub(super) pages: AtomicUsize,
    /// The standard input of the script, if this process has started the browser.
    alive: Option<ChildStdin>,
}

impl Browser {
    /// Returns a browser of the operator.
    pub(super) fn at(addr: SocketAddr, path: String, hosts: Vec<IpAddr>) -> Self {
        Self { addr, path, hosts, pages: AtomicUsize::new(0), alive: None }
    }

    /// Returns whether this process can end the browser and start another one.
    pub(super) fn is_own(&self) -> bool {
        self.alive.is_some()
    }
}

/// Returns the error if this process is out of descriptors.
pub(super) fn want_of_resources() -> Option<ProbeError> {
    fs::File::open("/dev/null").err().as_ref().and_then(out_of_resources)
}

/// Starts browsers.
pub(super) struct Launcher {
    source: BrowserSource,
    /// The host of the egress proxies, the only name that the browser resolves.
    proxy_host: String,
    /// Whether Chromium is started without its own sandbox, which works neither for root nor in many containers.
    is_unconfined: AtomicBool,
}

impl Launcher {
    pub(super) fn new(source: BrowserSource, proxy_host: String) -> Self {
        Self { source, proxy_host, is_unconfined: AtomicBool::new(rustix::process::getuid().is_root()) }
    }

    /// Starts a browser, or connects to the operator's. Gives up when `is_closed`.
    pub(super) fn start(&self, is_closed: &AtomicBool) -> Result<Browser, String> {
        match &self.source {
            BrowserSource::At(url) => attach(url),
            BrowserSource::Program(program) => self.launch(program, is_closed),
        }
    }

    fn launch(&self, program: &Path, is_closed: &AtomicBool) -> Result<Browser, String> {
        let mut launched = self.launch_once(program, is_closed);
        // Pages are not trusted, so no other failure costs the sandbox.
        let blames_sandbox = launched.as_ref().is_err_and(|error| names_sandbox(&error.to_string()));
        if blames_sandbox && !self.is_unconfined.swap(true, Ordering::Relaxed) {
            launched = self.launch_once(program, is_closed);
            if launched.is_ok() {
                warn!("the browser starts only without its own sandbox, as in many containers");
            }
            self.is_unconfined.store(launched.is_ok(), Ordering::Relaxed);
        }
        launched.map_err(|error| format!("cannot start {}: {error}", program.display()))
    }

    fn launch_once(&self, program: &Path, is_closed: &AtomicBool) -> io::Result<Browser> {
        let folder = own_folder()?;
        let mut flags = vec![program.as_os_str().to_owned()];
        flags.extend(FLAGS.map(OsString::from));
        flags.push(format!("--user-data-dir={}", folder.join("profile").display()).into());
        // The browser resolves no names except the proxy's, neither for prefetching nor for WebRTC.
        flags.push(format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}", self.proxy_host).into());
        flags.extend(self.is_unconfined.load(Ordering::Relaxed).then(|| "--no-sandbox".into()));
        let (alive, said) = spawn(&flags, folder)?;
        let (addr, path) = address(&said, is_closed)?;
        info!("Chromium listens on port {}", addr.port());
        Ok(Browser { alive, ..Browser::at(addr, path, Vec::new()) })
    }
}

/// The address of the DevTools protocol with the path of its WebSocket, or why there is none.
type Said = io::Result<(SocketAddr, String)>;

/// Returns whether a line that Chromium has printed is about its own sandbox, or the namespaces that it needs.
fn names_sandbox(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("sandbox") || line.contains("new namespace")
}

/// Asks the operator's Chromium for the path of its WebSocket.
fn attach(url: &Url) -> Result<Browser, String> {
    let addresses = url.socket_addrs(|| None).map_err(|error| format!("cannot resolve {url}: {error}"))?;
    let mut failure = "it has no address".to_owned();
    for addr in &addresses {
        match path_at(*addr) {
            Ok(path) => {
                let hosts = addresses.iter().map(|addr| addr.ip().to_canonical()).collect();
                return Ok(Browser::at(*addr, path, hosts));
            }
            Err(error) => failure = error,
        }
    }
    Err(format!("no Chromium with --remote-debugging-port answers at {url}: {failure}"))
}

/// Returns the path of the WebSocket. Chromium answers only to an address, not to a name.
fn path_at(addr: SocketAddr) -> Result<String, String> {
    let config = Agent::config_builder().proxy(None).max_redirects(0).timeout_global(Some(ATTACH));
    let answer = config.build().new_agent().get(format!("http://{addr}/json/version")).call();
    let version = answer.and_then(|mut answer| answer.body_mut().read_to_vec());
    let version = version.map_err(|error| error.to_string())?;
    let version: Value = serde_json::from_slice(&version).map_err(|_| "its answer is not JSON".to_owned())?;
    let address = version["webSocketDebuggerUrl"].as_str().and_then(|url| Url::parse(url).ok());
    Ok(address.ok_or("its answer names no WebSocket")?.path().to_owned())
}

/// Starts a program with the script, whose standard input is returned: closing it ends the process group, without a wait. Then
/// comes the address that Chromium prints, and at its end the last line that it has printed, or the one about its sandbox.
fn spawn(command: &[OsString], folder: PathBuf) -> io::Result<(Option<ChildStdin>, Receiver<Said>)> {
    let mut watchdog = Command::new("sh")
        .args(["-c", WATCHDOG_SCRIPT, "sh"])
        .args(command)
        .env("TMPDIR", &folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let (alive, output) = (watchdog.stdin.take(), watchdog.stderr.take());
    let (say, said) = mpsc::channel();
    let listen = move || {
        let mut why = "it has ended".to_owned();
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n'));
        for line in lines.map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(address) = address_in(&line) {
                let _ = say.send(Ok(address));
            }
            if !names_sandbox(&why) {
                why = line;
            }
        }
        let _ = watchdog.wait();
        // The script has removed the folder unless it was killed.
        let _ = fs::remove_dir_all(&folder);
        let _ = say.send(Err(io::Error::other(why)));
    };
    start("browser-output", 128 * 1024, listen)?;
    Ok((alive, said))
}

/// Waits for the address that Chromium prints.
fn address(said: &Receiver<Said>, is_closed: &AtomicBool) -> Said {
    let until = Instant::now() + START;
    while Instant::now() < until && !is_closed.load(Ordering::Relaxed) {
        match said.recv_timeout(CHECK_INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            said => return said.map_err(io::Error::other)?,
        }
    }
    Err(io::Error::other("it prints no address"))
}

/// Creates a private folder, which is removed with the browser.
fn own_folder() -> io::Result<PathBuf> {
    let folder = env::temp_dir().join(format!("sightline-browser-{}", uuid::Uuid::new_v4().simple()));
    DirBuilder::new().mode(0o700).create(&folder).map(|()| folder)
}

/// Parses a line such as "DevTools listening on ws://127.0.0.1:12345/devtools/browser/ID".
fn address_in(line: &str) -> Option<(SocketAddr, String)> {
    let url = Url::parse(line.split_once("DevTools listening on ")?.1.trim()).ok()?;
    let addr = url.socket_addrs(|| None).ok()?.into_iter().next()?;
    Some((addr, url.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn only_a_browser_that_blames_its_sandbox_starts_without_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = own_folder().unwrap();
        let (program, starts) = (folder.join("browser"), folder.join("starts"));
        let address = "DevTools listening on ws://127.0.0.1:9/b";
        for (script, is_closed, want, wanted) in [
            ("echo 'No usable Sandbox!' >&2; echo '#1 trace' >&2".to_owned(), false, "No usable Sandbox!", 2),
            ("printf '\\377\\nbad profile\\n' >&2".into(), false, "bad profile", 1),
            (format!("printf '\\377\\n{address}\\n' >&2; sleep 600"), false, "", 1),
            ("echo 'no sandbox' >&2; sleep 600".into(), true, "it prints no address", 1),
        ] {
            let script = format!("#!/bin/sh\necho \"$*\" >>{}\n{script}\n", starts.display());
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(&starts, "").unwrap();
            let launcher = Launcher {
                is_unconfined: AtomicBool::new(false),
                ..Launcher::new(BrowserSource::Program(program.clone()), "127.0.0.1".into())
            };
            let launched = launcher.launch(&program, &AtomicBool::new(is_closed));
            let why = launched.map_or_else(|why| why, |_| String::new());
            assert!(why.ends_with(want) && why.is_empty() == want.is_empty(), "{want}: {why}");
            let starts = fs::read_to_string(&starts).unwrap();
            assert!(starts.lines().count() == wanted || is_closed, "{want}: {starts}");
            assert_eq!(starts.lines().filter(|it| it.contains("--no-sandbox")).count(), wanted - 1, "{want}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    fn awaited(what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A script that writes its process id and a child's into a file, and ignores SIGTERM.
    const IGNORES_SIGTERM: &str = "trap '' TERM; sleep 600 & echo $$ $! >$TMPDIR/ids; while :; do wait; done";

    #[test]
    fn a_browser_that_ignores_sigterm_is_killed_with_all_its_children() {
        let command = ["sh", "-c", IGNORES_SIGTERM].map(OsString::from);
        let folder = own_folder().unwrap();
        let process = spawn(&command, folder.clone()).unwrap();
        let mut line = String::new();
        awaited("they are written", || {
            line = fs::read_to_string(folder.join("ids")).unwrap_or_default();
            line.ends_with('\n')
        });
        let processes: Vec<PathBuf> =
            line.split_whitespace().map(|id| Path::new("/proc").join(id).join("cmdline")).collect();
        let lives = |process: &PathBuf| fs::read(process).is_ok_and(|command| !command.is_empty());
        awaited("both of them run", || processes.len() == 2 && processes.iter().all(lives));
        drop(process);
        awaited("both of them have ended", || !processes.iter().any(lives));
        awaited("the folder is removed", || !folder.exists());
    }
}
