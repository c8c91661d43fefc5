//! A peer on loopback whose bytes the test controls.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use socket2::{Domain, Socket, Type};

/// A request as it was received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    /// Request line and headers, without the empty line.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The address to which it was sent, if [`Site::on`] has received it.
    pub(crate) host: String,
}

impl Received {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        self.line().split(' ').nth(1).unwrap_or_default()
    }

    /// Returns the values of a header, joined.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Listens on loopback until it is dropped. Each connection has a thread.
pub(crate) struct Site {
    pub(crate) addr: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<Received>>>,
    stop: Arc<AtomicBool>,
}

impl Site {
    /// Reads one request of each connection and calls `answer`, after which the connection is closed.
    pub(crate) fn start(answer: impl Fn(&mut TcpStream, &Received) + Send + Sync + 'static) -> Self {
        Self::on(("127.0.0.1", 0), answer)
    }

    /// Does the same on all of 127.0.0.0/8, so that a test can have many hosts.
    pub(crate) fn on_all_addresses(
        answer: impl Fn(&mut TcpStream, &Received) + Send + Sync + 'static,
    ) -> Self {
        Self::on(("0.0.0.0", 0), answer)
    }

    /// Does the same on this address.
    pub(crate) fn on(
        address: (&str, u16),
        answer: impl Fn(&mut TcpStream, &Received) + Send + Sync + 'static,
    ) -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        Self::raw(address, received, move |stream| {
            let Some(mut request) = read_request(stream) else { return };
            request.host = stream.local_addr().unwrap().ip().to_string();
            log.lock().unwrap().push(request.clone());
            answer(stream, &request);
        })
    }

    /// Calls `talk` with every connection, without reading from it.
    pub(crate) fn talking(talk: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::raw(("127.0.0.1", 0), Arc::default(), talk)
    }

    /// Answers each request with the same bytes.
    pub(crate) fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::start(move |stream, _| {
            let _ = stream.write_all(&bytes);
        })
    }

    /// Answers each request by its path.
    pub(crate) fn by_path(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(move |stream, request| {
            let _ = stream.write_all(&answer(request.path()));
        })
    }

    fn raw(
        address: (&str, u16),
        received: Arc<Mutex<Vec<Received>>>,
        talk: impl Fn(&mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let mut addr = listener.local_addr().unwrap();
        if addr.ip().is_unspecified() {
            addr.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        let (connections, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, stopped, talk) = (Arc::clone(&connections), Arc::clone(&stop), Arc::new(talk));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(mut stream) = stream else { continue };
                counter.fetch_add(1, Ordering::SeqCst);
                let talk = Arc::clone(&talk);
                std::thread::spawn(move || talk(&mut stream));
            }
        });
        Self { addr, connections, received, stop }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.addr);
    }
}

/// Returns a loopback port on which nothing listens. It stays taken until the process ends: a site of another test would
/// get it otherwise.
pub(crate) fn closed_port() -> u16 {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let port = socket.local_addr().unwrap().as_socket().unwrap().port();
    std::mem::forget(socket);
    port
}

/// Returns a plain answer with that body.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    with_headers("", body.as_bytes())
}

/// Returns a plain answer with additional headers, each with its line end.
pub(crate) fn with_headers(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Returns an answer, after which the connection is closed.
pub(crate) fn answer(status: u16, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Returns an answer with a page that names nobody.
pub(crate) fn page(status: u16) -> Vec<u8> {
    answer(status, "text/html", "<html><head><title>A page</title></head><body>Somebody</body></html>")
}

/// Returns a redirect.
pub(crate) fn to(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 4\r\n\r\ngone").into_bytes()
}

/// Writes `bytes` repeatedly until the other end closes. Returns the number of bytes written.
pub(crate) fn flood(stream: &mut TcpStream, bytes: &[u8], at_most: usize) -> usize {
    let mut sent = 0;
    while sent < at_most && stream.write_all(bytes).is_ok() {
        sent += bytes.len();
    }
    sent
}

/// Writes a byte every 50 ms until the other end closes.
pub(crate) fn drip(stream: &mut TcpStream, bytes: impl IntoIterator<Item = u8>) {
    for byte in bytes {
        if stream.write_all(&[byte]).is_err() {
            return;
        }
        // This simulates a slow peer. Nothing waits for it.
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Reads until the other end closes.
pub(crate) fn hold(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

pub(crate) fn read_request(stream: &mut impl Read) -> Option<Received> {
    // Reads single bytes, so that everything after the request stays unread.
    let mut reader = BufReader::with_capacity(1, stream);
    let mut request = Received::default();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            break;
        }
        if !request.head.is_empty() {
            request.head.push('\n');
        }
        request.head.push_str(line);
    }
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}
