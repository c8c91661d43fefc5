//! A TCP proxy that cuts connections, after a number of bytes in either direction.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use socket2::SockRef;

use crate::support::chance::Chance;

/// A cut of one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) way: Way,
    /// The number of bytes that pass in that direction before the cut.
    pub(crate) after: usize,
    pub(crate) manner: Manner,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    /// Closes the connection like a program that ends: FIN.
    Close,
    /// Resets the connection like a machine that restarts: RST.
    Reset,
}

/// Returns the cuts of a search. The first request is cut off, then the answer to the second: that search has
/// started and its client does not know. The third passes. Of the streams that follow, one is cut in its
/// request, the others at a seeded position from their first byte to beyond their end. Before each, `whole`
/// streams are left uncut.
pub(crate) fn cuts_of_a_search(seed: u64, whole: usize) -> Vec<Option<Cut>> {
    let mut chance = Chance::new(seed);
    let mut cut = |way, span| Some(Cut { way, after: chance.below(span), manner: manner(&mut chance) });
    // A head has more than 100 bytes in both directions.
    let mut plan = vec![cut(Way::ToServer, 100), cut(Way::ToClient, 100), None];
    let mut streams = vec![cut(Way::ToClient, 10_000), cut(Way::ToServer, 100)];
    streams.extend([1_000, 100_000, 10_000, 1_000_000].map(|span| cut(Way::ToClient, span)));
    for cut in streams {
        plan.extend(std::iter::repeat_n(None, whole));
        plan.push(cut);
    }
    plan
}

fn manner(chance: &mut Chance) -> Manner {
    if chance.below(2) == 0 { Manner::Close } else { Manner::Reset }
}

/// A running proxy. A connection ends with its client or its server.
pub(crate) struct Cutter {
    pub(crate) address: SocketAddr,
    desk: Arc<Desk>,
}

struct Desk {
    upstream: SocketAddr,
    /// The cuts of the next connections, in order. Later connections are not cut.
    plan: Mutex<std::vec::IntoIter<Option<Cut>>>,
    made: Mutex<Vec<Cut>>,
    is_closed: AtomicBool,
}

impl Cutter {
    /// Starts a proxy in front of a server. A connection that the server refuses uses up no cut.
    pub(crate) fn before(upstream: SocketAddr, plan: Vec<Option<Cut>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let desk = Arc::new(Desk {
            upstream,
            plan: Mutex::new(plan.into_iter()),
            made: Mutex::default(),
            is_closed: AtomicBool::new(false),
        });
        let taken = Arc::clone(&desk);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if taken.is_closed.load(Ordering::SeqCst) {
                    return;
                }
                let desk = Arc::clone(&taken);
                std::thread::spawn(move || carry(&desk, client));
            }
        });
        Self { address, desk }
    }

    /// Returns the cuts that happened. A connection may end before its cut.
    pub(crate) fn made(&self) -> Vec<Cut> {
        self.desk.made.lock().unwrap().clone()
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.desk.is_closed.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn carry(desk: &Arc<Desk>, client: TcpStream) {
    // If the server is down, the client's connection ends.
    let Ok(server) = TcpStream::connect(desk.upstream) else { return };
    let cut = desk.plan.lock().unwrap().next().flatten();
    let pair =
        Arc::new(Pair { desk: Arc::clone(desk), client, server, cut, has_happened: AtomicBool::new(false) });
    let other = Arc::clone(&pair);
    std::thread::spawn(move || other.pump(Way::ToServer));
    pair.pump(Way::ToClient);
}

/// A connection: two sockets, with a thread for each direction.
struct Pair {
    desk: Arc<Desk>,
    client: TcpStream,
    server: TcpStream,
    cut: Option<Cut>,
    has_happened: AtomicBool,
}

impl Pair {
    fn pump(&self, way: Way) {
        let (mut from, mut into) = match way {
            Way::ToServer => (&self.client, &self.server),
            Way::ToClient => (&self.server, &self.client),
        };
        let mut left = self.cut.filter(|cut| cut.way == way).map_or(usize::MAX, |cut| cut.after);
        let mut piece = [0; 4096];
        loop {
            let length = match from.read(&mut piece) {
                Ok(0) | Err(_) => return self.end(into),
                Ok(length) => length,
            };
            let goes = length.min(left);
            left -= goes;
            if into.write_all(&piece[..goes]).is_err() {
                return self.end(from);
            }
            if goes < length {
                return self.happen();
            }
        }
    }

    fn has_happened(&self) -> bool {
        self.has_happened.load(Ordering::SeqCst)
    }

    fn happen(&self) {
        let Some(cut) = self.cut else { return };
        self.has_happened.store(true, Ordering::SeqCst);
        self.desk.made.lock().unwrap().push(cut);
        for socket in [&self.client, &self.server] {
            // The other thread may have ended, and its peer.
            let _ = match cut.manner {
                Manner::Close => socket.shutdown(Shutdown::Both),
                // The reset is sent when the last thread drops the socket, so both are woken.
                Manner::Reset => SockRef::from(socket)
                    .set_linger(Some(std::time::Duration::ZERO))
                    .and_then(|()| socket.shutdown(Shutdown::Read)),
            };
        }
    }

    /// Handles the end of one side: the other side is closed, unless the cut requires a reset.
    fn end(&self, other: &TcpStream) {
        let is_reset = self.has_happened() && self.cut.is_some_and(|cut| cut.manner == Manner::Reset);
        if !is_reset {
            let _ = other.shutdown(Shutdown::Both);
        }
    }
}
