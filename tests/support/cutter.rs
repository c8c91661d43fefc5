//! A TCP proxy that cuts connections, after a number of bytes in either direction.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use socket2::SockRef;

use crate::http::chance::Chance;

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cut {
    pub(crate) way: Way,
    /// So many bytes go through that way, no more.
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
    /// As a program that ends: FIN.
    Close,
    /// As a machine that restarts: RST.
    Reset,
}

/// Where a search may lose its connections. The first request is cut off, then the answer to the second one: that
/// search has begun and its client does not know. The third gets through. Of the streams that follow, one is cut in
/// its request, the others where chance says, from their first byte to beyond their end; `whole` that many are left
/// alone before each.
pub(crate) fn cuts_of_a_search(seed: u64, whole: usize) -> Vec<Option<Cut>> {
    let mut chance = Chance::new(seed);
    let mut cut = |way, span| Some(Cut { way, after: chance.below(span), manner: manner(&mut chance) });
    // A head has more than 100 bytes, in both directions.
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

/// A running proxy. What goes through it ends with the client or the server.
pub(crate) struct Cutter {
    pub(crate) address: SocketAddr,
    desk: Arc<Desk>,
}

struct Desk {
    upstream: SocketAddr,
    /// For the connections to come, in their order; those after them are left whole.
    plan: Mutex<std::vec::IntoIter<Option<Cut>>>,
    made: Mutex<Vec<Cut>>,
    is_closed: AtomicBool,
}

impl Cutter {
    /// In front of a server. A connection that the server does not take counts for nothing in the plan.
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

    /// The cuts that came to pass: a connection may end before the place of its own.
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
    // A server that is away: the client sees its connection end.
    let Ok(server) = TcpStream::connect(desk.upstream) else { return };
    let cut = desk.plan.lock().unwrap().next().flatten();
    let pair =
        Arc::new(Pair { desk: Arc::clone(desk), client, server, cut, has_happened: AtomicBool::new(false) });
    let other = Arc::clone(&pair);
    std::thread::spawn(move || other.pump(Way::ToServer));
    pair.pump(Way::ToClient);
}

/// A connection: two sockets, a thread for each way.
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
            // The other thread may be gone already, and its peer.
            let _ = match cut.manner {
                Manner::Close => socket.shutdown(Shutdown::Both),
                // The reset goes out when the last thread lets go of the socket: both are woken.
                Manner::Reset => SockRef::from(socket)
                    .set_linger(Some(std::time::Duration::ZERO))
                    .and_then(|()| socket.shutdown(Shutdown::Read)),
            };
        }
    }

    /// One side has ended: the other one is told, unless that would be a kinder end than the cut's.
    fn end(&self, other: &TcpStream) {
        let is_reset = self.has_happened() && self.cut.is_some_and(|cut| cut.manner == Manner::Reset);
        if !is_reset {
            let _ = other.shutdown(Shutdown::Both);
        }
    }
}
