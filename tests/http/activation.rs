//! A socket that a service manager opened and hands over (`LISTEN_FDS`).

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use super::kit::{Client, get};
use crate::support::databases::sqlite;
use crate::support::server::BINARY;

/// Starts the server as a service manager would: the socket is descriptor 3, and the process is named.
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
fn a_handed_over_socket_is_served_and_outlives_the_server() {
    let database = sqlite();
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    for round in 0..2 {
        // Who comes while no server runs waits for the next one.
        let mut early = Client::connect(address);
        early.send(get("/v1/health"));
        let mut child = start_on(socket.try_clone().unwrap().into(), &database.url);
        assert_eq!(first_line(&mut child), format!("listening on http://{address}\n"), "{round}");
        assert_eq!(early.answer().status, 200);
        let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(stopped.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{round}");
    }
}

#[test]
fn another_kind_of_socket_is_refused_with_what_is_allowed() {
    let database = sqlite();
    let folder = crate::support::folder::Folder::new();
    let deaf = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let kinds: [(OwnedFd, &str); 3] = [
        (UnixListener::bind(folder.path("socket")).unwrap().into(), "one listening TCP socket is allowed"),
        (UdpSocket::bind("127.0.0.1:0").unwrap().into(), "one listening TCP socket is allowed"),
        (deaf.into(), "does not listen"),
    ];
    for (socket, words) in kinds {
        let mut child = start_on(socket, &database.url);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{said}");
        assert!(said.contains(words), "{said}");
    }
}
