//! A connection between a browser and a server that can be cut, stay down, and return.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;

/// A connection to one server. It ends with the process of the tests.
pub(super) struct Line {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_down: bool,
    open: Vec<TcpStream>,
    /// Connections that failed while it was down.
    turned_away: usize,
}

impl Line {
    pub(super) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                connect(client, server, &shared);
            }
        });
        Self { address, state }
    }

    /// Cuts all connections now, and refuses new ones until [`Line::mend`].
    pub(super) fn cut(&self) {
        let mut state = self.state.lock();
        state.is_down = true;
        for socket in state.open.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn mend(&self) {
        self.state.lock().is_down = false;
    }

    /// Returns the number of connections that failed while it was down.
    pub(super) fn turned_away(&self) -> usize {
        self.state.lock().turned_away
    }
}

fn connect(client: TcpStream, server: SocketAddr, state: &Arc<Mutex<State>>) {
    let mut state = state.lock();
    if state.is_down {
        state.turned_away += 1;
        return;
    }
    let Ok(server) = TcpStream::connect(server) else { return };
    for socket in [&client, &server] {
        socket.set_nodelay(true).unwrap();
        state.open.push(socket.try_clone().unwrap());
    }
    let (back, forth) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || pass_on(client, forth));
    std::thread::spawn(move || pass_on(server, back));
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
