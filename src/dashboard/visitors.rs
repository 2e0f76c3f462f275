//! Who is connected. Connections that have not shown the token yet are few, from one address fewer still, and make room for
//! newer ones: somebody who opens sockets and says nothing cannot keep others out.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Connections without the token, over all addresses and of one.
const STRANGERS: usize = 256;
const STRANGERS_PER_ADDRESS: usize = 64;
/// Connections that showed the token, streams included. Strangers cannot take these places.
const KNOWN: usize = 256;

#[derive(Default)]
pub struct Visitors {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// The oldest first.
    strangers: VecDeque<Stranger>,
    known: usize,
}

struct Stranger {
    number: u64,
    ip: IpAddr,
    leave: Arc<Notify>,
}

/// One connection; its place is free again when this is dropped.
pub struct Visitor {
    all: Arc<Visitors>,
    number: u64,
    ip: IpAddr,
    leave: Arc<Notify>,
    known: Mutex<bool>,
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Visitors {
    /// Lets a connection in. When there are too many strangers, the one that waits longest is sent away.
    pub fn enter(self: &Arc<Visitors>, ip: IpAddr) -> Visitor {
        let ip = network(ip);
        let mut state = locked(&self.state);
        let of_address = |s: &Stranger| s.ip == ip;
        if state.strangers.iter().filter(|s| of_address(s)).count() >= STRANGERS_PER_ADDRESS {
            let oldest = state.strangers.iter().position(of_address);
            state.send_away(oldest);
        } else if state.strangers.len() >= STRANGERS {
            state.send_away(Some(0));
        }
        let (number, leave) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.strangers.push_back(Stranger { number, ip, leave: leave.clone() });
        Visitor { all: self.clone(), number, ip, leave, known: Mutex::new(false) }
    }
}

/// Whoever has one IPv6 address has the 2^64 around it.
fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

impl State {
    fn send_away(&mut self, at: Option<usize>) {
        if let Some(stranger) = at.and_then(|at| self.strangers.remove(at)) {
            stranger.leave.notify_one();
        }
    }
    fn forget(&mut self, number: u64) {
        self.strangers.retain(|s| s.number != number);
    }
}

impl Visitor {
    /// Its address, or the network that it is in.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// It showed the token: it stays, if there is a place.
    pub fn recognised(&self) {
        let mut known = locked(&self.known);
        let mut state = locked(&self.all.state);
        if !*known && state.known < KNOWN {
            *known = true;
            state.known += 1;
            state.forget(self.number);
        }
    }

    /// Waits until its place is needed for somebody else.
    pub async fn must_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let mut state = locked(&self.all.state);
        match *locked(&self.known) {
            true => state.known -= 1,
            false => state.forget(self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sent_away(v: &Visitor) -> bool {
        !locked(&v.all.state).strangers.iter().any(|s| s.number == v.number) && !*locked(&v.known)
    }

    #[test]
    fn strangers_make_room_and_known_visitors_stay() {
        let all = Arc::new(Visitors::default());
        let (mine, theirs): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        let me = all.enter(mine);
        me.recognised();
        me.recognised();
        let new = all.enter(mine);
        let flood: Vec<Visitor> = (0..1100).map(|_| all.enter(theirs)).collect();
        assert_eq!(flood.iter().filter(|v| !is_sent_away(v)).count(), STRANGERS_PER_ADDRESS);
        assert!(!is_sent_away(&flood[1099]) && !is_sent_away(&new) && !is_sent_away(&me));
        // From many addresses: the oldest strangers go, whoever is known does not.
        let many: Vec<Visitor> = (0..2000u32).map(|n| all.enter(IpAddr::from(n.to_be_bytes()))).collect();
        assert_eq!(many.iter().filter(|v| !is_sent_away(v)).count(), STRANGERS);
        assert!(is_sent_away(&new) && !is_sent_away(&me));
        drop((flood, many, new, me));
        let state = locked(&all.state);
        assert_eq!((state.strangers.len(), state.known), (0, 0));
    }
}
