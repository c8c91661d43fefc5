//! Damaged requests in random pieces, compared with a second parser of the same bytes (`fuzz_model`).
//!
//! The test always plays the same clients. `SIGHTLINE_TEST_FUZZ_SECONDS` makes it go on with further clients for that
//! long. `SIGHTLINE_TEST_FUZZ_SEED` sets the first client; a failure prints its own.

use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};

use sightline::http::{Handler, Refusal, Reply, Request, Response, Server, ServerConfig};

use super::fuzz_model::{Seen, read_all};
use super::kit::{Client, get};
use crate::support::chance::{Chance, setting};
use crate::support::tier::often;

/// A handler that records its requests.
#[derive(Default)]
struct Recorder(Mutex<Vec<Seen>>);

impl Handler for Recorder {
    fn handle(&self, request: Request) -> Reply {
        let Request { method, path, body, .. } = request;
        self.0.lock().unwrap().push(Seen { method, path: Some(path), body });
        Reply::Now(Response::new(200, "text/plain", *b"seen"))
    }

    fn refuse(&self, refusal: Refusal, _: Option<&Request>) -> Response {
        let status = match refusal {
            Refusal::BodyTooLarge => 413,
            _ => 400,
        };
        Response::new(status, "text/plain", format!("{refusal:?}").into_bytes())
    }
}

/// A valid request. Its body may contain bytes that look like another request.
fn request(chance: &mut Chance) -> Vec<u8> {
    const INNER: &str = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let method = chance.pick(&["GET", "POST", "PUT", "DELETE", "brew"]);
    let target = chance.pick(&["/", "/a", "/v1/searches", "/a/b?c=d", "/%41%20", "/a?b=%zz"]);
    let mut head =
        format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n", chance.pick(&["a", "localhost", "a.b"]));
    for _ in 0..chance.below(3) {
        head += chance.pick(&[
            "Accept: */*\r\n",
            "X-Y: z\r\n",
            "Connection: keep-alive\r\n",
            "Cookie: a=b; c\r\n",
        ]);
    }
    let body = match chance.below(5) {
        0 => String::new(),
        1 => INNER.to_owned(),
        2 => "x".repeat(chance.below(40)),
        // Few enough that the connection is not closed if they are taken for pipelined requests.
        3 => INNER.repeat(1 + chance.below(3)),
        _ => "y".repeat(1000 + chance.below(3000)),
    };
    match chance.below(5) {
        0 if body.is_empty() => head += "\r\n",
        4 => {
            head += "Transfer-Encoding: chunked\r\n\r\n";
            head += &format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        }
        _ => head += &format!("Content-Length: {}\r\n\r\n{body}", body.len()),
    }
    head.into_bytes()
}

fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    const PIECES: [&[u8]; 16] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b"%",
        b"\xff",
        b"\r\n\r\n",
        b"0\r\n\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Connection: close\r\n",
        b"Host: b\r\n",
        b"HTTP/1.0",
    ];
    if bytes.is_empty() {
        return;
    }
    // Most bytes belong to bodies; the interesting ones are near the front.
    let reach = if chance.below(2) == 0 { bytes.len() } else { bytes.len().min(120) };
    let place = chance.below(reach);
    let byte = u8::try_from(chance.below(256)).unwrap();
    match chance.below(6) {
        0 => bytes[place] = byte,
        1 => bytes.insert(place, byte),
        2 => drop(bytes.drain(place..bytes.len().min(place + 1 + usize::from(byte % 16)))),
        3 => bytes.truncate(place),
        4 => {
            let copied = bytes[place..bytes.len().min(place + 1 + usize::from(byte % 64))].to_vec();
            bytes.splice(place..place, copied);
        }
        _ => {
            let piece: &[u8] = chance.pick(&PIECES);
            bytes.splice(place..place, piece.iter().copied());
        }
    }
}

/// Returns the bytes of one client.
fn bytes_of(chance: &mut Chance) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..1 + chance.below(4)).flat_map(|_| request(chance)).collect();
    if chance.below(4) > 0 {
        for _ in 0..1 + chance.below(3) {
            damage(&mut bytes, chance);
        }
    }
    // A request of HTTP/2.0 deadlocks the thread of its connection in tiny_http. Only a proxy stops that.
    for later in [b"HTTP/2.0", b"HTTP/3.0"] {
        assert!(!bytes.windows(8).any(|window| window == later), "no piece makes it");
    }
    bytes
}

