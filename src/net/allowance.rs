//! Limits the bytes that a request receives. They are counted at the socket, so that everything counts: TLS, heads,
//! interim answers, chunk heads, trailers and bodies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ureq::Error;

/// The number of bytes allowed for each hop besides its body: the head, and the TLS handshake with its certificates.
pub(super) const HOP_BYTES: u64 = 128 * 1024;

/// The number of bytes allowed for a body besides twice its decoded limit: chunk heads, TLS records, compressed
/// blocks.
const BODY_OVERHEAD: u64 = 64 * 1024;

/// The number of bytes that all hops of one request may receive together. Clones share one count.
#[derive(Debug, Clone)]
pub(super) struct Allowance(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    granted: AtomicU64,
    received: AtomicU64,
}

impl Allowance {
    /// Creates an allowance for a body of `body_limit` decoded bytes. Compressed data is never much longer than the
    /// decoded data, except for a stream of empty blocks, which exceeds the allowance.
    pub(super) fn for_body(body_limit: usize) -> Self {
        let granted = AtomicU64::new(2 * body_limit as u64 + BODY_OVERHEAD);
        Self(Arc::new(Counts { granted, received: AtomicU64::new(0) }))
    }

    /// Increases the allowance by that many bytes.
    pub(super) fn grant(&self, bytes: u64) {
        self.0.granted.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn count(&self, bytes: usize) {
        self.0.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns an error if all granted bytes have been received.
    pub(super) fn check(&self) -> Result<(), Error> {
        let granted = self.0.granted.load(Ordering::Relaxed);
        let is_left = self.0.received.load(Ordering::Relaxed) < granted;
        if is_left { Ok(()) } else { Err(Error::BodyExceedsLimit(granted)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hops_of_a_request_share_one_byte_limit() {
        let allowance = Allowance::for_body(1000);
        allowance.grant(HOP_BYTES);
        let first_hop = allowance.clone();
        first_hop.count(2000 + 64 * 1024 + 1000);
        allowance.check().unwrap();
        allowance.grant(HOP_BYTES);
        first_hop.count(2 * 128 * 1024 - 1001);
        allowance.check().unwrap();
        first_hop.count(1);
        assert!(matches!(allowance.check(), Err(Error::BodyExceedsLimit(_))));
    }
}
