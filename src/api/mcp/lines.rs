//! Messages over a channel of lines, such as standard input and output.

use std::io::{self, BufRead, Read as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use log::warn;
use parking_lot::Mutex;
use serde_json::Value;

use super::exchange::Exchange;
use super::message::{Answer, INVALID_REQUEST, RpcError, parse};
use crate::account::service::Caller;
use crate::api::context::Api;
use crate::base::ids::RequestId;

/// The longest line in bytes, as for the body of a request over HTTP.
const MAX_LINE: u64 = 64 * 1024;
/// The most requests that are answered at once. Further lines are read when one has ended.
const MOST_CALLS: usize = 64;

/// Answers the messages of `input`, all of which are those of `caller`, until its end, and then cancels what is in
/// progress.
///
/// # Errors
/// Returns the failure of a read.
pub fn serve(
    api: &Arc<Api>,
    caller: &Caller,
    mut input: impl BufRead,
    out: impl Write + Send,
) -> io::Result<()> {
    let (out, has_ended) = (Mutex::new(out), AtomicBool::new(false));
    let send = |message: &Value| {
        // JSON text contains no line ends.
        let mut out = out.lock();
        if let Err(error) = writeln!(out, "{message}").and_then(|()| out.flush()) {
            warn!("cannot write a message: {error}");
        }
    };
    // Holds an item for each request in progress.
    let (begun, ended) = sync_channel(MOST_CALLS);
    let (send, ended, has_ended) = (&send, &Mutex::new(ended), &has_ended);
    thread::scope(|scope| {
        let read = loop {
            let line = match next_line(&mut input) {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let exchange = match line.and_then(|line| begin(api, caller, &line)) {
                Ok(Some(exchange)) => exchange,
                Ok(None) => continue,
                Err((_, answer)) => {
                    send(&answer);
                    continue;
                }
            };
            // Cannot fail: the other end lives as long.
            let _ = begun.send(());
            scope.spawn(move || {
                let mut client = |message: Option<&Value>| {
                    message.into_iter().for_each(send);
                    !has_ended.load(Ordering::Relaxed)
                };
                if let Some((_, answer)) = exchange.answer(&mut client) {
                    send(&answer);
                }
                drop(exchange);
                let _ = ended.lock().recv();
            });
        };
        // Nobody waits for the answers any more.
        has_ended.store(true, Ordering::Relaxed);
        read
    })
}

/// Returns the request of a line, or `None` if it is another message.
fn begin(api: &Arc<Api>, caller: &Caller, line: &[u8]) -> Result<Option<Exchange>, Answer> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    Exchange::begin((api, caller, &RequestId::accept(None)), None, Some(""), parse(line)?)
}

/// Reads a line. Returns `None` at the end, and the answer to a line that is too long.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Answer>>> {
    let mut line = Vec::new();
    input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.ends_with(b"\n") || line.len() as u64 <= MAX_LINE {
        return Ok(Some(Ok(line)));
    }
    input.skip_until(b'\n')?;
    let message = format!("the line is longer than {MAX_LINE} bytes");
    Ok(Some(Err(RpcError::new(INVALID_REQUEST, message).answer(None))))
}
