//! Checks that an address belongs to the public internet.
//!
//! The rules follow IANA's special-purpose address registries for IPv4 and IPv6. An IPv6 address that embeds an IPv4
//! address is public only if that address is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The networks that are not public, with their prefix lengths.
const IPV4_SPECIAL: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),        // this network
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carrier-grade NAT; Alibaba's metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's platform address, out of public space
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; the clouds' metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments; Oracle's metadata
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24),  // AMT
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays, deprecated
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(192, 175, 48, 0), 24),  // AS112
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
];

/// The networks that are not public within 2000::/3, the only block that is allocated.
const IPV6_SPECIAL: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments: Teredo, ORCHID, benchmarks, …
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48), // AS112
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// The ends of names that are not in the public DNS (RFC 6761, RFC 6762, RFC 8375, RFC 9476, and names that private
/// networks use). `onion` is missing, since a proxy of Tor resolves it.
const PRIVATE_NAMES: &str = "alt corp home home.arpa internal intranet invalid lan local localdomain localhost mail \
                             private test";

/// Returns whether `ip` is an address of the public internet.
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Returns whether a name may belong to the public internet by its form: it has several labels, and its last ones are not
/// reserved for private networks. This is all that can be checked if a proxy resolves the name.
pub fn is_public_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_private = |end: &str| name.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
    name.contains('.') && !PRIVATE_NAMES.split(' ').any(is_private)
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    // 224.0.0.0 and above are multicast, reserved or broadcast.
    ip.octets()[0] < 224
        && !IPV4_SPECIAL.iter().any(|(net, len)| (ip.to_bits() ^ net.to_bits()) >> (32 - len) == 0)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    let v4_at = |at: usize| Ipv4Addr::from_bits(u32::from(segments[at]) << 16 | u32::from(segments[at + 1]));
    match segments {
        // These are IPv4-mapped addresses, for which the socket uses IPv4, and NAT64 with the well-known prefix,
        // which connects an IPv6-only network with DNS64 to the IPv4 internet.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => return is_public_v4(v4_at(6)),
        // This is 6to4.
        [0x2002, ..] if !is_public_v4(v4_at(1)) => return false,
        // This is ISATAP, under any prefix.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] if !is_public_v4(v4_at(6)) => return false,
        _ => {}
    }
    segments[0] & 0xe000 == 0x2000
        && !IPV6_SPECIAL.iter().any(|(net, len)| (ip.to_bits() ^ net.to_bits()) >> (128 - len) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        for ip in "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 \
             127.0.0.1 127.255.255.254 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255 \
             192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.7 \
             203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 \
             ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 \
             64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 100::1 100:0:0:1::1 2001::1 \
             2001:0:7f00:1:: 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1:: \
             2002:c0a8:101:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 \
             2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:192.168.0.1"
            .split(' ')
        {
            assert!(!is_public(ip.parse().unwrap()), "{ip}");
        }
    }

    #[test]
    fn other_addresses_are_public() {
        for ip in "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
             128.0.0.0 168.63.129.15 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.1 \
             192.167.255.255 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8 \
             64:ff9b::808:808 2001:200::1 2001:4860:4860::8888 2002:808:808::1 2606:4700::1111 \
             2a00:1450:4001::1 2606:4700::5efe:8.8.8.8"
            .split(' ')
        {
            assert!(is_public(ip.parse().unwrap()), "{ip}");
        }
    }
}
