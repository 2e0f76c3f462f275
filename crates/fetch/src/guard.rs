//! The SSRF guard: which addresses are part of the public web.
//!
//! A crawler follows links that strangers wrote, from inside somebody's network. Without a guard a page can
//! make it read `http://169.254.169.254/` or the router's admin page and archive the answer. The check is
//! made on the address that a connection goes to, after name resolution, so a name that resolves to something
//! else the second time (DNS rebinding) gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use types::Url;

/// Is this an address of the public internet?
///
/// Everything in the IANA special-purpose registries that is not globally reachable is not, nor is an IPv6
/// form that a gateway would unwrap to such an IPv4 address (mapped, compatible, 6to4, NAT64, Teredo,
/// ISATAP).
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, d] = ip.octets();
    let special = match a {
        0 => true,                         // "this network"; Linux takes 0.0.0.0 as loopback
        10 | 127 => true,                  // private, loopback
        100 => (64..128).contains(&b),     // carrier-grade NAT; Alibaba's metadata 100.100.100.200
        168 => (b, c, d) == (63, 129, 16), // Azure's host agent, reachable from every guest
        169 => b == 254,                   // link-local; cloud metadata 169.254.169.254
        172 => (16..32).contains(&b),      // private
        192 => match b {
            0 => c == 0 || c == 2, // protocol assignments, documentation
            88 => c == 99,         // 6to4 relay anycast
            168 => true,           // private
            _ => false,
        },
        198 => b == 18 || b == 19 || (b == 51 && c == 100), // benchmarking, documentation
        203 => b == 0 && c == 113,                          // documentation
        224.. => true,                                      // multicast, reserved, broadcast
        _ => false,
    };
    !special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let s = ip.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    // IPv4 in the last 32 bits: mapped ::ffff:a.b.c.d, translated ::ffff:0:a.b.c.d, NAT64 64:ff9b::/96.
    let mapped = s[..5] == [0; 5] && s[5] == 0xffff;
    let translated = s[..4] == [0; 4] && s[4] == 0xffff && s[5] == 0;
    let nat64 = s[0] == 0x64 && s[1] == 0xff9b && s[2..6] == [0; 4];
    if mapped || translated || nat64 {
        return is_public_v4(v4(s[6], s[7]));
    }
    // Only global unicast 2000::/3 is assigned; ::, ::1, compatible ::a.b.c.d, 64:ff9b:1::/48, discard
    // 100::/64, segment routing 5f00::/16, unique-local fc00::/7 (fd00:ec2::254), link-local fe80::/10,
    // site-local fec0::/10 and multicast ff00::/8 are all outside of it.
    if s[0] & 0xe000 != 0x2000 {
        return false;
    }
    match (s[0], s[1]) {
        // Teredo: the server's IPv4 in the clear, the client's with its bits flipped.
        (0x2001, 0) => is_public_v4(v4(s[2], s[3])) && is_public_v4(v4(!s[6], !s[7])),
        // Protocol assignments 2001::/23 (benchmarking 2001:2::, ORCHID 2001:10::/28, 2001:20::/28); the few
        // globally reachable anycast addresses in it are of no use to a crawler.
        (0x2001, 1..0x200) => false,
        (0x2001, 0xdb8) => false,                    // documentation
        (0x3fff, 0..0x1000) => false,                // documentation
        (0x2002, _) => is_public_v4(v4(s[1], s[2])), // 6to4
        _ => {
            // ISATAP interface identifiers carry an IPv4 address behind 0:5efe (or 200:5efe) under any
            // prefix.
            let isatap = s[5] == 0x5efe && (s[4] == 0 || s[4] == 0x200);
            !isatap || is_public_v4(v4(s[6], s[7]))
        }
    }
}

/// Is it on this machine or inside the user's network, by its name or number?
pub fn is_near(url: &Url) -> bool {
    let literal = url.host().trim_matches(['[', ']']).parse::<IpAddr>();
    literal.map_or_else(|_| is_local_name(url.host()), |ip| !is_public(ip))
}

