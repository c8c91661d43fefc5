//! A small handler, a client on a raw socket, and gates that block either.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use sightline::http::{Handler, Refusal, Reply, Request, Response, RunningServer, Server, ServerConfig};

pub(crate) use crate::support::server::Answer;
use crate::support::server::PATIENCE;
use crate::support::wire::read_chunk;

/// A timeout that only a broken server reaches.
pub(crate) const LONG: Duration = PATIENCE;

/// Blocks threads until it is opened, and counts them.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<(usize, bool)>, Condvar)>);

impl Gate {
    pub(crate) fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.0 += 1;
        changed.notify_all();
        let _state = changed.wait_timeout_while(state, LONG, |(_, open)| !*open).unwrap();
    }

    pub(crate) fn wait_for_arrivals(&self, count: usize) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        let (state, timeout) = changed.wait_timeout_while(state, LONG, |(came, _)| *came < count).unwrap();
        assert!(!timeout.timed_out(), "{} of {count} reached the gate", state.0);
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().1 = true;
        self.0.1.notify_all();
    }
}

/// Runs an ignored test of `tests/http` in a process of its own.
pub(crate) fn run_alone(test: &str) {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("http::{test}"), "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{output}{}", String::from_utf8_lossy(&child.stderr));
    assert!(output.contains("1 passed"), "{output}");
}

/// Sends the pieces of one stream. The stream ends when it is dropped.
pub(crate) type Pieces = Sender<Vec<u8>>;

#[derive(Default)]
pub(crate) struct Product {
    pub(crate) gate: Gate,
    pub(crate) streams: Mutex<Vec<Receiver<Vec<u8>>>>,
    /// Method and path of the echoed requests, in order.
    pub(crate) seen: Mutex<Vec<String>>,
    /// Whether all pieces of each stream were sent.
    pub(crate) stream_ends: Mutex<Vec<bool>>,
}

impl Product {
    /// Returns the sender for the next requested stream.
    pub(crate) fn next_stream(&self) -> Pieces {
        let (feed, fed) = channel();
        self.streams.lock().unwrap().push(fed);
        feed
    }
}

pub(crate) struct TestHandler(pub Arc<Product>);

impl Handler for TestHandler {
    fn handle(&self, request: Request) -> Reply {
        let product = Arc::clone(&self.0);
        match request.path.as_str() {
            "/hold" => {
                product.gate.pass();
                text(200, "held")
            }
            "/panic" | "/panic-twice" => panic!("on purpose"),
            "/later" => Reply::Later(Box::new(move || {
                product.gate.pass();
                Reply::Now(Response::new(200, "text/plain", *b"later"))
            })),
            "/later-panic" => Reply::Later(Box::new(|| panic!("on purpose"))),
            "/stream" => stream(product),
            "/stream-panic" => Reply::Stream(
                Response::empty(200),
                Box::new(|sink| {
                    sink.write_all(b"begun").and_then(|()| sink.flush()).unwrap();
                    panic!("on purpose")
                }),
            ),
            "/big" => {
                let size = request.query.parse().unwrap();
                Reply::Now(Response::new(200, "text/plain", pattern(size)))
            }
            "/json" => Reply::Now(json(&request.query)),
            "/json-later" => Reply::Later(Box::new(move || {
                product.gate.pass();
                Reply::Now(json(&request.query))
            })),
            "/none" => Reply::Now(Response::empty(204)),
            _ => {
                product.seen.lock().unwrap().push(format!("{} {}", request.method, request.path));
                echo(request)
            }
        }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        assert!(request.is_none_or(|request| request.path != "/panic-twice"), "on purpose");
        let method = request.map_or("?", |request| &request.method);
        let response =
            Response::new(refusal.parts().0, "text/plain", format!("{refusal:?} {method}").into_bytes());
        match refusal {
            Refusal::Overloaded { retry_after } => {
                response.with_header("Retry-After", retry_after.as_secs().to_string())
            }
            _ => response,
        }
    }
}

/// Returns bytes whose order can be checked.
pub(crate) fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|index| b'a' + u8::try_from(index % 23).unwrap()).collect()
}

