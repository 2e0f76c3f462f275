//! The order as bytes, for checkpoints: facts only; queues are rebuilt by [`Order::wake`].

use crate::entry::{ENTRY_BYTES, Entry, LEASED, PENDING, SETTLED};
use crate::heap::NOWHERE;
use crate::host::{Clock, RobotsState};
use crate::limits::Limits;
use crate::order::{ASIDE, Order};
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr};

impl Order {
    /// About how many bytes [`Order::write`] writes.
    pub fn image_size(&self) -> u64 {
        (self.entries.len() * ENTRY_BYTES + self.hosts.len() * 120 + self.groups.len() * 12 + 64) as u64
    }

    /// Writes all facts. Leases are not facts: their URLs are written as pending. Nor are revisits: theirs
    /// are written as settled.
    pub fn write(&self, w: &mut dyn Write) -> io::Result<()> {
        put(w, self.step)?;
        put(w, self.hosts.len() as u64)?;
        for h in &self.hosts {
            put(w, h.name.len() as u64)?;
            w.write_all(h.name.as_bytes())?;
            w.write_all(&clock_bytes(&h.clock))?;
            for v in [h.robots.offset, u64::from(h.robots.status), h.robots.fetched, h.robots.expires] {
                put(w, v)?;
            }
        }
        put(w, self.entries.len() as u64)?;
        let mut buffer = Vec::with_capacity(ENTRY_BYTES * 1024);
        for chunk in self.entries.chunks(1024) {
            buffer.clear();
            for e in chunk {
                let phase = match e.phase {
                    PENDING | LEASED if e.again => SETTLED,
                    LEASED => PENDING,
                    phase => phase,
                };
                buffer.extend_from_slice(&Entry { phase, ..*e }.to_bytes());
            }
            w.write_all(&buffer)?;
        }
        for map in [&self.delayed_at, &self.expires_at] {
            // What is set aside is set aside for this run only.
            let again = |id: &u32| self.entries.get(*id as usize).is_some_and(|e| e.again);
            let is_fact = |(id, at): &(&u32, &u64)| **at != ASIDE && !again(id);
            put(w, map.iter().filter(is_fact).count() as u64)?;
            for (id, at) in map.iter().filter(is_fact) {
                put(w, u64::from(*id))?;
                put(w, *at)?;
            }
        }
        put(w, self.groups.len() as u64)?;
        for (group, n) in &self.groups {
            put(w, *group)?;
            put(w, u64::from(*n))?;
        }
        Ok(())
    }

    /// Reads what [`Order::write`] wrote; the order is asleep. Any bytes give an order or an error, never a
    /// panic.
    pub fn read(r: &mut dyn Read, limits: Limits, key: (u64, u64)) -> io::Result<Order> {
        let mut order = Order::asleep(limits, key);
        order.step = get(r)?;
        for _ in 0..get(r)? {
            let len = get(r)?;
            if len > 4096 {
                return Err(bad("a host name is too long"));
            }
            let mut name = vec![0; len as usize];
            r.read_exact(&mut name)?;
            let name = String::from_utf8(name).map_err(|_| bad("a host name is not text"))?;
            let mut clock = [0; CLOCK_BYTES];
            r.read_exact(&mut clock)?;
            let host = order.add_host(&name);
            order.set_clock(host, clock_of(&clock));
            let [offset, status, fetched, expires] = [get(r)?, get(r)?, get(r)?, get(r)?];
            order.set_robots(host, RobotsState { offset, status: status as u16, fetched, expires });
        }
        let n = get(r)?;
        if n >= u64::from(u32::MAX) {
            return Err(bad("too many URLs"));
        }
        // A wrong number must not reserve memory for it: grow with what is really there, by a page of entries
        // a time.
        order.entries.reserve_exact((n as usize).min(1 << 24));
        let mut buffer = vec![0; ENTRY_BYTES * 1024];
        let mut left = n as usize;
        while left > 0 {
            let take = left.min(1024);
            let bytes = &mut buffer[..take * ENTRY_BYTES];
            r.read_exact(bytes)?;
            let (entries, _) = bytes.as_chunks::<ENTRY_BYTES>();
            for b in entries {
                let e = Entry::from_bytes(b);
                match e.phase {
                    PENDING => order.counts.pending += 1,
                    SETTLED => match order.counts.settled.get_mut(e.outcome as usize) {
                        Some(n) => *n += 1,
                        None => return Err(bad("an unknown outcome")),
                    },
                    _ => return Err(bad("an unknown state")),
                }
                if e.host as usize >= order.hosts.len() {
                    return Err(bad("a URL without a host"));
                }
                order.entries.push(e);
            }
            left -= take;
        }
        order.pos = vec![NOWHERE; order.entries.len()];
        for _ in 0..get(r)? {
            let (id, at) = (get(r)?, get(r)?);
            if order.entries.get(id as usize).is_some_and(|e| e.phase == PENDING) {
                order.delayed.insert((at, id as u32));
                order.delayed_at.insert(id as u32, at);
            }
        }
        for _ in 0..get(r)? {
            let (id, at) = (get(r)?, get(r)?);
            if order.entries.get(id as usize).is_some_and(|e| e.phase == PENDING) {
                order.expiry.insert((at, id as u32));
                order.expires_at.insert(id as u32, at);
            }
        }
        for _ in 0..get(r)? {
            let (group, n) = (get(r)?, get(r)?);
            order.groups.insert(group, n as u32);
        }
        Ok(order)
    }
}

