//! SOCKS5 (RFC 1928, RFC 1929): the client of the operator's proxy, and what the egress proxy says to browsers.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};

use url::Host;

use super::config::Credentials;
use super::dial::Target;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const USER_AND_PASSWORD: u8 = 2;
const CONNECT: u8 = 1;
/// The kinds of addresses.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Connects to `target` through the proxy at the other end of `stream`.
pub(super) fn connect(
    stream: &mut (impl Read + Write),
    target: &Target,
    credentials: Option<&Credentials>,
) -> io::Result<()> {
    // A proxy that needs no password may ignore that there is one.
    let offer: &[u8] = match credentials {
        Some(_) => &[VERSION, 2, NO_AUTHENTICATION, USER_AND_PASSWORD],
        None => &[VERSION, 1, NO_AUTHENTICATION],
    };
    stream.write_all(offer)?;
    match (read::<2>(stream)?, credentials) {
        ([VERSION, NO_AUTHENTICATION], _) => {}
        ([VERSION, USER_AND_PASSWORD], Some(credentials)) => authenticate(stream, credentials)?,
        _ => return Err(io::Error::other("the outbound proxy requires another authentication")),
    }
    stream.write_all(&request(target)?)?;
    let [version, reply, _, kind] = read::<4>(stream)?;
    if (version, reply) != (VERSION, 0) {
        return Err(io::Error::other(format!("the outbound proxy refuses the connection ({reply})")));
    }
    // The address and port from which the proxy connects do not matter.
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => read::<1>(stream)?[0],
        _ => return Err(io::Error::other("the outbound proxy's answer is not SOCKS5")),
    };
    read_text(stream, length)?;
    read::<2>(stream).map(drop)
}

fn authenticate(stream: &mut (impl Read + Write), credentials: &Credentials) -> io::Result<()> {
    let (user, password) = credentials.expose();
    stream.write_all(&[&[1][..], &counted(user)?, &counted(password)?].concat())?;
    match read::<2>(stream)? {
        [_, 0] => Ok(()),
        _ => Err(io::Error::other("the outbound proxy refuses the user or password")),
    }
}

fn request(target: &Target) -> io::Result<Vec<u8>> {
    let (kind, host) = match target.addresses.first().map(SocketAddr::ip) {
        Some(IpAddr::V4(ip)) => (IPV4, ip.octets().to_vec()),
        Some(IpAddr::V6(ip)) => (IPV6, ip.octets().to_vec()),
        None => (NAME, counted(target.name())?),
    };
    Ok([&[VERSION, CONNECT, 0, kind][..], &host, &target.port.to_be_bytes()].concat())
}

/// Returns a text after its length. The configuration and host names have at most 255 bytes.
fn counted(text: &str) -> io::Result<Vec<u8>> {
    let length = u8::try_from(text.len()).map_err(io::Error::other)?;
    Ok([&[length], text.as_bytes()].concat())
}

fn read<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a client's request for a connection. Returns the host and the port.
///
/// # Errors
/// Returns an error if it asks for something else, or wants to authenticate.
pub(super) fn accept(client: &mut (impl Read + Write)) -> io::Result<(Host, u16)> {
    let [version, methods] = read::<2>(client)?;
    let methods = read_text(client, methods)?;
    if version != VERSION || !methods.contains(&NO_AUTHENTICATION) {
        return Err(invalid());
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION])?;
    let host = match read::<4>(client)? {
        [VERSION, CONNECT, _, IPV4] => Host::Ipv4(read::<4>(client)?.into()),
        [VERSION, CONNECT, _, IPV6] => Host::Ipv6(read::<16>(client)?.into()),
        [VERSION, CONNECT, _, NAME] => {
            let [length] = read::<1>(client)?;
            let name = String::from_utf8(read_text(client, length)?).map_err(|_| invalid())?;
            match name.parse() {
                // Chromium sends addresses as names.
                Ok(ip) => Host::Ipv6(ip),
                // As in browsers, a number is an IPv4 address.
                Err(_) => Host::parse(&name).map_err(|_| invalid())?,
            }
        }
        _ => return Err(invalid()),
    };
    Ok((host, u16::from_be_bytes(read::<2>(client)?)))
}

/// Answers a client's request: whether it has a connection now.
pub(super) fn answer(client: &mut impl Write, is_connected: bool) -> io::Result<()> {
    client.write_all(&[VERSION, u8::from(!is_connected), 0, IPV4, 0, 0, 0, 0, 0, 0])
}

fn read_text(stream: &mut impl Read, length: u8) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::from(length)];
    stream.read_exact(&mut text)?;
    Ok(text)
}

fn invalid() -> io::Error {
    io::Error::other("not a request for a connection by SOCKS5")
}
