//! Our side of the accepted connections.
//!
//! tiny_http owns the sockets and lends none, so it offers no way to close a connection, to see whether one
//! is stuck, or to bound a read. They are found through `/proc/self/fd` by their peer, and duplicated
//! before use: a number alone could be another socket's a moment later.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::net::{Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::socket::{self, MsgFlags, SockaddrLike, SockaddrStorage};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd;
use parking_lot::Mutex;

/// The sockets of one listening port.
pub(super) struct Sockets {
    port: u16,
    spare: Mutex<Vec<File>>,
}

/// One accepted connection, as its descriptor and the peer's address. The descriptor is not ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accepted {
    fd: RawFd,
    pub(super) peer: SocketAddr,
}

/// Kept open so that a look is possible when descriptors are used up.
const SPARE_DESCRIPTORS: usize = 4;

impl Sockets {
    pub(super) fn new(port: u16) -> Self {
        Self { port, spare: Mutex::new(open_spare(SPARE_DESCRIPTORS)) }
    }

    /// All accepted connections; each may appear twice, as tiny_http holds two descriptors of each.
    pub(super) fn accepted(&self) -> io::Result<Vec<Accepted>> {
        self.with_spare(|| {
            let accepted = |fd| self.peer(fd).map(|peer| Accepted { fd, peer });
            Ok(own_descriptors()?.filter_map(accepted).collect())
        })
    }

    /// Takes hold of the connections of these peers; who is not in the answer has gone.
    pub(super) fn pin(&self, wanted: &HashSet<SocketAddr>) -> io::Result<HashMap<SocketAddr, Pinned>> {
        let accepted = self.accepted()?;
        self.with_spare(|| {
            let mut pinned = HashMap::new();
            for Accepted { fd, peer } in &accepted {
                if wanted.contains(peer) && !pinned.contains_key(peer) {
                    match Pinned::duplicate(*fd) {
                        Ok(socket) if self.peer(socket.0) == Some(*peer) => {
                            pinned.insert(*peer, socket);
                        }
                        Err(Errno::EMFILE | Errno::ENFILE) => return Err(Errno::EMFILE.into()),
                        Ok(_) | Err(_) => {}
                    }
                }
            }
            Ok(pinned)
        })
    }

    /// Which of these sockets someone in this process still holds. Unlike the peer's address, the number of
    /// its inode stays with a socket until its last descriptor is closed.
    pub(super) fn still_open(&self, inodes: &HashSet<u64>) -> io::Result<HashSet<u64>> {
        self.with_spare(|| Ok(own_descriptors()?.filter_map(inode).filter(|n| inodes.contains(n)).collect()))
    }

    /// Whether the peer will send nothing more; also when it can't be found.
    pub(super) fn has_ended(&self, peer: SocketAddr) -> bool {
        let pinned = self.pin(&HashSet::from([peer]));
        !pinned.is_ok_and(|pinned| pinned.get(&peer).is_some_and(|socket| !socket.has_ended()))
    }

    fn peer(&self, fd: RawFd) -> Option<SocketAddr> {
        let local = address(socket::getsockname(fd).ok()?)?;
        if local.port() != self.port {
            return None;
        }
        address(socket::getpeername(fd).ok()?)
    }

    fn with_spare<T>(&self, look: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match look() {
            Err(error) if is_out_of_descriptors(&error) => {
                let mut spare = self.spare.lock();
                spare.clear();
                let seen = look();
                *spare = open_spare(SPARE_DESCRIPTORS);
                seen
            }
            seen => seen,
        }
    }
}

