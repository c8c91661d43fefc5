//! No page reaches an address that is not public.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sightline::modules::probe::{Mark, ProbeError};
use sightline::modules::reason::Reason;
use sightline::net::NetConfig;

use super::lab::{self, Lab, css, page, text};
use crate::support::site::{Site, hold, ok, read_request, with_headers};

/// Private services on both loopback addresses, which count connections by TCP and packets by UDP.
pub(super) struct Vault {
    pub(super) port: u16,
    visits: Arc<AtomicUsize>,
    datagrams: UdpSocket,
}

impl Vault {
    pub(super) fn start() -> Self {
        let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = v4.local_addr().unwrap().port();
        let visits = Arc::new(AtomicUsize::new(0));
        let v6 = TcpListener::bind(("::1", port)).ok();
        for listener in [Some(v4), v6].into_iter().flatten() {
            let visits = Arc::clone(&visits);
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    visits.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.map(|mut stream| {
                        stream.write_all(&with_headers("Access-Control-Allow-Origin: *\r\n", b"secret"))
                    });
                }
            });
        }
        let datagrams = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        Self { port, visits, datagrams }
    }

    pub(super) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }

    pub(super) fn datagrams(&self) -> usize {
        let mut count = 0;
        while self.datagrams.recv(&mut [0; 2048]).is_ok() {
            count += 1;
        }
        count
    }
}

/// An outbound proxy that simulates the public web: it serves pages by path, at all public addresses.
pub(super) fn public_web(pages: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Site {
    Site::start(move |stream, connect| {
        if !connect.line().starts_with("CONNECT ") || stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_err() {
            return;
        }
        if let Some(request) = read_request(stream) {
            let _ = stream.write_all(&pages(request.path()));
        }
    })
}

pub(super) fn hosts() -> Vec<String> {
    let known = "127.0.0.1 127.1 localhost localhost. foo.localhost 2130706433 0x7f000001 017700000001 0.0.0.0 [::1] \
                 [::ffff:127.0.0.1] [64:ff9b::7f00:1] 169.254.169.254 10.0.0.1 192.168.0.1 [fd00:ec2::254]";
    let mut hosts: Vec<String> = known.split(' ').map(str::to_owned).collect();
    // The name of this machine, which usually resolves to a private address.
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default().trim().to_owned();
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.') {
        hosts.push(name);
    }
    hosts
}

/// Tries to reach each target in every way that a page has. Then shows `#done` with the results.
const ATTACK: &str = r#"<!DOCTYPE html><head><title>attack</title></head><body><script>
const got = [];
const soon = (what, promise) => Promise.race([promise, new Promise(done => setTimeout(done, 4000))])
  .then(value => { if (value) got.push(what + ':' + value); }, () => {});
const element = (name, attributes) => {
  const made = Object.assign(document.createElement(name), attributes);
  document.body.append(made);
  return new Promise(done => { made.onload = () => done(name === 'IFRAME' ? '' : 'loaded'); made.onerror = () => done(); });
};
const tries = [];
for (const target of TARGETS) {
  const http = `http://${target}/`, ws = `ws://${target}/`;
  tries.push(soon('fetch', fetch(http).then(answer => answer.text())));
  tries.push(soon('opaque', fetch(http, {mode: 'no-cors'}).then(() => 'answered')));
  tries.push(soon('https', fetch(`https://${target}/`).then(answer => answer.text())));
  tries.push(soon('xhr', new Promise((done, fail) => {
    const asked = new XMLHttpRequest(); asked.open('POST', http); asked.onload = () => done(asked.responseText);
    asked.onerror = fail; asked.send('x');
  })));
  tries.push(soon('socket', new Promise(done => {
    const socket = new WebSocket(ws); socket.onopen = () => done('open'); socket.onerror = () => done();
  })));
  tries.push(soon('events', new Promise(done => {
    const source = new EventSource(http); source.onopen = () => done('open'); source.onerror = () => { source.close(); done(); };
  })));
  tries.push(soon('script', element('script', {src: http})), soon('style', element('link', {rel: 'stylesheet', href: http})));
  for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'preload', 'prerender', 'icon', 'manifest', 'modulepreload'])
    element('link', {rel, href: http, as: 'fetch'});
  element('img', {src: http}); element('iframe', {src: http}); element('object', {data: http}); element('embed', {src: http});
  element('video', {src: http, preload: 'auto'}); element('iframe', {src: `/to?${http}`});
  navigator.sendBeacon(http, 'x');
  const form = Object.assign(document.createElement('form'), {action: http, method: 'post', target: '_blank'});
  document.body.append(form); form.submit(); window.open(http);
  try { new Worker(http); } catch {}
  try { navigator.serviceWorker?.register(http).catch(() => {}); } catch {}
  try { new WebTransport(`https://${target}/`).ready.catch(() => {}); } catch {}
}
const rules = document.createElement('script');
rules.type = 'speculationrules';
rules.textContent = JSON.stringify({prefetch: [{source: 'list', urls: TARGETS.map(t => `http://${t}/`)}],
  prerender: [{source: 'list', urls: TARGETS.map(t => `http://${t}/`)}]});