fn bad(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what.to_string())
}
fn put(w: &mut dyn Write, v: u64) -> io::Result<()> {
    w.write_all(&v.to_le_bytes())
}
fn get(r: &mut dyn Read) -> io::Result<u64> {
    let mut b = [0; 8];
    r.read_exact(&mut b)?;
    Ok(u64::from_le_bytes(b))
}

/// Bytes of a [`Clock`].
pub(crate) const CLOCK_BYTES: usize = 65;

pub(crate) fn clock_bytes(c: &Clock) -> [u8; CLOCK_BYTES] {
    let mut b = [0; CLOCK_BYTES];
    b[0..8].copy_from_slice(&c.next_allowed.to_le_bytes());
    b[8..16].copy_from_slice(&c.wait_ms.to_le_bytes());
    b[16..24].copy_from_slice(&c.crawl_delay_ms.to_le_bytes());
    b[24..28].copy_from_slice(&c.failures.to_le_bytes());
    b[28..32].copy_from_slice(&c.robots_failures.to_le_bytes());
    b[32..40].copy_from_slice(&c.pages.to_le_bytes());
    b[40..48].copy_from_slice(&c.closed_until.to_le_bytes());
    let (kind, ip) = match c.ip {
        None => (0, Ipv6Addr::UNSPECIFIED),
        Some(IpAddr::V4(ip)) => (4, ip.to_ipv6_mapped()),
        Some(IpAddr::V6(ip)) => (6, ip),
    };
    b[48] = kind;
    b[49..65].copy_from_slice(&ip.octets());
    b
}

pub(crate) fn clock_of(b: &[u8; CLOCK_BYTES]) -> Clock {
    let u64_at = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| b[i + k]));
    let u32_at = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| b[i + k]));
    let ip = Ipv6Addr::from(<[u8; 16]>::try_from(&b[49..65]).unwrap_or_default());
    Clock {
        next_allowed: u64_at(0),
        wait_ms: u64_at(8),
        crawl_delay_ms: u64_at(16),
        failures: u32_at(24),
        robots_failures: u32_at(28),
        pages: u64_at(32),
        closed_until: u64_at(40),
        ip: match b[48] {
            4 => ip.to_ipv4_mapped().map(IpAddr::V4),
            6 => Some(IpAddr::V6(ip)),
            _ => None,
        },
    }
}

impl Clock {
    /// For a ledger in a database.
    pub fn to_bytes(&self) -> [u8; CLOCK_BYTES] {
        clock_bytes(self)
    }
    /// Reads what `to_bytes` wrote.
    pub fn from_bytes(b: &[u8; CLOCK_BYTES]) -> Clock {
        clock_of(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_round_trip() {
        for ip in ["10.1.2.3", "2001:db8::7"] {
            let c = Clock {
                next_allowed: 1,
                wait_ms: 2,
                crawl_delay_ms: 3,
                failures: 4,
                robots_failures: 5,
                pages: 6,
                closed_until: 7,
                ip: ip.parse().ok(),
            };
            assert_eq!(clock_of(&clock_bytes(&c)), c);
        }
        assert_eq!(clock_of(&clock_bytes(&Clock::default())), Clock::default());
    }
}
