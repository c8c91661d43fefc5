//! [`Lines`]: messages over a channel of lines, such as standard input and output.

use std::io::{BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use log::warn;
use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use super::client::LineClient;
use super::message::{self, Message, RpcError, response};
use super::revision::{self, Revision};
use super::session::Session;
use crate::account::service::Caller;
use crate::api::call_table::{CallInProgress, CallName, call_name};
use crate::api::context::Api;
use crate::base::ids::RequestId;

/// The longest line in bytes, as for the body of a request over HTTP.
const MAX_LINE: u64 = 64 * 1024;
/// The most requests that are answered at once. Further lines are read when one has ended.
const MOST_CALLS: usize = 64;

/// A channel of lines to one client.
pub struct Lines<W: Write + Send> {
    api: Arc<Api>,
    caller: Caller,
    out: Mutex<W>,
    calls: Mutex<usize>,
    call_ended: Condvar,
    has_ended: AtomicBool,
}

impl<W: Write + Send> Lines<W> {
    /// Creates the channel. All requests are those of `caller`.
    pub fn new(api: Arc<Api>, caller: Caller, out: W) -> Self {
        Self {
            api,
            caller,
            out: Mutex::new(out),
            calls: Mutex::default(),
            call_ended: Condvar::new(),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Answers the messages of `input` until its end, and then cancels what is in progress.
    ///
    /// # Errors
    /// Returns the failure of a read.
    pub fn serve(&self, mut input: impl BufRead) -> std::io::Result<()> {
        thread::scope(|scope| {
            let mut line = Vec::new();
            loop {
                line.clear();
                input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)?;
                if line.is_empty() {
                    break;
                }
                if line.last() != Some(&b'\n') && line.len() as u64 > MAX_LINE {
                    skip_line(&mut input)?;
                    let message = format!("the line is longer than {MAX_LINE} bytes");
                    self.send(&RpcError::new(message::INVALID_REQUEST, message).response(None));
                    continue;
                }
                if line.trim_ascii().is_empty() {
                    continue;
                }
                if let Some(request) = self.read(line.trim_ascii()) {
                    self.begin_call();
                    scope.spawn(move || {
                        self.answer(request);
                        self.end_call();
                    });
                }
            }
            // Nobody waits for the answers any more.
            self.has_ended.store(true, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Returns the request of a line, if it is one that can be answered.
    fn read(&self, line: &[u8]) -> Option<LineRequest> {
        let message = match message::parse(line) {
            Ok(message) => message,
            Err(refused) => {
                self.send(&refused.response);
                return None;
            }
        };
        let revision = match revision::of_line(&message) {
            Ok(revision) => revision,
            Err(error) => {
                self.send(&error.response(message.id()));
                return None;
            }
        };
        match message {
            Message::Request { id, method, params } => {
                let call = self.api.mcp_calls.begin(self.name(&id));
                Some(LineRequest { revision, call, id, method, params })
            }
            Message::Notification { method, params } if method == "notifications/cancelled" => {
                if let Some(id) = params.get("requestId") {
                    self.api.mcp_calls.cancel(&self.name(id));
                }
                None
            }
            Message::Notification { .. } | Message::Response => None,
        }
    }

    fn name(&self, id: &Value) -> CallName {
        call_name(self.caller.account.id, "", id)
    }

    fn answer(&self, request: LineRequest) {
        let request_id = RequestId::accept(None);
        let LineRequest { revision, call, id, method, params } = request;
        let session = Session { api: &self.api, caller: &self.caller, request_id: &request_id, revision };
        let send = |message: &Value| self.send(message);
        let mut client = LineClient { send: &send, call, has_ended: &self.has_ended };
        match session.answer(&method, &params, &mut client) {
            Ok(Some(result)) => self.send(&response(&id, &result)),
            Ok(None) => {}
            Err(error) => self.send(&error.response(Some(&id))),
        }
    }

    fn send(&self, message: &Value) {
        // JSON text contains no line ends.
        let mut out = self.out.lock();
        if let Err(error) = writeln!(out, "{message}").and_then(|()| out.flush()) {
            warn!("cannot write a message: {error}");
        }
    }

    fn begin_call(&self) {
        let mut calls = self.calls.lock();
        while *calls >= MOST_CALLS {
            self.call_ended.wait(&mut calls);
        }
        *calls += 1;
    }

    fn end_call(&self) {
        *self.calls.lock() -= 1;
        self.call_ended.notify_one();
    }
}

/// A request of a line.
struct LineRequest {
    revision: Revision,
    call: CallInProgress,
    id: Value,
    method: String,
    params: message::Params,
}

/// Reads and drops the rest of a line.
fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let (skipped, ended) = match input.fill_buf()? {
            [] => return Ok(()),
            bytes => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(skipped);
        if ended {
            return Ok(());
        }
    }
}
