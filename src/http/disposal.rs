//! Getting rid of a request that will not be answered, or whose body was not read.
//!
//! tiny_http reads an unread body to its end when the request is dropped, into a buffer of the size the
//! client *announced*: an allocation that fails would abort the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Up to this announced size a buffer is simply had: untouched pages cost nothing.
const HARMLESS_BYTES: usize = 16 * 1024 * 1024;

/// Requests that could not be dropped, since the process began.
static LEAKED: AtomicUsize = AtomicUsize::new(0);

/// Drops a request without an answer. Its connection must have been shut down, or its body been read; else
/// this waits for the client.
pub(super) fn dispose(request: tiny_http::Request) {
    let announced = request.body_length().unwrap_or(0);
    if announced > HARMLESS_BYTES && isize::try_from(announced).is_ok() && !can_allocate(announced) {
        // Costs a thread and two descriptors for good, rather than the process.
        let leaked = LEAKED.fetch_add(1, Ordering::Relaxed) + 1;
        log::error!("a request announces {announced} bytes, too many to drop it: {leaked} leaked so far");
        std::mem::forget(request);
        return;
    }
    // Above isize::MAX the allocation panics where it would otherwise abort, and unwinding passes the connection
    // on. A writer that was taken out would be lost on that way, and its descriptor with it.
    let has_sound_size = isize::try_from(announced).is_ok();
    let drop_it = || match has_sound_size {
        // The writer goes without a word: a plain drop would say 500.
        true => drop(request.into_writer()),
        // It says so into a connection that is shut down.
        false => drop(request),
    };
    if catch_unwind(AssertUnwindSafe(drop_it)).is_err() {
        log::warn!("a request announces {announced} bytes and was dropped by unwinding");
    }
}

fn can_allocate(bytes: usize) -> bool {
    let mut buffer = Vec::<u8>::new();
    let can = buffer.try_reserve_exact(bytes).is_ok();
    // An allocation that nobody looks at may be optimised away, and then always succeeds.
    std::hint::black_box(&mut buffer);
    can
}
