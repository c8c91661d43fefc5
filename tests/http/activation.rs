//! Socket activation: a service manager opens the socket and passes it on (`LISTEN_FDS`).

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use super::kit::{Client, get};
use crate::support::databases::sqlite;
use crate::support::process::signal;
use crate::support::server::BINARY;

/// Starts the server as a service manager does: the socket is descriptor 3, and `LISTEN_PID` names the process.
fn start_on(socket: OwnedFd, database: &str) -> Child {
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\" 3<&0 0</dev/null";
    Command::new("sh")
        .args(["-c", script, BINARY, "serve", "--listen", "127.0.0.1:1", "--sandbox=perfect"])
        .args(["--database", database])
        .stdin(Stdio::from(socket))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

#[test]
fn an_inherited_socket_is_served_and_stays_open_after_the_server() {
    let database = sqlite();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    for round in 0..2 {
        // A client that connects while no server runs waits for the next server.
        let mut early = Client::connect(address);
        early.send(get("/v1/health"));
        let mut child = start_on(socket.try_clone().unwrap().into(), &database.url);
        assert_eq!(first_line(&mut child), format!("listening on http://{address}\n"), "{round}");
        assert_eq!(early.answer().status, 200);
        signal(child.id(), "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{round}");
    }
}

#[test]
fn another_kind_of_socket_is_refused_and_the_error_says_what_is_allowed() {
    let database = sqlite();
    let folder = crate::support::folder::Folder::new();
    let deaf = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    deaf.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let kinds: [(OwnedFd, i32, &str); 4] = [
        (UnixListener::bind(folder.path("socket")).unwrap().into(), 3, "expected one listening TCP socket"),
        (UdpSocket::bind("127.0.0.1:0").unwrap().into(), 3, "expected one listening TCP socket"),
        (deaf.into(), 3, "does not listen"),
        (TcpListener::bind("0.0.0.0:0").unwrap().into(), 2, "the socket in LISTEN_FDS 0.0.0.0:"),
    ];
    for (socket, code, words) in kinds {
        let mut child = start_on(socket, &database.url);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
