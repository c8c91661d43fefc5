//! A strict parser for Server-Sent Events.

use std::io::BufReader;

use serde_json::Value;

use super::wire::{Wire, read_chunk, read_head};

/// A stream that is being read.
pub(crate) struct EventStream {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    reader: BufReader<Box<dyn Wire>>,
    /// The unparsed bytes. A proxy may split the stream inside a character.
    rest: Vec<u8>,
    ended: bool,
}

/// An event, or a comment (`event` is empty then).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl EventStream {
    /// Reads the answer of the server on this connection.
    pub(crate) fn over(mut reader: BufReader<Box<dyn Wire>>) -> Self {
        let (status, headers) = read_head(&mut reader);
        Self { status, headers, reader, rest: Vec::new(), ended: false }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the next event or comment, or `None` at a clean end of the stream.
    pub(crate) fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.rest.drain(..end + 2).collect();
                return Some(parse_frame(std::str::from_utf8(&frame).unwrap()));
            }
            if self.ended {
                let rest = String::from_utf8_lossy(&self.rest);
                assert!(rest.is_empty(), "half a frame at the end: {rest:?}");
                return None;
            }
            match read_chunk(&mut self.reader) {
                Some(chunk) => self.rest.extend(chunk),
                None => self.ended = true,
            }
        }
    }

    /// Returns all events until the end, without comments.
    pub(crate) fn all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next() {
            if !event.event.is_empty() {
                events.push(event);
            }
        }
        events
    }
}

fn parse_frame(frame: &str) -> Event {
    if frame.starts_with(':') {
        return Event { event: String::new(), data: Value::Null };
    }
    let lines: Vec<&str> = frame.trim_end().lines().collect();
    assert_eq!(lines.len(), 2, "a frame is an event line and a data line: {frame:?}");
    let event = lines[0].strip_prefix("event: ").unwrap();
    let data = lines[1].strip_prefix("data: ").unwrap();
    Event { event: event.to_owned(), data: serde_json::from_str(data).unwrap() }
}
