//! Access to the sockets of the accepted connections.
//!
//! Fault of tiny_http: it owns the sockets and gives no access to them, so that a connection cannot be closed, a
//! stuck one cannot be noticed, and a read cannot be bounded. Workaround: the sockets are found through
//! `/proc/self/fd` by their peer's address, and duplicated before use, since the number alone could belong to another
//! socket a moment later. Test: `a_connection_is_found_by_its_peer_and_can_be_ended`.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::net::{Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::socket::{self, MsgFlags, SockaddrLike, SockaddrStorage};
use nix::sys::stat::{SFlag, fstat};
use parking_lot::Mutex;
use socket2::{SockFilter, SockRef};

/// The sockets of one listening port.
pub(crate) struct Sockets {
    port: u16,
    spare: Mutex<Vec<File>>,
}

/// An accepted connection: the peer's address and the descriptor, which tiny_http owns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accepted {
    fd: RawFd,
    pub(crate) peer: SocketAddr,
}

/// Descriptors that are reserved so that a scan is possible when the process has no other left.
const SPARE_DESCRIPTORS: usize = 4;

impl Sockets {
    pub(crate) fn new(port: u16) -> Self {
        Self { port, spare: Mutex::new(open_spare(SPARE_DESCRIPTORS)) }
    }

    /// Returns all accepted connections. Each may appear twice, because tiny_http holds two descriptors of each.
    pub(crate) fn accepted(&self) -> io::Result<Vec<Accepted>> {
        self.with_spare(|| {
            let accepted = |fd| self.peer(fd).map(|peer| Accepted { fd, peer });
            Ok(own_descriptors()?.filter_map(accepted).collect())
        })
    }

    /// Duplicates the sockets of these peers. If a peer is missing in the result, it has disconnected.
    pub(crate) fn pin(&self, wanted: &HashSet<SocketAddr>) -> io::Result<HashMap<SocketAddr, PinnedSocket>> {
        let accepted = self.accepted()?;
        self.with_spare(|| {
            let mut pinned = HashMap::new();
            for Accepted { fd, peer } in &accepted {
                if wanted.contains(peer) && !pinned.contains_key(peer) {
                    match PinnedSocket::duplicate(*fd) {
                        Ok(socket) if self.peer(socket.0.as_raw_fd()) == Some(*peer) => {
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

    /// Returns those of these sockets that are still open in this process. A socket is identified by its inode, which
    /// it keeps until its last descriptor is closed. It can lose its peer's address before.
    pub(crate) fn still_open(&self, inodes: &HashSet<u64>) -> io::Result<HashSet<u64>> {
        self.with_spare(|| Ok(own_descriptors()?.filter_map(inode).filter(|n| inodes.contains(n)).collect()))
    }

    /// Returns whether a direction of the connection is ended, by either side. The socket may be shut down for reading:
    /// tiny_http does that by itself after the last request of a connection.
    pub(crate) fn has_ended(&self, peer: SocketAddr) -> bool {
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

    fn with_spare<T>(&self, scan: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match scan() {
            Err(error) if is_out_of_descriptors(&error) => {
                let mut spare = self.spare.lock();
                spare.clear();
                let found = scan();
                *spare = open_spare(SPARE_DESCRIPTORS);
                found
            }
            found => found,
        }
    }
}

fn own_descriptors() -> io::Result<impl Iterator<Item = RawFd>> {
    let entries = fs::read_dir("/proc/self/fd")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// Returns the inode of a socket, or `None` for another kind of descriptor.
fn inode(fd: RawFd) -> Option<u64> {
    let stat = fstat(fd).ok()?;
    let kind = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT;
    (kind == SFlag::S_IFSOCK).then_some(stat.st_ino)
}

impl Accepted {
    /// Returns the result that a read would have.
    pub(crate) fn unread(self) -> Unread {
        unread(self.fd)
    }

    /// Returns the number of bytes received since the connection began, read or not, or 0 if the kernel does not
    /// report it.
    pub(crate) fn received(self) -> u64 {
        tcp_info(self.fd)[TCPI_BYTES_RECEIVED]
    }
}

/// Returns the beginning of the kernel's `TCP_INFO` about a socket, or zeros if there is none.
#[expect(unsafe_code, reason = "no crate in use reads TCP_INFO")]
fn tcp_info(fd: RawFd) -> [u64; TCP_INFO_WORDS] {
    let mut info = [0_u64; TCP_INFO_WORDS];
    let mut bytes = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes to `info`, for which any content is valid.
    unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut bytes);
    }
    info
}

/// The length of `struct tcp_info` of `linux/tcp.h` up to `tcpi_bytes_received`, which ends at byte 136. The struct
/// of the C library is shorter.
const TCP_INFO_WORDS: usize = 17;
const TCPI_BYTES_RECEIVED: usize = 16;
/// The value of `tcpi_state`, the first byte, while neither side has ended its direction.
const TCP_ESTABLISHED: u8 = 1;

fn unread(fd: RawFd) -> Unread {
    match socket::recv(fd, &mut [0], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT) {
        Ok(0) => Unread::End,
        Ok(_) => Unread::Bytes,
        Err(_) => Unread::Nothing,
    }
}

/// The unread content of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    Bytes,
    Nothing,
    /// The peer has ended its direction.
    End,
}

/// Returns whether the process or the system has no descriptor left (`EMFILE`, `ENFILE`).
pub(crate) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error().map(Errno::from_raw), Some(Errno::EMFILE | Errno::ENFILE))
}

/// Returns whether that many more descriptors can be opened.
pub(crate) fn descriptors_are_free(count: usize) -> bool {
    open_spare(count).len() == count
}

fn open_spare(count: usize) -> Vec<File> {
    (0..count).map_while(|_| File::open("/dev/null").ok()).collect()
}

/// Returns a peer's address without its flow label and scope, which not every source of the address reports.
pub(crate) fn peer_key(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), peer.port())
}

fn address(storage: SockaddrStorage) -> Option<SocketAddr> {
    storage.family()?;
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4(SocketAddrV4::from(*address)));
    let v6 = || storage.as_sockaddr_in6().map(|address| SocketAddr::V6(SocketAddrV6::from(*address)));
    v4.or_else(v6).map(peer_key)
}

/// A duplicate of a connection's socket.
#[derive(Debug)]
pub(crate) struct PinnedSocket(OwnedFd);

impl PinnedSocket {
    #[expect(unsafe_code, reason = "only the number of the descriptor is known")]
    fn duplicate(fd: RawFd) -> Result<Self, Errno> {
        let own = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(3))?;
        // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(own) }))
    }

