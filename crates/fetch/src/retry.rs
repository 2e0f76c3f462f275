//! When to try again. Pure: the jitter comes from a seed, so a crawl can be repeated.

use std::time::Duration;

/// The first wait, before jitter.
pub const BASE: Duration = Duration::from_secs(2);
/// No wait is longer.
pub const MAX: Duration = Duration::from_secs(15 * 60);

/// How long to wait before attempt number `attempt + 1`, after `attempt` failures (from 1).
///
/// Doubles each time up to [`MAX`]; half of it is jitter, so that hosts which failed together do not come
/// back together. The same attempt and seed (say, of URL and crawl) always give the same wait.
///
/// ```
/// use gleaner_fetch::retry::backoff;
/// assert_eq!(backoff(3, 7), backoff(3, 7));
/// assert!(backoff(9, 7) > backoff(1, 7));
/// ```
pub fn backoff(attempt: u32, seed: u64) -> Duration {
    let doubled = BASE.as_millis() as u64;
    let doubled =
        doubled.saturating_mul(1u64 << attempt.saturating_sub(1).min(32)).min(MAX.as_millis() as u64);
    let half = doubled / 2;
    Duration::from_millis(half + mix(seed ^ mix(u64::from(attempt))) % (half + 1))
}

/// SplitMix64's finaliser: every bit of the seed reaches every bit of the result.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_stays_bounded_and_jitters() {
        for seed in 0..200 {
            for attempt in 0..40u32 {
                let wait = backoff(attempt, seed);
                let full = BASE.saturating_mul(1 << attempt.saturating_sub(1).min(20)).min(MAX);
                assert!(wait >= full / 2 && wait <= full, "attempt {attempt}, seed {seed}: {wait:?}");
            }
        }
        let distinct: std::collections::BTreeSet<_> = (0..200).map(|seed| backoff(5, seed)).collect();
        assert!(distinct.len() > 190, "{}", distinct.len());
        assert!(backoff(u32::MAX, u64::MAX) <= MAX);
        // Spread over the whole range, not bunched at an end.
        let mean: u128 = (0..1000).map(|s| backoff(6, s).as_millis()).sum::<u128>() / 1000;
        let full = (BASE * 32).as_millis();
        assert!(mean > full * 70 / 100 && mean < full * 80 / 100, "{mean} of {full}");
    }
}
