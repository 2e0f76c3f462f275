//! The one source of chance: SplitMix64, seeded by the caller. Small, stable between versions, good enough to
//! shuffle.

/// Its state. Two of the same seed draw the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rng(pub u64);

impl Rng {
    /// The next number, uniform over all `u64`.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
    /// Uniform in 0..n; 0 when n is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.draw()) * n as u128) >> 64) as usize
    }
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.draw())
    }
    /// Fisher–Yates: every order is equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The finaliser of SplitMix64: every output bit depends on every input bit.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 53 random bits as a number in `[0, 1)`.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_same_chance() {
        let five = |seed| (0..5).map(|_| Rng(seed).below(100)).collect::<Vec<_>>();
        assert_eq!(five(7), five(7));
        let mut r = Rng(7);
        assert!((0..1000).all(|_| r.below(3) < 3 && (0.0..1.0).contains(&r.unit())));
        assert_eq!(r.below(0), 0);
        // The reference values of SplitMix64 with seed 1234567.
        let mut r = Rng(1_234_567);
        assert_eq!((r.draw(), r.draw()), (6_457_827_717_110_365_317, 3_203_168_211_198_807_973));
    }
}
