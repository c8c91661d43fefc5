//! A SOCKS5 client (RFC 1928, RFC 1929).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

use super::approve::Target;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;

/// Connects to `target` through the proxy at the other end of `stream`.
pub(super) fn connect(
    stream: &mut (impl Read + Write),
    target: &Target,
    credentials: Option<&(String, String)>,
) -> io::Result<()> {
    // A proxy that needs no password may ignore that there is one.
    let offer: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    stream.write_all(offer)?;
    match (read::<2>(stream)?, credentials) {
        ([VERSION, NO_AUTHENTICATION], _) => {}
        ([VERSION, USER_AND_PASSWORD], Some((user, password))) => authenticate(stream, user, password)?,
        _ => return Err(io::Error::other("the outbound proxy requires another authentication")),
    }
    stream.write_all(&request(target)?)?;
    let [version, reply, _, kind] = read::<4>(stream)?;
    if (version, reply) != (VERSION, 0) {
        return Err(io::Error::other(format!("the outbound proxy refuses the connection ({reply})")));
    }
    skip_address(stream, kind)
}

fn authenticate(stream: &mut (impl Read + Write), user: &str, password: &str) -> io::Result<()> {
    let mut message = vec![1];
    for text in [user, password] {
        // The configuration allows at most 255 bytes.
        message.push(u8::try_from(text.len()).map_err(io::Error::other)?);
        message.extend_from_slice(text.as_bytes());
    }
    stream.write_all(&message)?;
    match read::<2>(stream)? {
        [_, 0] => Ok(()),
        _ => Err(io::Error::other("the outbound proxy refuses the user or password")),
    }
}

fn request(target: &Target) -> io::Result<Vec<u8>> {
    let mut message = vec![VERSION, 1, 0];
    match target.addresses.first().map(SocketAddr::ip) {
        Some(IpAddr::V4(ip)) => {
            message.push(1);
            message.extend_from_slice(&ip.octets());
        }
        Some(IpAddr::V6(ip)) => {
            message.push(4);
            message.extend_from_slice(&ip.octets());
        }
        None => {
            let name = target.name();
            message.extend_from_slice(&[3, u8::try_from(name.len()).map_err(io::Error::other)?]);
            message.extend_from_slice(name.as_bytes());
        }
    }
    message.extend_from_slice(&target.port.to_be_bytes());
    Ok(message)
}

/// Skips the address and port from which the proxy connects.
fn skip_address(stream: &mut impl Read, kind: u8) -> io::Result<()> {
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => u64::from(read::<1>(stream)?[0]),
        _ => return Err(io::Error::other("the outbound proxy's answer is not SOCKS5")),
    };
    let skipped = io::copy(&mut stream.take(length + 2), &mut io::sink())?;
    if skipped == length + 2 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn read<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
