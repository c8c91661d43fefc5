//! A real Chromium for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sightline::modules::definition::{Method, Via};
use sightline::modules::probe::{Browsers, CookieJar, Mark, ProbeError, Prober, Request, Response, Trace};
use sightline::modules::reason::Reason;
use sightline::net::browser::{BrowserSource, EgressProxyAddress};
use sightline::net::{HttpProber, NetConfig, RealBrowsers};

use crate::support::awaited;
use crate::support::server::PATIENCE;

/// Longer than any page of a test takes, even on a busy machine.
pub(super) const LONG: Duration = PATIENCE;

/// A Chromium of its own.
pub(super) struct Lab {
    pub(super) browsers: Arc<RealBrowsers>,
    /// Head of the browser's process group.
    keeper: AtomicU32,
}

/// A new browser is recognized by comparison with the earlier ones, because browsers are started one after the other.
static STARTING: Mutex<()> = Mutex::new(());

impl Lab {
    pub(super) fn start(net: NetConfig, pages: usize) -> Self {
        Self::of(BrowserSource::auto().unwrap(), net, pages)
    }

    pub(super) fn of(source: BrowserSource, net: NetConfig, pages: usize) -> Self {
        let _turn: MutexGuard<'_, ()> = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = keepers();
        let browsers = browsers(source, net, pages);
        awaited("a browser answers", || {
            if browsers.is_available() { Ok(()) } else { Err("none: is chromium there?") }
        });
        let keeper = (*keepers().difference(&before).next().unwrap()).into();
        Self { browsers, keeper }
    }

    /// Renders a page with enough time.
    pub(super) fn see(&self, request: &Request) -> Result<Response, ProbeError> {
        self.see_within(request, LONG)
    }

    /// The limit is the page's: until a browser has a place for it, it is not opened, however long that takes on a busy
    /// machine.
    pub(super) fn see_within(&self, request: &Request, limit: Duration) -> Result<Response, ProbeError> {
        let begun = Instant::now();
        loop {
            let began = Instant::now();
            let seen = self.browsers.send(request, &mut CookieJar::default(), began + limit);
            let took = began.elapsed();
            assert!(took < limit + LONG / 3, "{took:?} for a limit of {limit:?}: {seen:?}");
            let is_unopened = matches!(seen, Err(ProbeError { reason: Reason::TimeoutConnect, .. }));
            if !is_unopened || begun.elapsed() >= LONG {
                return seen;
            }
        }
    }

    /// The same, once more with more time where it is not what is wanted: on a busy machine a browser may be had so
    /// late, or be so slow, that a short limit leaves a page none.
    pub(super) fn see_wanted(
        &self,
        request: &Request,
        mut limit: Duration,
        is_wanted: impl Fn(&Result<Response, ProbeError>) -> bool,
    ) -> Result<Response, ProbeError> {
        let begun = Instant::now();
        loop {
            let seen = self.see_within(request, limit);
            if is_wanted(&seen) || begun.elapsed() >= LONG {
                return seen;
            }
            limit = (2 * limit).min(LONG / 3);
        }
    }

    /// Renders a page, and repeats that once after a failure, as checks do.
    pub(super) fn see_at_last(&self, request: &Request) -> Response {
        awaited("a page is seen again", || self.see(request))
    }

    /// Returns the processes of the browser, each with its id and command line.
    pub(super) fn processes(&self) -> BTreeMap<u32, String> {
        let mut found = BTreeMap::new();
        let all = processes();
        let mut wanted = BTreeSet::from([self.keeper.load(Ordering::SeqCst)]);
        // Ids of children are usually greater than those of their parents. A second pass finds the others.
        for _ in 0..4 {
            for (id, process) in &all {
                if wanted.contains(&process.parent) {
                    wanted.insert(*id);
                    found.insert(*id, process.command.clone());
                }
            }
        }
        found
    }

    /// Returns the port of the DevTools protocol, which Chromium writes into its profile.
    pub(super) fn port(&self) -> u16 {
        let command = self.processes().into_values().find(|command| is_browser(command)).unwrap();
        let profile = command.split("--user-data-dir=").nth(1).unwrap().split(' ').next().unwrap();
        let told = std::fs::read_to_string(format!("{profile}/DevToolsActivePort")).unwrap();
        told.lines().next().unwrap().parse().unwrap()
    }

    /// A lock that a test holds while another browser is started.
    pub(super) fn with_another_browser(&self, act: impl FnOnce()) {
        let _turn: MutexGuard<'_, ()> = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = keepers();
        act();
        let keeper = *keepers().difference(&before).next().unwrap();
        self.keeper.store(keeper, Ordering::SeqCst);
    }

    /// Kills all processes whose command line contains that text. Returns their number.
    pub(super) fn kill(&self, sign: impl Fn(&str) -> bool) -> usize {
        let targets: Vec<u32> =
            self.processes().into_iter().filter(|(_, command)| sign(command)).map(|(id, _)| id).collect();
        for id in &targets {
            let _ = std::process::Command::new("kill").args(["-KILL", &id.to_string()]).status();
        }
        targets.len()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.browsers.stop();
    }
}

pub(super) fn is_browser(command: &str) -> bool {
    command.contains("--headless") && !command.contains("--type=") && !command.starts_with("sh ")
}

pub(super) fn is_renderer(command: &str) -> bool {
    command.contains("--type=renderer")
}

/// Returns whether the process runs.
pub(super) fn lives(id: u32) -> bool {
    std::fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|command| !command.is_empty())
}

pub(super) fn browsers(source: BrowserSource, net: NetConfig, pages: usize) -> Arc<RealBrowsers> {
    RealBrowsers::start(source, pages, EgressProxyAddress::default(), &HttpProber::new(net)).unwrap()
}

/// A browser with two pages that may look at loopback, shared by all tests that leave it as it was. It ends with the
/// process.
pub(super) fn shared() -> &'static Lab {
    static SHARED: OnceLock<Lab> = OnceLock::new();
    SHARED.get_or_init(|| Lab::start(lab_net(), 2))
}

pub(super) fn lab_net() -> NetConfig {
    NetConfig { allow_private_targets: true, ..NetConfig::default() }
}

pub(super) fn page(url: &str, until: &[Mark]) -> Request {
    Request {
        method: Method::Get,
        via: Via::Browser,
        url: url.parse().unwrap(),
        headers: Vec::new(),
        body: None,
        max_redirects: 5,
        body_limit: 1024 * 1024,
        marks: until.to_vec(),
        trace: Trace { module: "site".into(), probe: 0, query: "someone".into(), control: false },
    }
}

pub(super) fn css(selector: &str) -> Mark {
    Mark::Css(selector.to_owned())
}

pub(super) fn text(response: &Response) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

struct Process {
    parent: u32,
    command: String,
}

fn processes() -> BTreeMap<u32, Process> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let stat = String::from_utf8_lossy(&read("stat")).into_owned();
        // The format is "id (name) state parent …". The name may contain any character.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        if let Some(parent) = parent {
            found.insert(id, Process { parent, command });
        }
    }
    found
}

/// The child processes that watch browsers.
fn keepers() -> BTreeSet<u32> {
    let is_keeper = |process: &Process| {
        process.parent == std::process::id() && process.command.contains("chromium --headless=new")
    };
    processes().into_iter().filter(|(_, process)| is_keeper(process)).map(|(id, _)| id).collect()
}
