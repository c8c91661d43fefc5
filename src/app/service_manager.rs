//! Notifies a service manager that the process is ready or stopping, as systemd's `Type=notify` expects
//! (sd_notify(3)): a datagram to the socket in `NOTIFY_SOCKET`. Does nothing if this variable is not set.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use log::warn;

/// Reports the state, such as `READY=1`.
pub(super) fn notify(state: &str) {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        warn!("cannot send {state} to the service manager: {error}");
    }
}

fn send(socket: &OsStr, state: &str) -> io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_notify_socket_work() {
        let name = format!("sightline-{}", uuid::Uuid::new_v4().simple());
        let path = env::temp_dir().join(&name);
        let by_path = UnixDatagram::bind(&path).unwrap();
        let by_name =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes()).unwrap()).unwrap();
        let abstract_name = format!("@{name}");
        for (socket, address) in [(by_path, path.as_os_str()), (by_name, OsStr::new(&abstract_name))] {
            send(address, "READY=1").unwrap();
            let mut said = [0; 16];
            let length = socket.recv(&mut said).unwrap();
            assert_eq!(&said[..length], b"READY=1");
        }
        std::fs::remove_file(path).unwrap();
    }
}