/// Returns a JSON text of that many bytes.
pub(crate) fn json_text(size: usize) -> String {
    let numbers: String = (0..size).map(|number| format!("{number},")).collect();
    format!("[{}0]", &numbers[..size - 3])
}

fn json(size: &str) -> Response {
    Response::new(200, "application/json", json_text(size.parse().unwrap()).into_bytes())
        .with_header("ETag", "\"tag\"")
}

fn text(status: u16, body: &str) -> Reply {
    Reply::Now(Response::new(status, "text/plain", body.as_bytes()))
}

fn echo(request: Request) -> Reply {
    let client = request.client.map(|client| client.to_string()).unwrap_or_default();
    let request_id = request.header("x-request-id").unwrap_or_default().to_owned();
    let cookie = request.header("cookie").unwrap_or_default().to_owned();
    Reply::Now(
        Response::new(200, "application/octet-stream", request.body)
            .with_header("X-Method", request.method)
            .with_header("X-Path", request.path.escape_default().to_string())
            .with_header("X-Query", request.query)
            .with_header("X-Client", client)
            .with_header("X-Seen-Request-Id", request_id)
            .with_header("X-Seen-Cookie", cookie),
    )
}

fn stream(product: Arc<Product>) -> Reply {
    let fed = product.streams.lock().unwrap().pop().unwrap();
    let head = Response::empty(200).with_header("Content-Type", "text/event-stream");
    let head = head.with_header("X-Accel-Buffering", "no");
    let body = move |sink: &mut dyn Write| {
        let is_complete = fed.iter().all(|piece| sink.write_all(&piece).and_then(|()| sink.flush()).is_ok());
        product.stream_ends.lock().unwrap().push(is_complete);
        is_complete
    };
    Reply::Stream(head, Box::new(body))
}

/// A server on a free port, which is shut down at the end of the test.
pub(crate) struct TestServer {
    pub(crate) product: Arc<Product>,
    pub(crate) running: Option<RunningServer>,
    pub(crate) address: SocketAddr,
}

impl TestServer {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    pub(crate) fn with(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let mut config = ServerConfig { listen: ([127, 0, 0, 1], 0).into(), ..ServerConfig::default() };
        change(&mut config);
        let product = Arc::<Product>::default();
        let server = Server::bind(&config).unwrap();
        let address = server.local_addr();
        let server = server.start(Arc::new(TestHandler(Arc::clone(&product)))).unwrap();
        Self { product, running: Some(server), address }
    }

    /// Starts a server that soon closes connections on which nothing is sent, which is how it closes any.
    pub(crate) fn closing() -> Self {
        Self::with(|config| config.idle_timeout = Duration::from_secs(4))
    }

    pub(crate) fn running(&self) -> &RunningServer {
        self.running.as_ref().unwrap()
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// Sends one request on a new connection.
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut client = self.connect();
        client.send(request);
        client.answer()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.product.gate.open();
    }
}

/// Returns a request without a body.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
}

/// Returns a request whose body may be shorter than its `Content-Length`.
pub(crate) fn post(path: &str, length: u64, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}")
}

pub(crate) struct Client {
    pub(crate) reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub(crate) fn over(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        self.reader.get_ref()
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.reader.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// Sends bytes to a server that may close the connection meanwhile.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.reader.get_mut().write_all(bytes.as_ref());
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// Reads the status line and the headers.
    pub(crate) fn head(&mut self) -> Answer {
        Answer::head(String::new(), &mut self.reader)
    }

    /// Reads a whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        self.head().with_body(&mut self.reader)
    }

    /// Reads a chunk. Returns `None` for the last one.
    pub(crate) fn piece(&mut self) -> Option<Vec<u8>> {
        read_chunk(&mut self.reader)
    }

    /// Reads everything until the server closes or resets the connection.
    pub(crate) fn until_closed(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match self.reader.read(&mut buffer) {
                Ok(0) => return rest,
                Ok(count) => rest.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return rest,
                Err(error) => panic!("the connection stays open: {error}"),
            }
        }
    }
}