    /// Returns the socket's inode, which identifies it as long as it exists.
    pub(crate) fn inode(&self) -> Option<u64> {
        inode(self.0.as_raw_fd())
    }

    /// Shuts down the sending direction.
    pub(crate) fn shut_down_sending(&self) {
        // The call fails with ENOTCONN if the peer has disconnected.
        let _ = SockRef::from(&self.0).shutdown(Shutdown::Write);
    }

    /// Shuts down the receiving direction: a read returns the bytes that have come, then the end of the stream.
    ///
    /// After `shutdown` alone, Linux still accepts data from the peer, and a reader that always finds new bytes never
    /// reaches the end. A socket filter therefore drops the content of all further segments and keeps their headers
    /// (acknowledgements, the end of the stream). If the peer is sending, the socket is reset when it is closed.
    /// Otherwise the peer could wait a minute for space in the receive window.
    pub(crate) fn shut_down_receiving(&self) {
        let socket = SockRef::from(&self.0);
        if unread(self.0.as_raw_fd()) == Unread::Bytes {
            let _ = socket.set_linger(Some(Duration::ZERO));
        }
        let _ = socket.shutdown(Shutdown::Read);
        if let Err(error) = socket.attach_filter(&[SockFilter::new(BPF_RETURN, 0, 0, 1)]) {
            log::debug!("the peer of a closing connection can still send: {error}");
        }
    }

    /// Sends as many bytes as the socket takes without waiting. Returns their number.
    pub(crate) fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        socket::send(self.0.as_raw_fd(), bytes, flags).map_err(io::Error::from)
    }

    /// Reads bytes that have come, without waiting. Returns their number, 0 at the end of the stream.
    pub(crate) fn receive_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::recv(self.0.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from)
    }

    fn has_ended(&self) -> bool {
        tcp_info(self.0.as_raw_fd())[0].to_ne_bytes()[0] != TCP_ESTABLISHED
    }
}

/// The filter instruction `BPF_RET | BPF_K`, which keeps that many bytes of a segment. The kernel always
/// keeps the TCP header.
const BPF_RETURN: u16 = 0x06;

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
        assert_eq!(accepted[0].received(), 1);

        let pinned = sockets.pin(&HashSet::from([peer])).unwrap();
        assert_eq!(pinned[&peer].receive_now(&mut [0; 8]).unwrap(), 1);
        pinned[&peer].shut_down_sending();
        pinned[&peer].shut_down_receiving();
        assert_eq!(client.peek(&mut [0]).unwrap(), 0);
        let inodes = HashSet::from([pinned[&peer].inode().unwrap()]);
        drop((pinned, client));
        // The socket may have no peer address any more, but it is open.
        assert_eq!(sockets.still_open(&inodes).unwrap(), inodes);
        drop(server_side);
        assert!(sockets.still_open(&inodes).unwrap().is_empty());
        assert!(sockets.pin(&HashSet::from([listener.local_addr().unwrap()])).unwrap().is_empty());
    }
}
