//! Wakes the supervisor: through an event descriptor, or because a connection waits to be accepted.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// A wake-up signal for one waiting thread.
pub(super) struct WakeUp {
    event: EventFd,
    is_stopped: AtomicBool,
}

impl WakeUp {
    /// Creates a signal. Returns an error if no descriptor is available.
    pub(super) fn new() -> io::Result<Self> {
        let event = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { event, is_stopped: AtomicBool::new(false) })
    }

    /// Ends the current or the next [`WakeUp::wait`].
    pub(super) fn wake(&self) {
        // The write fails only when the counter overflows, after 2^64 calls without a wait.
        let _ = self.event.write(1);
    }

    /// Makes the waiting thread end.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Waits for a wake-up, or for a connection in the backlog of `listener` if there is one, for `time` at most.
    /// Returns whether a connection waits to be accepted.
    pub(super) fn wait(&self, listener: Option<&TcpListener>, time: Duration) -> bool {
        let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut both =
            [watched(self.event.as_fd()), watched(listener.map_or(self.event.as_fd(), AsFd::as_fd))];
        // The time is rounded up, because repeated waits of less than a millisecond would be a busy loop.
        let time = PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut both, time) {
            Ok(0) | Err(Errno::EINTR) => return false,
            Ok(_) => {}
            Err(error) => log::error!("cannot wait for connections: {error}"),
        }
        let _ = self.event.read();
        listener.is_some() && both[1].any() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_wake_up_is_consumed_and_differs_from_a_waiting_connection() {
        let (wake_up, listener) = (WakeUp::new().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        wake_up.wake();
        wake_up.wake();
        assert!(!wake_up.wait(Some(&listener), LONG));
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(wake_up.wait(Some(&listener), LONG));
        assert!(wake_up.wait(Some(&listener), LONG), "it is not accepted yet");
        assert!(!wake_up.wait(None, Duration::ZERO));
        wake_up.stop();
        assert!(!wake_up.wait(None, LONG) && wake_up.is_stopped());
    }
}
