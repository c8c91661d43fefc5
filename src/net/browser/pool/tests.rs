use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use url::Url;

use super::*;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::net::browser::client::Client;
use crate::net::browser::egress::{Destination, OwnPorts};
use crate::net::browser::endpoint::{Endpoint, Source};

const LONG: Duration = Duration::from_secs(60);

struct EmptyWeb;

impl Prober for EmptyWeb {
    fn send(&self, _: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        unreachable!("no page is opened")
    }
}

/// Starts an endpoint that allows that many sessions. `pause` is called before it opens one.
struct Grid {
    url: Url,
    commands: Arc<Mutex<Vec<String>>>,
}

impl Grid {
    fn start(max: usize, pause: impl Fn() + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let commands = Arc::new(Mutex::new(Vec::<String>::new()));
        let (log, pause) = (Arc::clone(&commands), Arc::new(pause));
        let serve = move |stream: std::net::TcpStream| {
            let command = read(&stream);
            if command.starts_with("POST /session ") {
                pause();
            }
            let mut log = log.lock();
            let count = |sign: &str| log.iter().filter(|command| command.starts_with(sign)).count();
            let is_full = count("opened") - count("DELETE") >= max;
            let (status, value) = match command.starts_with("POST /session ") {
                true if is_full => ("500 Full", r#"{"error": "session not created", "message": "full"}"#),
                true => ("200 OK", r#"{"sessionId": "s", "capabilities": {}}"#),
                false => ("200 OK", r#""w""#),
            };
            let is_opened = command.starts_with("POST /session ") && !is_full;
            log.push(if is_opened { "opened".into() } else { command });
            let body = format!(r#"{{"value": {value}}}"#);
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            // The client may have disconnected.
            let _ = (&stream).write_all((head + &body).as_bytes());
        };
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        Self { url, commands }
    }

    fn pool(&self, places: usize) -> Pool {
        let destination = Arc::new(Destination::Simulated(Arc::new(EmptyWeb)));
        let slots = (0..places).map(|_| {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            Slot::new(
                EgressProxy::open(addr, Arc::clone(&destination), Arc::new(|_| true)).unwrap(),
                "127.0.0.1:1".into(),
            )
        });
        let endpoint = Endpoint::new(Source::Given(Arc::new(Client::new(&self.url))));
        let opener = Arc::new(Opener::new(vec![endpoint], Arc::new(OwnPorts::default())));
        Pool::new(slots.collect(), opener)
    }

    fn count(&self, sign: &str) -> usize {
        self.commands.lock().iter().filter(|command| command.starts_with(sign)).count()
    }
}

/// Reads a request and returns its first line.
fn read(stream: &std::net::TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut lines = vec![String::new()];
    let mut length = 0;
    while reader.read_line(lines.last_mut().unwrap()).unwrap() > 2 {
        let line = lines.last().unwrap().to_ascii_lowercase();
        length = line.strip_prefix("content-length:").map_or(length, |value| value.trim().parse().unwrap());
        lines.push(String::new());
    }
    reader.take(length).read_to_end(&mut Vec::new()).unwrap();
    lines.swap_remove(0)
}

fn soon() -> Instant {
    Instant::now() + LONG
}

impl Pool {
    /// Leases a slot with an open session.
    fn filled(&self) -> Lease<'_> {
        let mut lease = self.take(soon()).unwrap();
        lease.fill(soon()).unwrap();
        lease
    }

    fn end(&self) {
        self.opener.close();
        self.close(soon());
        self.opener.wait_idle(soon());
    }
}

#[test]
fn a_check_uses_an_open_browser_and_a_trial_does_not() {
    let grid = Grid::start(2, || {});
    let pool = grid.pool(2);
    drop(pool.filled());
    let trial = pool.take_unopened().unwrap();
    assert!(!trial.slot.as_ref().unwrap().is_open(), "a slot without an open session is taken");
    let check = pool.take(soon()).unwrap();
    assert!(check.slot.as_ref().unwrap().is_open());
    assert!(pool.take_unopened().is_none() && pool.busy() == 2);
    drop((check, trial));
    let (first, second) = (pool.filled(), pool.filled());
    drop((first, second));
    assert!(pool.take_unopened().is_some(), "any slot is taken if all are open");
    assert_eq!(grid.count("opened"), 2);
    pool.end();
    assert_eq!((grid.count("DELETE /session/s"), pool.opener.open_sessions()), (2, 0));
}

#[test]
fn at_a_full_endpoint_a_check_gets_the_first_free_browser() {
    let grid = Grid::start(1, || {});
    let pool = grid.pool(2);
    let first = pool.filled();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut lease = pool.take(soon()).unwrap();
            lease.fill(soon()).map(|()| lease.slot.as_ref().unwrap().is_open())
        });
        let began = Instant::now();
        while grid.count("POST /session") == 0 {
            assert!(began.elapsed() < LONG, "a second session is requested and refused");
            thread::sleep(Duration::from_millis(5));
        }
        drop(first);
        assert_eq!(second.join().unwrap(), Ok(true));
    });
    assert!(!pool.opener.has_failed(), "a full endpoint is not a failure");
    pool.end();
    assert_eq!(grid.count("DELETE"), grid.count("opened"));
}

#[test]
fn a_closed_pool_leaves_no_browser_running() {
    let (is_held, reached, released) =
        (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (held, at, until) = (Arc::clone(&is_held), Arc::clone(&reached), Arc::clone(&released));
    let grid = Grid::start(3, move || {
        if held.load(Ordering::SeqCst) {
            at.wait();
            until.wait();
        }
    });
    let pool = grid.pool(3);
    // An idle session, one in use, and one that is being opened for a check that has stopped waiting.
    let (idle, mut in_use) = (pool.filled(), pool.filled());
    drop(idle);
    is_held.store(true, Ordering::SeqCst);
    let mut late = pool.take_unopened().unwrap();
    assert_eq!(late.try_start(Instant::now()), Err(NoSession::Late));
    drop(late);
    reached.wait();
    pool.opener.close();
    thread::scope(|scope| {
        let closing = scope.spawn(|| pool.close(soon()));
        assert!(matches!(in_use.fill(soon()), Err(NoSession::Failed(_))), "no session is opened any more");
        drop(in_use);
        closing.join().unwrap();
    });
    released.wait();
    pool.opener.wait_idle(soon());
    assert_eq!((grid.count("opened"), grid.count("DELETE")), (3, 3));
    assert_eq!(pool.opener.open_sessions(), 0);
}
