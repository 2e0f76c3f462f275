//! How long something took, per link: the mean and quantiles, from a histogram of a few dozen numbers.

use std::time::Duration;

/// Eight bins per doubling: quantiles are right to 9 %.
const PER_DOUBLING: f64 = 8.0;
const BINS: usize = 280;

#[derive(Clone, Debug)]
pub(crate) struct Watch {
    nanos: f64,
    links: u64,
    bins: [u64; BINS],
}

impl Default for Watch {
    fn default() -> Self {
        Watch { nanos: 0.0, links: 0, bins: [0; BINS] }
    }
}

impl Watch {
    /// `links` links took `time` together; each counts as their mean.
    pub fn count(&mut self, time: Duration, links: usize) {
        if links == 0 {
            return;
        }
        let nanos = time.as_nanos() as f64;
        self.nanos += nanos;
        self.links += links as u64;
        let bin = (libm::log2((nanos / links as f64).max(1.0)) * PER_DOUBLING) as usize;
        if let Some(n) = self.bins.get_mut(bin.min(BINS - 1)) {
            *n += links as u64;
        }
    }

    pub fn links(&self) -> u64 {
        self.links
    }

    pub fn mean_us(&self) -> f64 {
        self.nanos / 1e3 / self.links.max(1) as f64
    }

    /// The time that a share `q` of the links did not exceed; 0 when there are none.
    pub fn quantile_us(&self, q: f64) -> f64 {
        let wanted = (self.links as f64 * q).ceil() as u64;
        let mut seen = 0;
        for (i, n) in self.bins.iter().enumerate() {
            seen += n;
            if *n > 0 && seen >= wanted {
                return libm::exp2((i as f64 + 1.0) / PER_DOUBLING) / 1e3;
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_ones_show_in_the_quantile() {
        let mut w = Watch::default();
        assert_eq!((w.mean_us(), w.quantile_us(0.99)), (0.0, 0.0));
        // 980 links at 1 µs, 20 at 100 µs: the mean is 2.98 µs, the median 1, the 99th percentile 100.
        (0..98).for_each(|_| w.count(Duration::from_micros(10), 10));
        w.count(Duration::from_micros(2000), 20);
        w.count(Duration::from_secs(9), 0);
        assert_eq!(w.links(), 1000);
        assert!((w.mean_us() - 2.98).abs() < 1e-9);
        assert!((0.95..1.1).contains(&w.quantile_us(0.5)), "{}", w.quantile_us(0.5));
        assert!((92.0..110.0).contains(&w.quantile_us(0.99)), "{}", w.quantile_us(0.99));
    }
}
