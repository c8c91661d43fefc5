//! Drops requests that get no answer, or whose body was not read.
//!
//! Fault of tiny_http: dropping a request reads its unread body to the end, into a buffer of the *announced* size. A
//! request with `Content-Length: 100000000000` would abort the process. Workaround: an allocation of that size is tried
//! first; if it fails, the request is leaked. Test: `no_announced_length_ends_the_process`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The announced size up to which the buffer is allocated without a trial, because untouched pages cost nothing.
const HARMLESS_BYTES: usize = 16 * 1024 * 1024;

/// The number of requests that could not be dropped since the process started.
static LEAKED: AtomicUsize = AtomicUsize::new(0);

/// Drops a request without an answer. Its connection must have been shut down, or its body must have been read.
/// Otherwise this waits for the client.
pub(crate) fn discard(request: tiny_http::Request) {
    let announced = request.body_length().unwrap_or(0);
    let has_possible_size = isize::try_from(announced).is_ok();
    if announced > HARMLESS_BYTES && has_possible_size && !can_allocate(announced) {
        // This leaks a thread and two descriptors, but the process continues.
        let leaked = LEAKED.fetch_add(1, Ordering::Relaxed) + 1;
        log::error!(
            "request leaked: its announced body of {announced} bytes cannot be allocated ({leaked} leaked so far)"
        );
        std::mem::forget(request);
        return;
    }
    let drop_request = || match has_possible_size {
        // A dropped writer sends nothing, while a dropped request would send 500.
        true => drop(request.into_writer()),
        // An allocation above `isize::MAX` panics instead of aborting. Unwinding would leak a writer and its
        // descriptor, so the request is dropped whole; its 500 goes to a connection that is shut down.
        false => drop(request),
    };
    if catch_unwind(AssertUnwindSafe(drop_request)).is_err() {
        log::warn!("a request with an announced body of {announced} bytes was dropped by unwinding");
    }
}

fn can_allocate(bytes: usize) -> bool {
    let mut buffer = Vec::<u8>::new();
    let can = buffer.try_reserve_exact(bytes).is_ok();
    // Without this, the compiler may remove the unused allocation, and the trial would always succeed.
    std::hint::black_box(&mut buffer);
    can
}
