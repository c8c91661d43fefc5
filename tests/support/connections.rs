//! Connections to a site of a test.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Answers each connection in a thread of its own until the process of the tests ends.
pub(crate) fn answer_all(listener: TcpListener, answer: impl Fn(TcpStream) + Send + Sync + 'static) {
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || answer(socket.unwrap()));
        }
    });
}