fn own_descriptors() -> io::Result<impl Iterator<Item = RawFd>> {
    let entries = fs::read_dir("/proc/self/fd")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// `None` for what is no socket.
fn inode(fd: RawFd) -> Option<u64> {
    let stat = fstat(fd).ok()?;
    let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
    (kind == SFlag::S_IFSOCK).then_some(stat.st_ino)
}

impl Accepted {
    /// What a read would find.
    pub(super) fn unread(self) -> Unread {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        match socket::recv(self.fd, &mut [0], flags) {
            Ok(0) => Unread::End,
            Ok(_) => Unread::Bytes,
            Err(_) => Unread::Nothing,
        }
    }
}

/// What lies unread in a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    Bytes,
    Nothing,
    /// The peer sends nothing more.
    End,
}

/// Whether this is `EMFILE` or `ENFILE`.
pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::EMFILE | Errno::ENFILE))
}

/// Whether so many more descriptors can be opened.
pub(super) fn descriptors_are_free(count: usize) -> bool {
    open_spare(count).len() == count
}

fn open_spare(count: usize) -> Vec<File> {
    (0..count).map_while(|_| File::open("/dev/null").ok()).collect()
}

/// The peer without what differs between two ways to ask for it (flow label, scope).
pub(super) fn peer_key(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), peer.port())
}

fn address(storage: SockaddrStorage) -> Option<SocketAddr> {
    storage.family()?;
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4(SocketAddrV4::from(*address)));
    let v6 = || storage.as_sockaddr_in6().map(|address| SocketAddr::V6(SocketAddrV6::from(*address)));
    v4.or_else(v6).map(peer_key)
}

/// A descriptor of our own for a connection.
#[derive(Debug)]
pub(super) struct Pinned(RawFd);

impl Pinned {
    fn duplicate(fd: RawFd) -> Result<Self, Errno> {
        fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(3)).map(Self)
    }

    /// Identifies the socket as long as it exists.
    pub(super) fn inode(&self) -> Option<u64> {
        inode(self.0)
    }

    /// Ends the connection for all who hold it.
    pub(super) fn shutdown(&self, how: Shutdown) {
        let how = match how {
            Shutdown::Read => socket::Shutdown::Read,
            Shutdown::Write => socket::Shutdown::Write,
            Shutdown::Both => socket::Shutdown::Both,
        };
        // ENOTCONN: the peer was faster.
        let _ = socket::shutdown(self.0, how);
    }

    /// Sends what the socket takes without waiting.
    pub(super) fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        socket::send(self.0, bytes, flags).map_err(io::Error::from)
    }

    /// Reads what has come without waiting; 0 at the end.
    pub(super) fn receive_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::recv(self.0, buffer, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from)
    }
}

impl Pinned {
    fn has_ended(&self) -> bool {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        !matches!(socket::recv(self.0, &mut [0], flags), Ok(1) | Err(Errno::EAGAIN))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = unistd::close(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_is_found_by_its_peer_and_can_be_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sockets = Sockets::new(listener.local_addr().unwrap().port());
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server_side, peer) = listener.accept().unwrap();

        let accepted = sockets.accepted().unwrap();
        assert_eq!(accepted.iter().map(|socket| socket.peer).collect::<Vec<_>>(), [peer]);
        assert_eq!(accepted[0].unread(), Unread::Nothing);
        client.write_all(b"x").unwrap();
        server_side.peek(&mut [0]).unwrap();
        assert_eq!(accepted[0].unread(), Unread::Bytes);

        let pinned = sockets.pin(&HashSet::from([peer])).unwrap();
        assert_eq!(pinned[&peer].receive_now(&mut [0; 8]).unwrap(), 1);
        pinned[&peer].shutdown(Shutdown::Both);
        assert_eq!(client.peek(&mut [0]).unwrap(), 0);
        let inodes = HashSet::from([pinned[&peer].inode().unwrap()]);
        drop((pinned, client));
        // It has no peer any more, perhaps, but it is there.
        assert_eq!(sockets.still_open(&inodes).unwrap(), inodes);
        drop(server_side);
        assert!(sockets.still_open(&inodes).unwrap().is_empty());
        assert!(sockets.pin(&HashSet::from([listener.local_addr().unwrap()])).unwrap().is_empty());
    }
}
