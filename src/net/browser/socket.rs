//! A WebSocket (RFC 6455) to a browser, for commands and answers in JSON. The Chrome DevTools Protocol and WebDriver
//! BiDi use the same message format.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use url::Url;

/// The maximum size of a message, in bytes. The answers to these commands are short.
const MAX_MESSAGE_BYTES: u64 = 1024 * 1024;
const MAX_HEAD_LINES: usize = 100;
/// Opcodes of frames (RFC 6455, section 5.2).
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A connection to the browser as a whole, not to one of its pages.
pub(super) struct Socket {
    stream: BufReader<TcpStream>,
    next: u64,
}

impl Socket {
    /// Connects to a `ws://` address.
    pub(super) fn connect(url: &Url, timeout: Duration) -> io::Result<Self> {
        let host = url.host_str().filter(|_| url.scheme() == "ws").ok_or(io::ErrorKind::InvalidInput)?;
        let port = url.port_or_known_default().unwrap_or(80);
        let stream = connect((host.trim_matches(['[', ']']), port), timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let mut socket = Self { stream: BufReader::new(stream), next: 1 };
        socket.handshake(url, &format!("{host}:{port}"))?;
        Ok(socket)
    }

    fn handshake(&mut self, url: &Url, host: &str) -> io::Result<()> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        write!(
            self.stream.get_mut(),
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {}\r\n\r\n",
            BASE64_STANDARD.encode(key)
        )?;
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.trim().is_empty()) {
            let mut line = String::new();
            if (&mut self.stream).take(4096).read_line(&mut line)? == 0 || lines.len() == MAX_HEAD_LINES {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            lines.push(line);
        }
        match lines[0].split(' ').nth(1) {
            Some("101") => Ok(()),
            _ => Err(io::Error::other("the browser refuses the WebSocket")),
        }
    }

    /// Sends a command and returns its `result`.
    pub(super) fn ask(&mut self, method: &str, parameters: &Value, timeout: Duration) -> io::Result<Value> {
        let deadline = Instant::now() + timeout;
        let id = self.next;
        self.next += 1;
        self.send(TEXT, json!({"id": id, "method": method, "params": parameters}).to_string().as_bytes())?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.stream.get_ref().set_read_timeout(Some(left))?;
            let mut message = self.receive()?;
            // Other messages are events.
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(io::Error::other(format!("{method}: {error}"))),
                    None => Ok(message["result"].take()),
                };
            }
            if Instant::now() >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// Sends one frame, masked as a client's frames must be (RFC 6455, section 5.3).
    fn send(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let mut mask = [0; 4];
        getrandom::fill(&mut mask).map_err(io::Error::other)?;
        let mut frame = vec![0x80 | opcode];
        match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
            (Ok(length @ 0..126), _) => frame.push(0x80 | length),
            (_, Ok(length)) => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&length.to_be_bytes());
            }
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        frame.extend_from_slice(&mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.stream.get_mut().write_all(&frame)
    }

    /// Reads the next JSON message. Answers pings that come before it.
    fn receive(&mut self) -> io::Result<Value> {
        let mut message = Vec::new();
        loop {
            let (is_last, opcode, payload) = self.frame(MAX_MESSAGE_BYTES - message.len() as u64)?;
            match opcode {
                PING => self.send(PONG, &payload)?,
                PONG => {}
                CLOSE => return Err(io::ErrorKind::ConnectionAborted.into()),
                _ => {
                    message.extend_from_slice(&payload);
                    if is_last {
                        return serde_json::from_slice(&message).map_err(io::Error::other);
                    }
                }
            }
        }
    }

    fn frame(&mut self, limit: u64) -> io::Result<(bool, u8, Vec<u8>)> {
        let [first, second] = self.bytes::<2>()?;
        let length = match second & 0x7f {
            126 => u64::from(u16::from_be_bytes(self.bytes()?)),
            127 => u64::from_be_bytes(self.bytes()?),
            short => u64::from(short),
        };
        // Only a client may mask its frames.
        if length > limit || second & 0x80 != 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.stream.read_exact(&mut payload)?;
        Ok((first & 0x80 != 0, first & 0x0f, payload))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Connects to any address of the name: a browser listens only on the IPv4 or the IPv6 loopback address.
fn connect(to: (&str, u16), timeout: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for addr in to.to_socket_addrs()? {
        match TcpStream::connect_timeout(&addr, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}
