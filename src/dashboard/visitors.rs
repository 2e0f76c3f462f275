//! Who is connected. Connections that have not shown the token yet are few, from one address fewer still, and
//! those that say nothing for a second make room for newer ones: somebody who opens sockets cannot keep
//! others out.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Connections without the token, over all addresses and of one: with more, the oldest that waits is sent
/// away.
const STRANGERS: usize = 256;
const STRANGERS_PER_ADDRESS: usize = 64;
/// With so many times more, and none that waits long enough, new ones are not let in.
const CROWD: usize = 2;
/// How long a connection may take to ask before it can be sent away. A busy machine needs its time to read
/// what was sent.
const TO_ASK: Duration = Duration::from_secs(1);
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
    since: Instant,
    /// A request of it is being answered.
    busy: bool,
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
    /// Lets a connection in, or not.
    pub fn enter(self: &Arc<Visitors>, ip: IpAddr, now: Instant) -> Option<Visitor> {
        let ip = network(ip);
        let mut state = locked(&self.state);
        let of_address = state.strangers.iter().filter(|s| s.ip == ip).count();
        for (there, most, whose) in
            [(of_address, STRANGERS_PER_ADDRESS, Some(ip)), (state.strangers.len(), STRANGERS, None)]
        {
            if there >= most && !state.send_away(whose, now) && there >= CROWD * most {
                return None;
            }
        }
        let (number, leave) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.strangers.push_back(Stranger { number, ip, since: now, busy: false, leave: leave.clone() });
        Some(Visitor { all: self.clone(), number, ip, leave, known: Mutex::new(false) })
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
    /// The oldest that waits, of one address or of all. `false`: there is none.
    fn send_away(&mut self, whose: Option<IpAddr>, now: Instant) -> bool {
        let waits = |s: &Stranger| !s.busy && now.saturating_duration_since(s.since) >= TO_ASK;
        let at = self.strangers.iter().position(|s| waits(s) && whose.is_none_or(|ip| s.ip == ip));
        let gone = at.and_then(|at| self.strangers.remove(at));
        gone.inspect(|s| s.leave.notify_one()).is_some()
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

    /// A request of it is being answered, or no more.
    pub fn set_busy(&self, busy: bool) {
        let mut state = locked(&self.all.state);
        if let Some(stranger) = state.strangers.iter_mut().find(|s| s.number == self.number) {
            stranger.busy = busy;
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
        let start = Instant::now();
        let later = start + TO_ASK;
        let me = all.enter(mine, start).unwrap();
        me.recognised();
        me.recognised();
        let asking = all.enter(mine, start).unwrap();
        asking.set_busy(true);
        // At once: so many and no more, and nobody is sent away.
        let flood: Vec<Visitor> = (0..1100).filter_map(|_| all.enter(theirs, start)).collect();
        assert_eq!(flood.len(), CROWD * STRANGERS_PER_ADDRESS);
        assert!(!flood.iter().any(is_sent_away));
        let new = all.enter(mine, start).unwrap();
        // After a second the oldest that say nothing make room for each that comes.
        let next: Vec<Visitor> = (0..50).map(|_| all.enter(theirs, later).unwrap()).collect();
        assert!(flood[..50].iter().all(is_sent_away) && !is_sent_away(&flood[50]));
        assert!(!next.iter().any(is_sent_away) && !is_sent_away(&new));
        // From many addresses: the same, and whoever is known or asks just now stays.
        let many = (0..2000u32).filter_map(|n| all.enter(IpAddr::from(n.to_be_bytes()), later + TO_ASK));
        let many: Vec<Visitor> = many.collect();
        assert!(locked(&all.state).strangers.len() <= CROWD * STRANGERS);
        assert!(many.len() >= STRANGERS && is_sent_away(&new));
        assert!(!is_sent_away(&me) && !is_sent_away(&asking));
        drop((flood, next, many, new, asking, me));
        let state = locked(&all.state);
        assert_eq!((state.strangers.len(), state.known), (0, 0));
    }
}
