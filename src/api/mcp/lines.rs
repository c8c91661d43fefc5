//! Messages over a channel of lines, such as standard input and output.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use log::warn;
use parking_lot::Mutex;
use serde_json::Value;

use super::exchange::Exchange;
use super::message::RpcError;
use crate::account::service::Caller;
use crate::api::context::Api;
use crate::base::ids::RequestId;
use crate::model::refusal::Refusal;

/// Answers the messages of `input`, all of which are those of `caller`, until its end, and then gives up what is in
/// progress.
///
/// # Errors
/// Returns the failure of a read.
pub fn serve(api: &Arc<Api>, caller: &Caller, input: impl BufRead, out: impl Write + Send) -> io::Result<()> {
    let (out, has_ended) = (Mutex::new(out), AtomicBool::new(false));
    let send = |message: &Value| {
        // JSON text contains no line ends.
        let mut out = out.lock();
        if let Err(error) = writeln!(out, "{message}").and_then(|()| out.flush()) {
            warn!("cannot write a message: {error}");
        }
    };
    let answer = |exchange: &Exchange| {
        let mut client = |message: Option<&Value>| {
            message.into_iter().for_each(send);
            !has_ended.load(Ordering::Relaxed)
        };
        if let Some((_, answer)) = exchange.answer(&mut client) {
            send(&answer);
        }
    };
    thread::scope(|scope| {
        let read = input.split(b'\n').try_for_each(|line| {
            let line = line?;
            let text = line.trim_ascii();
            if text.is_empty() {
                return Ok(());
            }
            match Exchange::begin((api, caller, &RequestId::accept(None)), None, text) {
                // Further messages are read while a search is in progress.
                Ok(Some(exchange)) if exchange.waits() => {
                    let id = exchange.id.clone();
                    let started = thread::Builder::new().spawn_scoped(scope, move || answer(&exchange));
                    if started.is_err() {
                        send(&RpcError::from(Refusal::overloaded(1)).answer(Some(&id)).1);
                    }
                }
                Ok(Some(exchange)) => answer(&exchange),
                Ok(None) => {}
                Err((_, refused)) => send(&refused),
            }
            Ok(())
        });
        // Nobody waits for the answers any more.
        has_ended.store(true, Ordering::Relaxed);
        read
    })
}
