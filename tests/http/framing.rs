//! Bodies with too large an announced length, and new connections from a port that was used before. Other malformed
//! requests are in `hostile`.

use std::net::SocketAddr;

use super::kit::{Client, TestServer, get, post};

#[test]
fn a_413_reaches_a_client_that_sends_its_whole_body_first() {
    let server = TestServer::new();
    let mut client = server.connect();
    // The server reads on for a limited time only.
    client.try_send(post("/a", 500_000, &"a".repeat(500_000)));
    assert_eq!(client.answer().status, 413);
}

/// When such a request is dropped, tiny_http allocates a buffer of the announced size, which would abort the process. It
/// is leaked instead, so these lengths are not in the table of hostile clients, which lets nothing be leaked.
#[test]
fn no_announced_length_ends_the_process() {
    let server = TestServer::new();
    for length in ["100000000000", "1000000000000000", "9223372036854775807"] {
        let mut client = server.connect();
        client.send(post("/a", length.parse().unwrap(), "abc"));
        assert_eq!(client.answer().status, 413, "{length}");
        drop(client);
        assert_eq!(server.ask(&get("/")).status, 200, "after {length}");
    }
}

/// The server remembers a closed connection for a moment, so that its late requests are not taken for those of a new
/// connection. A new connection from the same port must not be confused with it.
#[test]
fn a_new_connection_from_the_port_of_a_closed_one_is_served() {
    use socket2::{Domain, Protocol, Socket, Type};

    let server = TestServer::new();
    let from_port = |port: u16| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_reuse_address(true).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], port)).into()).unwrap();
        socket.connect(&server.address.into()).map(|()| Client::over(socket.into()))
    };
    let (mut port, mut reused) = (0, 0);
    for round in 0..40 {
        // The client's side of the old connection may still exist. Then another port is used.
        let Ok(mut client) = from_port(port) else {
            port = 0;
            continue;
        };
        reused += u32::from(port != 0);
        port = client.stream().local_addr().unwrap().port();
        client.send(get("/sound"));
        assert_eq!(client.answer().status, 200, "{round}");
        client.send("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
        assert_eq!(client.answer().status, 400, "{round}");
        client.until_closed();
    }
    assert!(reused > 0);
}
