//! Names to addresses, cached.
//!
//! The system's resolver (`getaddrinfo`) behind a small cache with a fixed lifetime, rather than a DNS client of our
//! own: it honours `/etc/hosts`, nsswitch and whatever the container or office network needs, it adds no
//! dependency, and a crawl asks for each host once in minutes anyway. What it costs is the records' own time to
//! live, which a crawler that keeps connections open does not follow closely in any case, and a thread per look-up
//! in flight, which is why those are limited. Another client can be plugged in through [`Resolve`].

use std::collections::HashMap;
use std::future::Future;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, String>> + Send + 'a>>;

/// Looks up a host name. The error is a text for people.
pub trait Resolve: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a>;
}

/// The operating system's resolver.
pub struct System {
    /// Look-ups block a thread each; dead name servers must not take the whole thread pool.
    permits: Arc<Semaphore>,
}

impl Default for System {
    fn default() -> Self {
        System { permits: Arc::new(Semaphore::new(64)) }
    }
}

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        Box::pin(async move {
            let permit = self.permits.clone().acquire_owned().await.map_err(|e| e.to_string())?;
            let name = host.to_string();
            let lookup = tokio::task::spawn_blocking(move || {
                // Held by the thread, not by the future: a timed-out look-up still occupies its thread.
                let _permit = permit;
                (name.as_str(), 0u16).to_socket_addrs().map(|a| a.map(|a| a.ip()).collect::<Vec<_>>())
            });
            match lookup.await {
                Ok(Ok(addresses)) => Ok(addresses),
                Ok(Err(e)) => Err(e.to_string()),
                Err(e) => Err(e.to_string()),
            }
        })
    }
}

type Answer = Result<Arc<[IpAddr]>, String>;
type Slot = Arc<OnceCell<(Instant, Answer)>>;

/// Remembers answers, and asks once for a name that many want at the same time.
pub(crate) struct Cache {
    resolver: Arc<dyn Resolve>,
    slots: Mutex<HashMap<Box<str>, Slot>>,
}

impl Cache {
    const GOOD_FOR: Duration = Duration::from_secs(300);
    const BAD_FOR: Duration = Duration::from_secs(30);
    const CAPACITY: usize = 50_000;

    pub fn new(resolver: Arc<dyn Resolve>) -> Cache {
        Cache { resolver, slots: Mutex::default() }
    }

    pub async fn lookup(&self, host: &str) -> Answer {
        let slot = self.slot(host);
        let ask = async {
            let answer = self.resolver.resolve(host).await.map(Arc::from);
            let lifetime = if answer.is_ok() { Cache::GOOD_FOR } else { Cache::BAD_FOR };
            (Instant::now() + lifetime, answer)
        };
        slot.get_or_init(|| ask).await.1.clone()
    }

    /// Nothing at those addresses answered: ask again next time.
    pub fn forget(&self, host: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(host);
    }

    fn slot(&self, host: &str) -> Slot {
        let now = Instant::now();
        let fresh = |slot: &Slot| slot.get().is_none_or(|(expires, _)| *expires > now);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(host)
            && fresh(slot)
        {
            return slot.clone();
        }
        if slots.len() >= Cache::CAPACITY {
            slots.retain(|_, slot| fresh(slot));
            // A crawl that meets so many hosts within minutes does not come back to them soon.
            if slots.len() >= Cache::CAPACITY {
                slots.clear();
            }
        }
        let slot = Slot::default();
        slots.insert(host.into(), slot.clone());
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Resolve for Counting {
        fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
            Box::pin(async move {
                self.0.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(10)).await;
                if host == "bad" { Err("no such host".into()) } else { Ok(vec![IpAddr::from([1, 1, 1, 1])]) }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn asks_once_while_it_is_fresh() {
        let counting = Arc::new(Counting::default());
        let cache = Cache::new(counting.clone());
        let (a, b) = tokio::join!(cache.lookup("good"), cache.lookup("good"));
        assert!(a.is_ok() && b.is_ok());
        assert_eq!(counting.0.load(Ordering::SeqCst), 1, "two at once ask once");
        cache.lookup("good").await.unwrap();
        assert_eq!(counting.0.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Cache::GOOD_FOR).await;
        cache.lookup("good").await.unwrap();
        assert_eq!(counting.0.load(Ordering::SeqCst), 2, "expired");
        cache.forget("good");
        cache.lookup("good").await.unwrap();
        assert_eq!(counting.0.load(Ordering::SeqCst), 3, "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_remembered_for_less_long() {
        let counting = Arc::new(Counting::default());
        let cache = Cache::new(counting.clone());
        assert_eq!(cache.lookup("bad").await, Err("no such host".into()));
        assert!(cache.lookup("bad").await.is_err());
        assert_eq!(counting.0.load(Ordering::SeqCst), 1);
        tokio::time::sleep(Cache::BAD_FOR).await;
        assert!(cache.lookup("bad").await.is_err());
        assert_eq!(counting.0.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn bounded() {
        let cache = Cache::new(Arc::new(Counting::default()));
        for n in 0..Cache::CAPACITY + 10 {
            cache.slot(&n.to_string());
        }
        assert!(cache.slots.lock().unwrap().len() <= Cache::CAPACITY);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_lookup_leaves_the_name_askable() {
        let cache = Cache::new(Arc::new(Counting::default()));
        let cancelled = tokio::time::timeout(Duration::from_millis(1), cache.lookup("good")).await;
        assert!(cancelled.is_err());
        assert!(cache.lookup("good").await.is_ok());
    }

    #[tokio::test]
    async fn the_system_knows_localhost() {
        let addresses = System::default().resolve("localhost").await.unwrap();
        assert!(addresses.iter().all(|a| a.is_loopback()) && !addresses.is_empty(), "{addresses:?}");
    }
}
