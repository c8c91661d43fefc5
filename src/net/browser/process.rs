//! Chromium: a process of this service, which never outlives it, or one that the operator runs.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read as _};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use serde_json::{Value, json};
use ureq::Agent;
use url::Url;

use super::egress::OwnPorts;
use crate::modules::probe::ProbeError;
use crate::net::failure::out_of_resources;

/// The names of Chromium in the `PATH`.
const PROGRAMS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// The time limit for Chromium to print its address.
const START: Duration = Duration::from_secs(30);
/// The time limit for the answer of an operator's Chromium.
const ATTACH: Duration = Duration::from_secs(5);
/// The interval at which a start checks whether the service ends.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A script that runs Chromium in its own process group. Its standard input is a pipe from this process, which is closed
/// however this process ends. Then, or when Chromium ends, the script ends the whole group and removes its files.
const WATCHDOG_SCRIPT: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
browser=$!
exec >/dev/null 2>&1
trap '' TERM
{ read -r _ <&3; kill -TERM "$browser"; sleep 2; kill -KILL "$browser"; } &
wait "$browser"
kill -TERM 0
sleep 0.3
for stat in /proc/[0-9]*/stat; do
    read -r line <"$stat" || continue
    id=${line%% *}
    set -- ${line##*) }
    [ "$3" = $$ ] && [ "$id" != $$ ] && kill -KILL "$id"
done
sleep 0.1
rm -rf -- "$TMPDIR"
kill -KILL 0
"#;

const FLAGS: [&str; 37] = [
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-startup-window",
    "--window-size=1280,1000",
    "--lang=en-US",
    // Small containers have little shared memory and no graphics.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-software-rasterizer",
    // Only the HTML of a page is used.
    "--blink-settings=imagesEnabled=false",
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
    // These options prevent traffic of the browser itself.
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--metrics-recording-only",
    "--password-store=basic",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,\
     InterestFeedContentSuggestions,MediaRouter,OptimizationHints,Prerender2,SafeBrowsing,Translate,\
     WebTransport",
    // There are no crash reports and no questions, and no more memory than pages need.
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-hang-monitor",
    "--disable-prompt-on-repost",
    "--js-flags=--max-old-space-size=512",
    "--disk-cache-size=33554432",
];

/// Where the browser is.
#[derive(Debug, Clone)]
pub enum BrowserSource {
    /// The Chromium in the `PATH`. This process starts and ends it.
    Auto,
    /// This program, which this process starts and ends.
    Program(PathBuf),
    /// A Chromium that the operator runs with `--remote-debugging-port`, at `http://HOST:PORT`.
    At(Url),
}

/// A running browser. Dropping the last reference to one that this process has started ends it.
pub(super) struct Browser {
    /// The address of the DevTools protocol, and the path of its WebSocket.
    pub(super) addr: SocketAddr,
    pub(super) path: String,
    /// The addresses of the operator's browser, one of which may use the egress proxy.
    pub(super) hosts: Vec<IpAddr>,
    /// The number of pages that were opened.
    pub(super) pages: AtomicU32,
    own: Arc<OwnPorts>,
    process: Option<Process>,
}

impl Browser {
    /// Returns whether this process can end the browser and start another one.
    pub(super) fn is_own(&self) -> bool {
        self.process.is_some()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if self.addr.ip().is_loopback() {
            self.own.remove(self.addr.port());
        }
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
    own: Arc<OwnPorts>,
    /// Whether Chromium is started without its own sandbox, which works neither for root nor in many containers.
    is_unconfined: AtomicBool,
    /// Whether a browser has started. If a later one does not start, its sandbox is not the reason.
    has_started: AtomicBool,
}

impl Launcher {
    /// Finds the program.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub(super) fn find(
        source: &BrowserSource,
        proxy_host: String,
        own: Arc<OwnPorts>,
    ) -> Result<Self, String> {
        let source = match source {
            BrowserSource::Auto => {
                BrowserSource::Program(program_in(&env::var_os("PATH").unwrap_or_default())?)
            }
            BrowserSource::Program(path) if !path.is_file() => {
                return Err(format!("there is no file {}", path.display()));
            }
            given => given.clone(),
        };
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        let (is_unconfined, has_started) = (AtomicBool::new(is_root), AtomicBool::new(false));
        Ok(Self { source, proxy_host, own, is_unconfined, has_started })
    }

    /// Starts a browser, or connects to the operator's. Gives up when `is_closed`.
    pub(super) fn start(&self, is_closed: &AtomicBool) -> Result<Browser, String> {
        let ((addr, path), hosts, process) = match &self.source {
            BrowserSource::At(url) => {
                let (address, hosts) = attach(url)?;
                (address, hosts, None)
            }
            BrowserSource::Program(program) => {
                let (address, process) = self.launch(program, is_closed)?;
                info!("Chromium listens on port {}", address.0.port());
                (address, Vec::new(), Some(process))
            }
            BrowserSource::Auto => return Err("no program".into()),
        };
        if addr.ip().is_loopback() {
            self.own.add(addr.port());
        }
        let (pages, own) = (AtomicU32::new(0), Arc::clone(&self.own));
        Ok(Browser { addr, path, hosts, pages, own, process })
    }

    fn launch(&self, program: &Path, is_closed: &AtomicBool) -> Result<(Address, Process), String> {
        let is_unconfined = self.is_unconfined.load(Ordering::Relaxed);
        let mut launched = self.launch_once(program, is_unconfined, is_closed);
        // Pages are not trusted, so no other failure costs the sandbox.
        let wants_none = launched.as_ref().is_err_and(|error| names_sandbox(&error.to_string()));
        if wants_none && !is_unconfined && !self.has_started.load(Ordering::Relaxed) {
            let again = self.launch_once(program, true, is_closed);
            if again.is_ok() {
                warn!("the browser starts only without its own sandbox, as in many containers");
                self.is_unconfined.store(true, Ordering::Relaxed);
                launched = again;
            }
        }
        self.has_started.fetch_or(launched.is_ok(), Ordering::Relaxed);
        launched.map_err(|error| format!("cannot start {}: {error}", program.display()))
    }

    fn launch_once(
        &self,
        program: &Path,
        is_unconfined: bool,
        is_closed: &AtomicBool,
    ) -> io::Result<(Address, Process)> {
        let folder = own_folder()?;
        let mut flags = vec![program.as_os_str().to_owned()];
        flags.extend(FLAGS.map(OsString::from));
        flags.push(format!("--user-data-dir={}", folder.join("profile").display()).into());
        // The browser resolves no names except the proxy's, neither for prefetching nor for WebRTC.
        flags.push(format!("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {}", self.proxy_host).into());
        flags.extend(is_unconfined.then(|| "--no-sandbox".into()));
        let (mut process, output) = Process::spawn(&flags, folder)?;
        let address = process.address(&told_by(output)?, is_closed)?;
        Ok((address, process))
    }
}

type Address = (SocketAddr, String);

fn program_in(path: &std::ffi::OsStr) -> Result<PathBuf, String> {
    let programs = || env::split_paths(path).flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
    let missing = || format!("none of {} is in the PATH (Debian: install chromium)", PROGRAMS.join(", "));
    programs().find(|program| program.is_file()).ok_or_else(missing)
}

/// Returns whether a line that Chromium has printed is about its own sandbox, or the namespaces that it needs.
fn names_sandbox(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("sandbox") || line.contains("new namespace")
}

/// Asks the operator's Chromium for its address. Returns the addresses of its host, too.
fn attach(url: &Url) -> Result<(Address, Vec<IpAddr>), String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let found = (host, url.port_or_known_default().unwrap_or(80)).to_socket_addrs();
    let addresses: Vec<_> = found.map_err(|error| format!("cannot resolve {host}: {error}"))?.collect();
    let hosts = addresses.iter().map(|addr| addr.ip().to_canonical()).collect();
    let mut failure = "it has no address".to_owned();
    for addr in addresses {
        match path_at(addr) {
            Ok(path) => return Ok(((addr, path), hosts)),
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

/// The script and its process group. Dropping it ends them without waiting.
struct Process {
    watchdog: Option<Child>,
    folder: PathBuf,
}

impl Process {
    fn spawn(command: &[OsString], folder: PathBuf) -> io::Result<(Self, ChildStderr)> {
        let spawned = Command::new("sh")
            .args(["-c", WATCHDOG_SCRIPT, "sh"])
            .args(command)
            .env("TMPDIR", &folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = Self { watchdog: None, folder };
        let mut watchdog = spawned?;
        let output = watchdog.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        process.watchdog = Some(watchdog);
        Ok((process, output))
    }

    /// Waits for the address that Chromium prints.
    fn address(
        &mut self,
        started: &Receiver<Result<Address, String>>,
        is_closed: &AtomicBool,
    ) -> io::Result<Address> {
        let until = Instant::now() + START;
        while Instant::now() < until && !is_closed.load(Ordering::Relaxed) {
            match started.recv_timeout(CHECK_INTERVAL) {
                Ok(address) => return address.map_err(io::Error::other),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Err(io::Error::other("it prints no address"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let (watchdog, folder) = (self.watchdog.take(), std::mem::take(&mut self.folder));
        let end = move || {
            if let Some(mut watchdog) = watchdog {
                drop(watchdog.stdin.take());
                let _ = watchdog.wait();
            }
            // The script has removed the folder unless it was killed.
            let _ = fs::remove_dir_all(&folder);
        };
        // Without a thread, the closed pipe ends the processes all the same.
        let _ = small_thread("browser-end", end);
    }
}

fn small_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(128 * 1024).spawn(work).map(drop)
}

/// Creates a private folder with a profile, which is removed with the browser.
fn own_folder() -> io::Result<PathBuf> {
    let folder = env::temp_dir().join(format!("sightline-browser-{}", uuid::Uuid::new_v4().simple()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    let profile = folder.join("profile/Default");
    let filled = fs::create_dir_all(&profile)
        .and_then(|()| fs::write(profile.join("Preferences"), preferences().to_string()));
    if filled.is_err() {
        let _ = fs::remove_dir_all(&folder);
    }
    filled.map(|()| folder)
}

fn preferences() -> Value {
    json!({
        "intl": {"accept_languages": "en-US,en", "selected_languages": "en-US,en"},
        "webrtc": {
            "ip_handling_policy": "disable_non_proxied_udp",
            "multiple_routes_enabled": false,
            "nonproxied_udp_enabled": false,
        },
        "download_restrictions": 3,
        "safebrowsing": {"enabled": false},
        "credentials_enable_service": false,
        // There are no predictions and no prefetching.
        "net": {"network_prediction_options": 2},
        "profile": {"password_manager_enabled": false, "default_content_setting_values": {
            "images": 2, "sound": 2, "notifications": 2, "geolocation": 2, "media_stream": 2, "popups": 2,
            "automatic_downloads": 2, "midi_sysex": 2, "bluetooth_guard": 2, "usb_guard": 2, "serial_guard": 2,
        }},
    })
}

/// Receives the address that Chromium prints, or the last line that it has printed when it ends, or the one about its
/// sandbox. The rest of the output is read and dropped, so that it does not fill the pipe.
fn told_by(output: ChildStderr) -> io::Result<Receiver<Result<Address, String>>> {
    let (send, started) = mpsc::channel();
    small_thread("browser-output", move || {
        let mut reader = BufReader::new(output);
        let mut why = "it has ended".to_owned();
        let found = reader.by_ref().split(b'\n').map_while(Result::ok).find_map(|line| {
            let line = String::from_utf8_lossy(&line).into_owned();
            let address = address_in(&line);
            if !names_sandbox(&why) {
                why = line;
            }
            address
        });
        // Sending fails if nobody waits any more.
        let _ = send.send(found.ok_or(why));
        let _ = io::copy(&mut reader, &mut io::sink());
    })?;
    Ok(started)
}

/// Parses a line such as "DevTools listening on ws://127.0.0.1:12345/devtools/browser/ID".
fn address_in(line: &str) -> Option<Address> {
    let url = Url::parse(line.split_once("DevTools listening on ")?.1.trim()).ok()?;
    let addr = url.socket_addrs(|| None).ok()?.into_iter().next()?;
    Some((addr, url.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_what_chromium_prints() {
        let address = address_in("DevTools listening on ws://127.0.0.1:4711/devtools/browser/a-b\n");
        assert_eq!(address, Some((SocketAddr::from(([127, 0, 0, 1], 4711)), "/devtools/browser/a-b".into())));
        assert_eq!(address_in("[1:2:ERROR] DevTools is not listening"), None);
    }

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
                source: BrowserSource::Auto,
                proxy_host: "127.0.0.1".into(),
                own: Arc::default(),
                is_unconfined: AtomicBool::new(false),
                has_started: AtomicBool::new(false),
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

    /// A script that prints its process id and a child's, and ignores SIGTERM.
    const IGNORES_SIGTERM: &str = "trap '' TERM; sleep 600 & echo $$ $! >&2; while :; do wait; done";

    #[test]
    fn a_browser_that_ignores_sigterm_is_killed_with_all_its_children() {
        let command = ["sh", "-c", IGNORES_SIGTERM].map(OsString::from);
        let (process, output) = Process::spawn(&command, own_folder().unwrap()).unwrap();
        let folder = process.folder.clone();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let processes: Vec<PathBuf> =
            line.split_whitespace().map(|id| Path::new("/proc").join(id).join("cmdline")).collect();
        let lives = |process: &PathBuf| fs::read(process).is_ok_and(|command| !command.is_empty());
        awaited("both of them run", || processes.len() == 2 && processes.iter().all(lives));
        drop(process);
        awaited("both of them have ended", || !processes.iter().any(lives));
        awaited("the folder is removed", || !folder.exists());
    }
}
