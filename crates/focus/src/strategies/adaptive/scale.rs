//! How large a number usually is in this crawl: what counts as much differs from topic to topic.

use learn::bytes::{Reader, Writer, damaged};
use types::Problem;

const BINS: usize = 1024;

/// A histogram of numbers between 0 and 1, and what the best hundredth of them reach.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    bins: Vec<u32>,
    total: u64,
    top: f64,
}

/// Nothing smaller is taken for much.
const LEAST: f64 = 0.02;

impl Default for Scale {
    fn default() -> Self {
        Scale { bins: vec![0; BINS], total: 0, top: LEAST }
    }
}

impl Scale {
    /// `value` beside the best hundredth so far: 1 = as good as they are, or better.
    pub fn of(&self, value: f64) -> f64 {
        (value / self.top.max(LEAST)).clamp(0.0, 1.0)
    }

    pub fn add(&mut self, value: f64) {
        let bin = ((value.clamp(0.0, 1.0) * BINS as f64) as usize).min(BINS - 1);
        if let Some(n) = self.bins.get_mut(bin) {
            *n = n.saturating_add(1);
        }
        self.total += 1;
        self.weigh();
    }

    fn weigh(&mut self) {
        let mut above = self.total / 100;
        self.top = LEAST;
        for (i, n) in self.bins.iter().enumerate().rev() {
            if u64::from(*n) > above {
                self.top = (i as f64 + 1.0) / BINS as f64;
                return;
            }
            above -= u64::from(*n);
        }
    }

    pub fn write(&self, w: &mut Writer) {
        let used = self.bins.iter().enumerate().filter(|(_, n)| **n > 0);
        w.var(used.clone().count() as u64);
        let mut last = 0;
        used.for_each(|(i, n)| {
            w.var((i - last) as u64).var(u64::from(*n));
            last = i;
        });
    }

    pub fn read(r: &mut Reader) -> Result<Scale, Problem> {
        let mut s = Scale::default();
        let mut bin = 0usize;
        for _ in 0..r.var()? {
            bin = usize::try_from(r.var()?).ok().and_then(|b| bin.checked_add(b)).ok_or_else(damaged)?;
            let n = u32::try_from(r.var()?).map_err(|_| damaged())?;
            *s.bins.get_mut(bin).ok_or_else(damaged)? = n;
            s.total += u64::from(n);
        }
        s.weigh();
        Ok(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_hundredth_is_one() {
        let mut s = Scale::default();
        assert_eq!(s.of(0.0), 0.0);
        for i in 0..1000 {
            s.add(f64::from(i) / 10_000.0);
        }
        // Of 1000 numbers up to 0.1 the best ten start at 0.099.
        assert!((s.of(0.0495) - 0.5).abs() < 0.02, "{}", s.of(0.0495));
        assert_eq!(s.of(0.9), 1.0);
        let mut w = Writer::default();
        s.write(&mut w);
        assert_eq!(Scale::read(&mut Reader(&w.0)).unwrap(), s);
    }
}
