use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds: since the Unix epoch in a live crawl, since the start in a simulated one.
///
/// Everything that decides *when* takes the time as an argument, so that a backtest can run a week of polite
/// waiting in a second, and a test can turn the clock back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Millis(pub u64);

impl Millis {
    /// Later than every other time.
    pub const NEVER: Millis = Millis(u64::MAX);

    /// By this machine's clock; for whoever lives in real time.
    pub fn now() -> Millis {
        Millis(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64))
    }

    /// By this machine's clock when the process first asked, and by a stopwatch since then: whoever sets the
    /// clock does not move it. For whoever decides when something may happen.
    pub fn steady() -> Millis {
        static START: OnceLock<(Millis, Instant)> = OnceLock::new();
        let (wall, since) = START.get_or_init(|| (Millis::now(), Instant::now()));
        wall.plus(since.elapsed())
    }

    /// Later by `d`; never beyond [`Millis::NEVER`].
    pub fn plus(self, d: Duration) -> Millis {
        Millis(self.0.saturating_add(d.as_millis() as u64))
    }

    /// Time from `earlier` to `self`; zero when the clock went backwards.
    pub fn since(self, earlier: Millis) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}