/// Sends the bytes in pieces and returns the statuses of the answers.
fn statuses(client: &mut Client, bytes: &[u8], chance: &mut Chance) -> Vec<u16> {
    let mut rest = bytes;
    for _ in 0..chance.below(6) {
        let (piece, after) = rest.split_at(chance.below(rest.len() + 1));
        let _ = client.reader.get_mut().write_all(piece);
        std::thread::yield_now();
        rest = after;
    }
    let _ = client.reader.get_mut().write_all(rest);
    let _ = client.stream().shutdown(Shutdown::Write);
    let said = client.until_closed();
    let mut statuses = Vec::new();
    let mut rest = said.as_slice();
    while !rest.is_empty() {
        let end = rest.windows(4).position(|end| end == b"\r\n\r\n").expect("a whole head") + 4;
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        statuses.push(head.strip_prefix("HTTP/1.").unwrap()[2..5].parse().unwrap());
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        rest = &rest[end + length.map_or(0, |length| length.parse::<usize>().unwrap())..];
    }
    statuses
}

/// Connects from an address that no other client has, since the server remembers severed connections by theirs.
pub(crate) fn client_from(seed: u64, server: SocketAddr) -> Client {
    let [.., second, third, fourth] = seed.to_be_bytes();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
    socket.bind(&SocketAddr::from(([127, second, third, fourth], 0)).into()).unwrap();
    socket.connect(&server.into()).unwrap();
    Client::over(socket.into())
}

fn one_client(server: SocketAddr, recorder: &Recorder, seed: u64) {
    let mut chance = Chance::new(seed);
    let bytes = bytes_of(&mut chance);
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let statuses = statuses(&mut client_from(seed, server), &bytes, &mut chance);
    let mut seen = std::mem::take(&mut *recorder.0.lock().unwrap());
    let expected = read_all(&bytes);
    for (seen, expected) in seen.iter_mut().zip(&expected) {
        if expected.path.is_none() {
            seen.path = None;
        }
    }
    assert_eq!(seen, expected, "seed {seed}: {shown:?} is answered {statuses:?}");
    let known = [100, 200, 400, 413, 417];
    assert!(statuses.iter().all(|status| known.contains(status)), "seed {seed}: {statuses:?} to {shown:?}");
    // The last answers may be lost by a reset, but there is never one too many.
    let answered = statuses.iter().filter(|status| **status == 200).count();
    assert!(answered <= expected.len(), "seed {seed}: {statuses:?} to {shown:?}");
}

/// Number of servers, with one client each.
const LANES: u64 = 4;
#[test]
fn damaged_requests_are_parsed_as_the_model_parses_them() {
    let seconds = setting("SIGHTLINE_TEST_FUZZ_SECONDS", 0);
    let until = (seconds > 0).then(|| Instant::now() + Duration::from_secs(seconds));
    let most = if until.is_none() { often(2_000, 12_000) } else { u64::MAX };
    let first = setting("SIGHTLINE_TEST_FUZZ_SEED", 1);
    let clients: u64 = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..LANES)
            .map(|lane| {
                scope.spawn(move || {
                    // One worker serves the requests of a connection in their order.
                    let listen = ([127, 0, 0, 1], 0).into();
                    let config = ServerConfig { listen, request_workers: 1, ..ServerConfig::default() };
                    let recorder = Arc::new(Recorder::default());
                    let server = Server::bind(&config).unwrap();
                    let address = server.local_addr();
                    let _server = server.start(Arc::clone(&recorder) as _).unwrap();
                    let mut clients = 0;
                    while clients < most / LANES && until.is_none_or(|until| Instant::now() < until) {
                        one_client(address, &recorder, first + lane + clients * LANES);
                        clients += 1;
                    }
                    let mut client = Client::connect(address);
                    client.send(get("/sound"));
                    assert_eq!(client.answer().status, 200);
                    clients
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).sum()
    });
    assert!(until.is_some() || clients == most, "{clients} clients");
}
