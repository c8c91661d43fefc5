//! A relay between a client and its server that simulates network faults: silence, delay, an outage, cuts.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use socket2::SockRef;

use super::chance::Chance;

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

/// A cut of a connection after that many bytes in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CutAfter {
    pub(crate) bytes: usize,
    pub(crate) way: Way,
    /// With a reset, like a machine that restarts, instead of an end, like a program that ends.
    is_reset: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// Returns the cuts of a search. The first request is cut off, then the answer to the second: that search has
/// started and its client does not know. The third passes. Of the streams that follow, one is cut in its
/// request, the others at a seeded position from their first byte to beyond their end. Before each, one stream is
/// left uncut.
pub(crate) fn cuts_of_a_search(seed: u64) -> Vec<Option<CutAfter>> {
    let mut chance = Chance::new(seed);
    let mut cut = |way, span| {
        let bytes = chance.below(span);
        Some(CutAfter { bytes, way, is_reset: chance.below(2) == 1 })
    };
    // A head has more than 100 bytes in both directions.
    let mut plan = vec![cut(Way::ToServer, 100), cut(Way::ToClient, 100), None];
    let mut streams = vec![cut(Way::ToClient, 10_000), cut(Way::ToServer, 100)];
    streams.extend([1_000, 100_000, 10_000, 1_000_000].map(|span| cut(Way::ToClient, span)));
    plan.extend(streams.into_iter().flat_map(|cut| [None, cut]));
    plan
}

struct Road {
    server: SocketAddr,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_frozen: bool,
    is_down: bool,
    delay: Duration,
    trap: Option<(String, Cut)>,
    /// Commits that were cut.
    commits: usize,
    /// The cuts of the next connections, the last one first. Later connections are not cut.
    plan: Vec<Option<CutAfter>>,
    made: Vec<CutAfter>,
    open: Vec<Weak<Pair>>,
    /// Connections that failed while it was down.
    turned_away: usize,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Self {
        Self::cutting(server, Vec::new())
    }

    /// Cuts the first connections like this. A connection that the server refuses uses up no cut.
    pub(crate) fn cutting(server: SocketAddr, mut plan: Vec<Option<CutAfter>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        plan.reverse();
        let state = Mutex::new(State { plan, ..State::default() });
        let road = Arc::new(Road { server, state, changed: Condvar::new() });
        let shared = Arc::clone(&road);
        thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(|it| shared.connect(it)));
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

    /// Cuts all connections now, and refuses new ones until [`Relay::mend`].
    pub(crate) fn go_down(&self) {
        let mut state = self.road.state.lock();
        state.is_down = true;
        state.open.drain(..).filter_map(|pair| pair.upgrade()).for_each(|pair| pair.end());
    }

    pub(crate) fn mend(&self) {
        self.road.state.lock().is_down = false;
    }

    /// Returns the number of connections that failed while it was down.
    pub(crate) fn turned_away(&self) -> usize {
        self.road.state.lock().turned_away
    }

    /// Cuts the first connection that sends `marker` at its next commit, once.
    pub(crate) fn cut(&self, marker: &str, cut: Cut) {
        self.road.state.lock().trap = Some((marker.to_owned(), cut));
    }

    /// Returns the number of cut commits.
    pub(crate) fn cuts(&self) -> usize {
        self.road.state.lock().commits
    }

    /// Returns the planned cuts that happened. A connection may end before its cut.
    pub(crate) fn made(&self) -> Vec<CutAfter> {
        self.road.state.lock().made.clone()
    }
}

impl Road {
    fn connect(self: &Arc<Self>, client: TcpStream) {
        let mut state = self.state.lock();
        if state.is_down {
            state.turned_away += 1;
            return;
        }
        // If the server is down, the client's connection ends.
        let Ok(server) = TcpStream::connect(self.server) else { return };
        for socket in [&client, &server] {
            socket.set_nodelay(true).unwrap();
        }
        let cut = state.plan.pop().flatten();
        let (has_marker, swallows_answer, is_reset) = Default::default();
        let road = Arc::clone(self);
        let pair = Arc::new(Pair { road, client, server, cut, is_reset, has_marker, swallows_answer });
        state.open.push(Arc::downgrade(&pair));
        for way in [Way::ToServer, Way::ToClient] {
            let pair = Arc::clone(&pair);
            thread::spawn(move || pair.carry(way));
        }
    }

    /// Waits as the next data must.
    fn travel(&self) -> MutexGuard<'_, State> {
        let delay = self.state.lock().delay;
        thread::sleep(delay);
        let mut state = self.state.lock();
        while state.is_frozen {
            self.changed.wait(&mut state);
        }
        state
    }
}

/// A connection: two sockets, with a thread for each direction.
struct Pair {
    road: Arc<Road>,
    client: TcpStream,
    server: TcpStream,
    cut: Option<CutAfter>,
    is_reset: AtomicBool,
    has_marker: AtomicBool,
    swallows_answer: AtomicBool,
}

impl Pair {
    /// Passes data on until one side ends or a cut happens.
    fn carry(&self, way: Way) {
        let (mut from, mut into) = match way {
            Way::ToServer => (&self.client, &self.server),
            Way::ToClient => (&self.server, &self.client),
        };
        let cut = self.cut.filter(|cut| cut.way == way);
        let mut left = cut.map_or(usize::MAX, |cut| cut.bytes);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            // An end is passed on like data.
            let read = from.read(&mut buffer).unwrap_or(0);
            let goes = read.min(left);
            left -= goes;
            let may_pass = self.may_pass(way, &buffer[..read]);
            if !may_pass || read == 0 || into.write_all(&buffer[..goes]).is_err() {
                return self.end();
            }
            if let Some(cut) = cut.filter(|_| goes < read) {
                self.is_reset.store(cut.is_reset, Ordering::SeqCst);
                self.road.state.lock().made.push(cut);
                return self.end();
            }
        }
    }

    fn may_pass(&self, way: Way, bytes: &[u8]) -> bool {
        let mut state = self.road.travel();
        if way == Way::ToClient {
            return !self.swallows_answer.load(Ordering::SeqCst);
        }
        let Some((marker, cut)) = &state.trap else { return true };
        if holds(bytes, marker.as_bytes()) {
            self.has_marker.store(true, Ordering::SeqCst);
        }
        if !self.has_marker.load(Ordering::SeqCst) || !holds(bytes, b"COMMIT\0") {
            return true;
        }
        let cut = *cut;
        state.trap = None;
        state.commits += 1;
        self.swallows_answer.store(cut == Cut::AfterCommit, Ordering::SeqCst);
        state.is_frozen = cut == Cut::ThenSilence;
        cut != Cut::BeforeCommit
    }

    fn end(&self) {
        let is_reset = self.is_reset.load(Ordering::SeqCst);
        for socket in [&self.client, &self.server] {
            // The other thread may have ended, and its peer.
            let _ = match is_reset {
                false => socket.shutdown(Shutdown::Both),
                // The reset is sent when the last thread drops the socket, so both are woken.
                true => SockRef::from(socket)
                    .set_linger(Some(Duration::ZERO))
                    .and_then(|()| socket.shutdown(Shutdown::Read)),
            };
        }
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}
