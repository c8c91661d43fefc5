//! A relay between a client and its server that simulates network faults: silence, delay, cuts.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// A relay in front of one server. It ends with the process of the tests.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    road: Arc<Road>,
}

/// Where the next commit of a connection that sent the marker is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never gets the commit.
    BeforeCommit,
    /// The server commits, and its answer is lost.
    AfterCommit,
    /// The server commits, its answer is lost, and nothing passes until the relay is told to continue.
    ThenSilence,
}

#[derive(Default)]
struct Road {
    state: Mutex<State>,
    changed: Condvar,
    cuts: std::sync::atomic::AtomicUsize,
}

#[derive(Default)]
struct State {
    is_frozen: bool,
    delay: Duration,
    trap: Option<(String, Cut)>,
}

/// Both directions of one connection.
#[derive(Default)]
struct Pair {
    has_marker: AtomicBool,
    swallows_answer: AtomicBool,
}

impl Relay {
    pub(crate) fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let road = Arc::new(Road::default());
        let shared = Arc::clone(&road);
        thread::spawn(move || {
            for client in listener.incoming() {
                connect(client.unwrap(), &server, &shared);
            }
        });
        Self { address, road }
    }

    /// Keeps every connection open and passes nothing on, not even an end, until it is told to continue. No
    /// sent data is lost.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        self.road.state.lock().is_frozen = is_frozen;
        self.road.changed.notify_all();
    }

    /// Delays each direction by this time.
    pub(crate) fn delay(&self, delay: Duration) {
        self.road.state.lock().delay = delay;
    }

    /// Cuts the first connection that sends `marker` at its next commit, once.
    pub(crate) fn cut(&self, marker: &str, cut: Cut) {
        self.road.state.lock().trap = Some((marker.to_owned(), cut));
    }

    /// Returns the number of cut connections.
    pub(crate) fn cuts(&self) -> usize {
        self.road.cuts.load(Ordering::SeqCst)
    }
}

fn connect(client: TcpStream, server: &str, road: &Arc<Road>) {
    // If the server is down, the client's connection ends.
    let Ok(server) = TcpStream::connect(server) else { return };
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
    }
    let pair = Arc::new(Pair::default());
    let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (road_back, pair_back) = (Arc::clone(road), Arc::clone(&pair));
    let road = Arc::clone(road);
    thread::spawn(move || pass_on(client, forth, |bytes| road.may_go(bytes, &pair)));
    thread::spawn(move || pass_on(server, back, |bytes| road_back.may_come(bytes, &pair_back)));
}

/// Passes data on while `may_pass` allows it, until one side ends.
fn pass_on(mut from: TcpStream, mut to: TcpStream, may_pass: impl Fn(&[u8]) -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        // An end is passed on like data.
        if !may_pass(&buffer[..read]) || read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

impl Road {
    /// Decides about data from the client to the server.
    fn may_go(&self, bytes: &[u8], pair: &Pair) -> bool {
        let mut state = self.travel();
        let Some((marker, cut)) = &state.trap else { return true };
        if holds(bytes, marker.as_bytes()) {
            pair.has_marker.store(true, Ordering::SeqCst);
        }
        let is_it = pair.has_marker.load(Ordering::SeqCst) && holds(bytes, b"COMMIT\0");
        if !is_it {
            return true;
        }
        let cut = *cut;
        state.trap = None;
        self.cuts.fetch_add(1, Ordering::SeqCst);
        pair.swallows_answer.store(cut == Cut::AfterCommit, Ordering::SeqCst);
        state.is_frozen = cut == Cut::ThenSilence;
        cut != Cut::BeforeCommit
    }

    /// Decides about data from the server to the client.
    fn may_come(&self, _: &[u8], pair: &Pair) -> bool {
        drop(self.travel());
        !pair.swallows_answer.load(Ordering::SeqCst)
    }

    fn travel(&self) -> parking_lot::MutexGuard<'_, State> {
        let delay = self.state.lock().delay;
        thread::sleep(delay);
        let mut state = self.state.lock();
        while state.is_frozen {
            self.changed.wait(&mut state);
        }
        state
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
