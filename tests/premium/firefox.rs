//! Tests with geckodriver and Firefox, if they are in the `PATH`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sightline::modules::probe::{Browsers, CookieJar, Mark, ProbeError, Request, Response};
use sightline::net::{BrowserConfig, NetConfig, RealBrowsers};

use super::browser::{nothing_is_carried, only_what_is_looked_at_is_loaded, site};
use super::egress::{Vault, attack, hosts, public_web, said};
use super::lab::{self, css, page, text};
use crate::support::awaited;
use crate::support::site::{closed_port, to};

/// A geckodriver that the test has started. It ends its browser when it receives SIGTERM.
struct Gecko {
    child: Child,
    url: String,
}

impl Gecko {
    /// Returns `None` if there is no geckodriver or no Firefox.
    fn start() -> Option<Self> {
        let (driver, firefox) = (found("geckodriver")?, found("firefox").or_else(|| found("firefox-esr"))?);
        let mut child = Command::new(driver)
            .args(["--port=0", "--websocket-port=0", "--log=info", "--binary"])
            .arg(firefox)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // "… Listening on 127.0.0.1:12345"
        let at = lines.find_map(|line| Some(line.split_once("Listening on ")?.1.trim().to_owned())).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { child, url: format!("http://{at}") })
    }
}

impl Gecko {
    fn browsers(&self, net: NetConfig, sessions: usize) -> RealBrowsers {
        let config = BrowserConfig { endpoints: vec![lab::at(&self.url)], ..lab::config(net, sessions) };
        let browsers = RealBrowsers::start(&config).unwrap();
        awaited("a browser answers", || if browsers.is_available() { Ok(()) } else { Err("none") });
        browsers
    }
}

impl Drop for Gecko {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn found(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

#[test]
fn firefox_behaves_like_chromium() {
    let Some(gecko) = Gecko::start() else {
        return eprintln!("left out: geckodriver and firefox are not both in the PATH");
    };
    // More slots than a geckodriver has sessions.
    let browsers = gecko.browsers(lab::lab_net(), 2);
    let see = |request: &Request| see(&browsers, request, lab::LONG).unwrap();
    it_renders(&browsers);
    nothing_is_carried(3, see);
    only_what_is_looked_at_is_loaded(see);
    assert_eq!(browsers.load().open, 1, "one session for all of them");
    browsers.stop();
    assert_eq!(browsers.load().open, 0);
    it_reaches_nothing_private(&gecko);
}

fn see(browsers: &RealBrowsers, request: &Request, limit: Duration) -> Result<Response, ProbeError> {
    browsers.prober().send(request, &mut CookieJar::default(), Instant::now() + limit)
}

fn it_renders(browsers: &RealBrowsers) {
    let site = site();
    let at = |path: &str, mark: Mark| page(&site.url(path), &[mark]);
    for (path, mark, status) in [
        ("/hit", css("h1.name"), 200),
        ("/miss", Mark::Text("Page not found".into()), 404),
        ("/titled", Mark::TitleIs("Drawn".into()), 200),
        ("/moved", Mark::Url("/hit?from".into()), 404),
        ("/wall", Mark::Title("Just a moment".into()), 403),
        ("/alert", css("#x"), 200),
        ("/popup", css("#x"), 200),
    ] {
        let seen =
            see(browsers, &at(path, mark), lab::LONG).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(seen.status, status, "{path}");
        assert!(!text(&seen).contains("Drawn soon"), "{}", text(&seen));
    }
    let round = see(browsers, &at("/round", css("a")), lab::LONG);
    assert!(matches!(round, Err(ProbeError::Redirect(_))), "{round:?}");
    let closed =
        see(browsers, &page(&format!("http://127.0.0.1:{}/", closed_port()), &[css("a")]), lab::LONG);
    assert!(matches!(closed, Err(ProbeError::Connect(_))), "{closed:?}");
    for path in ["/download", "/busy"] {
        let seen = see(browsers, &at(path, css("#none")), Duration::from_secs(4));
        assert!(matches!(seen, Err(ProbeError::Timeout(_))), "{path}: {seen:?}");
    }
}

fn it_reaches_nothing_private(gecko: &Gecko) {
    let secret = Vault::start();
    let targets: Vec<String> = hosts().iter().map(|host| format!("{host}:{}", secret.port)).collect();
    let attack = attack(&targets);
    let web = public_web(move |path| match path.split_once('?') {
        Some(("/to", target)) => to(302, target),
        _ => attack.clone(),
    });
    let net = NetConfig { outbound_proxy: Some(web.url("")), ..NetConfig::default() };
    let browsers = gecko.browsers(net, 1);
    let seen = see(&browsers, &page("http://1.2.3.4/", &[css("#done")]), lab::LONG).unwrap();
    assert_eq!(said(text(&seen)), "nothing");
    for host in ["127.0.0.1", "localhost", "[::1]", "2130706433", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        let address = format!("http://{host}:{}/", secret.port);
        for url in [address.replace("http:", "https:"), format!("http://1.2.3.4/to?{address}"), address] {
            let request = page(&url, &[Mark::Text("secret".into())]);
            let seen = see(&browsers, &request, lab::LONG).map(|seen| seen.status);
            assert_eq!(seen, Err(ProbeError::ForbiddenAddress), "{url}");
        }
    }
    assert_eq!((secret.visits(), secret.datagrams()), (0, 0));
    let asked: BTreeSet<String> = web.received().iter().map(|connect| connect.line().to_owned()).collect();
    assert!(asked.iter().all(|line| line.starts_with("CONNECT 1.2.3.4:")), "{asked:?}");
}
