//! The client's address behind a reverse proxy.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An IP address, or a block of addresses such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    base: IpAddr,
    bits: u32,
}

impl Network {
    /// Returns whether the network contains the address. An IPv4-mapped IPv6 address counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let front = |bits: u128, width: u32| bits.checked_shr(width - self.bits);
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => front(a.to_bits().into(), 32) == front(b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => front(a.to_bits(), 128) == front(b.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let network = || {
            let (address, bits) = text.split_once('/').unwrap_or((text, ""));
            let base = address.parse::<IpAddr>().ok()?.to_canonical();
            let most = if base.is_ipv4() { 32 } else { 128 };
            let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
            let bits = if text.contains('/') { bits.parse().ok().filter(|_| is_number)? } else { most };
            (bits <= most).then_some(Self { base, bits })
        };
        network().ok_or_else(|| {
            "expected an IP address or network, such as 10.0.0.7 or 10.0.0.0/8 or fd00::/8".to_owned()
        })
    }
}

/// Returns the client's address. It is the peer's address or, if the peer is a trusted proxy, the last address of
/// `X-Forwarded-For` that is not a trusted proxy. The client could have invented the addresses before it.
pub(crate) fn client_address<'a>(
    peer: IpAddr,
    forwarded_for: impl DoubleEndedIterator<Item = &'a str>,
    trusted: &[Network],
) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut client = peer.to_canonical();
    let mut hops = forwarded_for.rev().flat_map(|value| value.rsplit(','));
    while is_trusted(client) {
        match hops.next().and_then(|hop| hop_address(hop.trim())) {
            Some(address) => client = address,
            None => break,
        }
    }
    client
}

/// Parses one address of `X-Forwarded-For`. Some proxies add a port.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    let address = hop.parse::<IpAddr>().ok();
    let address = address.or_else(|| hop.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.or_else(bracketed).map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, header: &[&str], trusted: &[&str]) -> String {
        let trusted: Vec<Network> = trusted.iter().map(|text| text.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), header.iter().copied(), &trusted).to_string()
    }

    #[test]
    fn only_trusted_peers_may_name_the_client() {
        let proxies = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
        let cases: &[(&str, &[&str], &str)] = &[
            ("203.0.113.7", &["198.51.100.1"], "203.0.113.7"),
            ("127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["6.6.6.6, 198.51.100.1, 10.1.2.3"], "198.51.100.1"),
            ("127.0.0.1", &["6.6.6.6", "198.51.100.1", "10.1.2.3"], "198.51.100.1"),
            ("127.0.0.1", &["198.51.100.1, nonsense"], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.1:4711"], "198.51.100.1"),
            ("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("127.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("::ffff:127.0.0.1", &["198.51.100.1"], "198.51.100.1"),
            ("fd00::1", &["::ffff:198.51.100.1"], "198.51.100.1"),
            ("127.0.0.1", &["10.0.0.1,10.0.0.2"], "10.0.0.1"),
        ];
        for (peer, header, want) in cases {
            assert_eq!(seen(peer, header, &proxies), *want, "{peer} {header:?}");
        }
        assert_eq!(seen("127.0.0.1", &["198.51.100.1"], &[]), "127.0.0.1");
    }

    #[test]
    fn networks_are_parsed_strictly() {
        for good in ["0.0.0.0/0", "::/0", "10.0.0.0/8", "::1", "::1/128", "192.0.2.1"] {
            good.parse::<Network>().unwrap();
        }
        assert!("0.0.0.0/0".parse::<Network>().unwrap().contains("1.2.3.4".parse().unwrap()));
        for bad in ["", "x", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0/8", "10.0.0.0/8/8"]
        {
            assert!(bad.parse::<Network>().unwrap_err().starts_with("expected"), "{bad}");
        }
    }
}