/// A name that means this machine or this network, whatever it resolves to.
pub fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let local = ["localhost", "local", "internal", "localdomain", "home.arpa", "lan", "intranet"];
    local.iter().any(|l| host.strip_suffix(l).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Does a name look as if it meant something inside somebody's network? Asked when a proxy looks up the
/// names, so that nobody here sees their addresses: one word (`router`), a suffix that the public DNS does
/// not have, or an address written into the name, as the services do that answer with it (`10.0.0.1.nip.io`).
pub fn looks_inner(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let inner =
        ["corp", "home", "private", "intra", "priv", "domain", "workgroup", "invalid", "onion", "arpa"];
    let suffix = host.rsplit('.').next().unwrap_or("");
    if !host.contains('.') || inner.contains(&suffix) || is_local_name(&host) {
        return true;
    }
    // Services whose every name is this machine, or the address in the name.
    let loops = ["localtest.me", "lvh.me", "lacolhost.com", "vcap.me", "nip.io", "sslip.io", "xip.io"];
    let ends_with = |service: &&str| host.strip_suffix(*service).is_some_and(|rest| rest.ends_with('.'));
    if loops.iter().any(ends_with) {
        return true;
    }
    address_within(&host).is_some_and(|ip| !is_public_v4(ip))
}

/// The first IPv4 address that a name spells out, with dots or hyphens: `www.10-0-0-1.example.org`.
fn address_within(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split(['.', '-']).collect();
    parts.windows(4).find_map(|four| {
        let mut bytes = [0u8; 4];
        for (byte, text) in bytes.iter_mut().zip(four) {
            *byte = text.parse().ok().filter(|_| text.len() <= 3 && !text.starts_with('+'))?;
        }
        Some(Ipv4Addr::from(bytes))
    })
}

/// The guard as one crawl has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    pub allow_private: bool,
    /// Addresses let through all the same. Only tests set it: they need one loopback address that counts as
    /// public.
    pub except: Vec<IpAddr>,
}

impl Guard {
    pub fn permits(&self, ip: IpAddr) -> bool {
        self.allow_private || is_public(ip) || self.except.contains(&ip)
    }

    pub fn permits_name(&self, host: &str) -> bool {
        self.allow_private || !is_local_name(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let private = "
            0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254
            168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1
            192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1
            239.255.255.255 240.0.0.1 255.255.255.255
            :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
            64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::10.1.2.3 64:ff9b:1::1 100::1 2001:0:a00:1::1
            2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:0:4136:e378:8000:63bf:80ff:fffe 2001:2::1 2001:10::1 2001:20::1
            2001:db8::1 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe::1 2002:c0a8:101::1 3fff::1 3fff:fff::1 5f00::1
            fc00::1 fd00::1 fd00:ec2::254 fdff:ffff::1 fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 ff02::1 ff0e::1 4000::1
            2607:f8b0::5efe:10.0.0.1 2607:f8b0::200:5efe:192.168.1.1";
        let public = "
            1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
            168.63.129.15 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.1 192.0.3.1 192.88.98.1
            192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 203.0.112.1 223.255.255.255
            ::ffff:8.8.8.8 64:ff9b::808:808 2001:4860:4860::8888 2001:0:4136:e378:8000:63bf:f7f7:f7f7 2001:200::1
            2001:db7::1 2001:db9::1 2002:808:808::1 2606:4700::1111 2a00:1450:4001::200e 3ffe::1 3fff:1000::1
            2607:f8b0::5efe:8.8.8.8";
        let parse = |text: &str| -> Vec<IpAddr> {
            text.split_whitespace().map(|a| a.parse().unwrap_or_else(|_| panic!("{a}"))).collect()
        };
        let (private, public) = (parse(private), parse(public));
        assert!(private.len() + public.len() >= 100, "{} + {}", private.len(), public.len());
        for ip in private {
            assert!(!is_public(ip), "{ip} must be refused");
        }
        for ip in public {
            assert!(is_public(ip), "{ip} must be allowed");
        }
    }

    #[test]
    fn local_names() {
        for host in
            ["localhost", "LOCALHOST.", "a.localhost", "printer.local", "metadata.google.internal", "nas.lan"]
        {
            assert!(is_local_name(host), "{host}");
        }
        for host in ["localhost.example.org", "local.example", "notlocalhost", "vocal", "example.org", ""] {
            assert!(!is_local_name(host), "{host}");
        }
    }

    #[test]
    fn names_that_look_inner() {
        for host in "router intranet wiki.corp nas.home db.internal printer.local a.b.private
            1.0.0.127.in-addr.arpa 10.0.0.1.nip.io 127-0-0-1.sslip.io app.localtest.me x.lvh.me
            www.192-168-1-1.example.org 10.1.2.3.example.com hidden.onion"
            .split_whitespace()
        {
            assert!(looks_inner(host), "{host}");
            assert!(looks_inner(&format!("{}.", host.to_uppercase())), "{host}");
        }
        for host in "example.org www.example.org corp.example.com home.pl private.com 8-8-8-8.example.org
            local.example.org 2024-01-02-03.blog.example.org nip.io.example.org 1-2-3.example.org 300-1-1-1.example.org"
            .split_whitespace()
        {
            assert!(!looks_inner(host), "{host}");
        }
    }

    #[test]
    fn lifting_it() {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert!(!Guard::default().permits(loopback));
        assert!(Guard { allow_private: true, ..Guard::default() }.permits(loopback));
        assert!(!Guard::default().permits_name("localhost"));
        assert!(Guard { allow_private: true, ..Guard::default() }.permits_name("localhost"));
    }
}