document.head.append(rules);
const file = soon('file', fetch('file:///etc/passwd').then(answer => answer.text()));
element('iframe', {src: 'file:///etc/passwd'}); element('iframe', {src: 'view-source:file:///etc/passwd'});
try { window.open('file:///etc/passwd'); window.open('chrome://version'); } catch {}
const rtc = (async () => {
  const ice = [];
  for (const server of TARGETS.slice(0, 3).flatMap(t => [{urls: `stun:${t}`}, {urls: `turn:${t}?transport=udp`, username: 'u', credential: 'p'},
      {urls: `turn:${t}?transport=tcp`, username: 'u', credential: 'p'}])) ice.push(server);
  const peer = new RTCPeerConnection({iceServers: ice});
  peer.createDataChannel('x');
  const candidates = [];
  peer.onicecandidate = event => { if (event.candidate) candidates.push(event.candidate.candidate); };
  await peer.setLocalDescription(await peer.createOffer());
  await new Promise(done => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done(); setTimeout(done, 3000); });
  return candidates.filter(one => / typ (host|srflx|relay)/.test(one) && !/\.local /.test(one) && !/ 0\.0\.0\.0 /.test(one)).join(';');
})();
Promise.all([...tries, file, soon('rtc', rtc)]).then(() => {
  document.body.innerHTML = '';
  document.body.append(Object.assign(document.createElement('b'), {id: 'done', textContent: got.join(' | ') || 'nothing'}));
});
</script>"#;

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

pub(super) fn attack(targets: &[String]) -> Vec<u8> {
    let targets = serde_json::to_string(targets).unwrap();
    with_headers(HTML, ATTACK.replace("TARGETS", &targets).as_bytes())
}

pub(super) fn said(page: &str) -> &str {
    page.split("<b id=\"done\">").nth(1).unwrap_or_default().split("</b>").next().unwrap_or_default()
}

#[test]
fn no_page_reaches_a_private_address() {
    let secret = Vault::start();
    let endpoint = Site::start(|stream, _| hold(stream));
    let mut targets: Vec<String> = hosts().iter().map(|host| format!("{host}:{}", secret.port)).collect();
    targets.push(format!("127.0.0.1:{}", endpoint.addr.port()));
    let (page_of_attack, port) = (attack(&targets), secret.port);
    let web = public_web(move |path| match path.split_once('?') {
        Some(("/to", to)) => crate::support::site::to(302, to),
        Some(("/refresh", to)) => {
            with_headers(HTML, format!("<meta http-equiv=refresh content='0;url={to}'>").as_bytes())
        }
        _ if path == "/attack" => page_of_attack.clone(),
        _ => with_headers(HTML, b"<b id=x>public</b>"),
    });
    let net = NetConfig { outbound_proxy: web.url("").parse().ok(), ..NetConfig::default() };
    let lab = Lab::start(net, 1);
    // The public web is reachable.
    let seen = lab.see(&page("http://1.2.3.4/", &[css("#x")])).unwrap();
    assert!(text(&seen).contains("public"));

    let seen = lab.see(&page("http://1.2.3.4/attack", &[css("#done")])).unwrap();
    assert_eq!(said(text(&seen)), "nothing");
    // The page itself: at once, over TLS, by redirects of both kinds.
    for (index, host) in hosts().iter().enumerate() {
        let url = format!("http://{host}:{port}/");
        let ways = [
            url.replace("http:", "https:"),
            format!("http://1.2.3.4/to?{url}"),
            format!("http://1.2.3.4/refresh?{url}"),
        ];
        // Scripts have tried each host: here the spellings are tried at once, the ways with a few of them.
        for url in [Some(&url), ways.get(index)].into_iter().flatten() {
            let seen = lab.see(&page(url, &[Mark::Text("secret".into())])).map(|seen| seen.status);
            // A loopback name that the system's resolver does not know does not resolve.
            let leads_nowhere =
                host.ends_with(".localhost") && matches!(seen, Err(ProbeError { reason: Reason::Dns, .. }));
            assert!(seen == Err(ProbeError::forbidden()) || leads_nowhere, "{url}: {seen:?}");
        }
    }
    assert_eq!((secret.visits(), secret.datagrams(), endpoint.connections()), (0, 0, 0));
    let asked: BTreeSet<String> = web.received().iter().map(|connect| connect.line().to_owned()).collect();
    assert!(asked.iter().all(|line| line.starts_with("CONNECT 1.2.3.4:")), "{asked:?}");
    // The private services are reachable, so that the test can fail.
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    crate::support::eventually("the visit is counted", || secret.visits() == 1);
}

/// Even if loopback addresses are allowed, the browser's own port is not.
#[test]
fn no_page_reaches_the_browser_itself_even_if_private_addresses_are_allowed() {
    let lab = lab::shared();
    let port = lab.port();
    let targets = [format!("127.0.0.1:{port}"), format!("127.0.0.1:{port}/json/new?about:blank")];
    let body = attack(&targets);
    let site = Site::by_path(move |path| if path == "/attack" { body.clone() } else { ok("") });
    let seen = lab.see(&page(&site.url("/attack"), &[css("#done")])).unwrap();
    assert_eq!(said(text(&seen)), "nothing");
}
