//! What the supervisor waits for: a ring from inside, or a knock at the door.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// Wakes the supervisor before its time.
pub(super) struct Bell {
    rung: EventFd,
    is_over: AtomicBool,
}

impl Bell {
    /// # Errors
    /// When there is no descriptor to be had.
    pub(super) fn new() -> io::Result<Self> {
        let rung = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self { rung, is_over: AtomicBool::new(false) })
    }

    pub(super) fn ring(&self) {
        // It fails only when it has been rung 2^64 times without being heard.
        let _ = self.rung.write(1);
    }

    /// Rings for the last time.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.ring();
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Waits for a ring, at most so long; where there is a door also until a connection waits to be accepted
    /// there, and says whether one does.
    pub(super) fn wait(&self, door: Option<&TcpListener>, time: Duration) -> bool {
        let watched = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut both = [watched(self.rung.as_fd()), watched(door.map_or(self.rung.as_fd(), AsFd::as_fd))];
        // Rounded up: a wait of nothing, again and again, would be a busy one.
        let time = PollTimeout::try_from(time + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut both, time) {
            Ok(0) | Err(Errno::EINTR) => return false,
            Ok(_) => {}
            Err(error) => log::error!("can't wait for connections: {error}"),
        }
        let _ = self.rung.read();
        door.is_some() && both[1].any() == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_ring_and_a_knock_are_told_apart_and_a_ring_is_heard_once() {
        let (bell, door) = (Bell::new().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        bell.ring();
        bell.ring();
        assert!(!bell.wait(Some(&door), LONG));
        let _caller = TcpStream::connect(door.local_addr().unwrap()).unwrap();
        assert!(bell.wait(Some(&door), LONG));
        assert!(bell.wait(Some(&door), LONG), "nobody has opened yet");
        assert!(!bell.wait(None, Duration::ZERO));
        bell.end();
        assert!(!bell.wait(None, LONG) && bell.is_over());
    }
}
