//! A run as Server-Sent Events: section 6 of the contract. What is told, and when, is
//! [`runs::stream`](crate::runs::stream)'s.

use super::service::Api;
use crate::base::ids::RequestId;
use crate::http::{Reply, Response, StreamEnd};
use crate::runs::service::Found;
use crate::runs::stream::{Stream, StreamLimits};

/// The reply that follows `found`, leaving out results up to `after`.
pub fn reply(api: &Api, found: Found, after: u32, request_id: &RequestId) -> Reply {
    let limits = StreamLimits { ceiling: api.config.stream_timeout, keep_alive: api.config.keep_alive };
    let stream = Stream::new(api.runs.follow(found, after), limits, request_id.clone());
    Reply::Stream(
        Response::event_stream(),
        Box::new(move |sink| match stream.run(&mut |bytes| sink.send(bytes)) {
            Ok(()) => StreamEnd::Complete,
            Err(_) => StreamEnd::ReaderGone,
        }),
    )
}
