//! The threads that the system lets this process start.

use std::io;
use std::sync::Arc;
use std::thread;

use parking_lot::RwLock;

/// The stack of a thread that only waits.
const SMALL_STACK_BYTES: usize = 64 * 1024;

/// Returns how many more threads with such a stack can be started now, at most `most`.
///
/// It starts them, since no single limit tells: a user's processes (`ulimit -u`), a control group's and the whole
/// system's tasks, and memory all count.
pub fn startable(most: usize, stack_bytes: usize) -> usize {
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write();
    let start = |_| {
        let gate = Arc::clone(&gate);
        thread::Builder::new().stack_size(stack_bytes).spawn(move || drop(gate.read())).ok()
    };
    let threads: Vec<_> = (0..most).map_while(start).collect();
    drop(closed);
    threads.into_iter().map(thread::JoinHandle::join).filter(Result::is_ok).count()
}

/// Checks that so many more threads can be started.
///
/// # Errors
/// When fewer can be: the message names the limits.
pub fn require(needed: usize) -> io::Result<()> {
    let startable = startable(needed, SMALL_STACK_BYTES);
    if startable >= needed {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "only {startable} more threads can be started, and at least {needed} are needed: {LIMITS}"
    )))
}

/// The advice of an error message about too few threads.
pub const LIMITS: &str = "raise the limit on processes (ulimit -u, LimitNPROC), on tasks (systemd's TasksMax) or on \
                          the container's process ids";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_threads_are_an_error() {
        assert_eq!(startable(3, SMALL_STACK_BYTES), 3);
        // No address space can hold such a stack.
        assert_eq!(startable(3, usize::MAX / 4), 0);
        require(3).unwrap();
    }
}
