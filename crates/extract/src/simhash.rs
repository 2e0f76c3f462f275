//! SimHash (Charikar 2002; Manku et al. 2007): near-duplicates differ in few of 64 bits.

/// Fewer words than this say too little to call two pages alike.
const MIN_WORDS: u32 = 16;

/// Of the three-word shingles of these pieces of text; 0 when there is too little.
pub fn simhash<'a>(pieces: impl Iterator<Item = &'a str>) -> u64 {
    let mut votes = Votes::default();
    let (mut before, mut last, mut words) = (0u64, 0u64, 0u32);
    for piece in pieces {
        each_word(piece.as_bytes(), |word| {
            words += 1;
            if words > 2 {
                votes.add(mix(before.rotate_left(42) ^ last.rotate_left(21) ^ word));
            }
            (before, last) = (last, word);
        });
    }
    if words < MIN_WORDS { 0 } else { votes.majority() }
}

/// Hashes of the words, ASCII letters without case. A character of a script written without spaces is a word.
#[inline]
fn each_word(bytes: &[u8], mut word: impl FnMut(u64)) {
    // Bytes gather in a register; only every eighth one waits for a multiplication.
    let (mut h, mut eight, mut n) = (0u64, 0u64, 0u32);
    let mut end = |h: &mut u64, eight: &mut u64, n: &mut u32| {
        word(fold(*h, *eight).wrapping_add(u64::from(*n)));
        (*h, *eight, *n) = (0, 0, 0);
    };
    for &b in bytes {
        let folded = FOLD[b as usize];
        if folded == 0 || (0xe3..=0xed).contains(&b) {
            if n > 0 {
                end(&mut h, &mut eight, &mut n);
            }
            if folded == 0 {
                continue;
            }
        }
        eight = eight << 8 | u64::from(folded);
        n += 1;
        if n.is_multiple_of(8) {
            h = fold(h, eight);
            eight = 0;
        }
    }
    if n > 0 {
        end(&mut h, &mut eight, &mut n);
    }
}

#[inline]
fn fold(h: u64, eight: u64) -> u64 {
    let h = (h ^ eight).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^ (h >> 32)
}

/// 0 for what separates words.
const FOLD: [u8; 256] = {
    let mut t = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        if b.is_ascii_alphanumeric() || b >= 0x80 {
            t[i] = b.to_ascii_lowercase();
        }
        i += 1;
    }
    t
};

#[inline]
fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// 64 counters, stored by bit plane: bit `i` of `planes[k]` is bit `k` of counter `i`. Eight hashes are added
/// at a time with carry-save adders, so that a vote costs a few operations instead of 64.
#[derive(Default)]
struct Votes {
    planes: [u64; 26],
    waiting: [u64; 8],
    n: u32,
}

#[inline]
fn add3(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

impl Votes {
    #[inline]
    fn add(&mut self, hash: u64) {
        self.waiting[(self.n & 7) as usize] = hash;
        self.n += 1;
        if self.n & 7 == 0 {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let p = &mut self.planes;
        let (one, two_a) = add3(p[0], a, b);
        let (one, two_b) = add3(one, c, d);
        let (one, two_c) = add3(one, e, f);
        let (one, two_d) = add3(one, g, h);
        let (two, four_a) = add3(p[1], two_a, two_b);
        let (two, four_b) = add3(two, two_c, two_d);
        let (four, mut carry) = add3(p[2], four_a, four_b);
        (p[0], p[1], p[2]) = (one, two, four);
        for plane in &mut p[3..] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
            if carry == 0 {
                break;
            }
        }
        self.waiting = [0; 8];
    }

    fn majority(mut self) -> u64 {
        let total = u64::from(self.n);
        self.settle();
        let mut hash = 0;
        for bit in 0..64 {
            let count: u64 = self.planes.iter().enumerate().map(|(k, p)| ((p >> bit) & 1) << k).sum();
            hash |= u64::from(2 * count > total) << bit;
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(n: usize, step: usize) -> String {
        (0..n).map(|i| format!("word{} ", (i * 7919 + i * i * step) % 10_007)).collect()
    }

    #[test]
    fn counts_like_the_plain_way() {
        let text = words(1003, 3);
        let mut hashes = Vec::new();
        each_word(text.as_bytes(), |h| hashes.push(h));
        let mut counts = [0i64; 64];
        for w in hashes.windows(3) {
            let h = mix(w[0].rotate_left(42) ^ w[1].rotate_left(21) ^ w[2]);
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += if h >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
        let plain = counts.iter().enumerate().map(|(bit, &c)| u64::from(c > 0) << bit).sum::<u64>();
        assert_eq!(simhash([text.as_str()].into_iter()), plain);
    }

    #[test]
    fn alike_and_unlike() {
        let (a, b) = (words(400, 3), words(400, 5));
        let changed = a.replacen("word", "other", 3);
        let h = |s: &str| simhash([s].into_iter());
        assert_eq!(h(&a), h(&a.to_uppercase()));
        assert!((h(&a) ^ h(&changed)).count_ones() <= 6);
        assert!((h(&a) ^ h(&b)).count_ones() > 16);
        assert_eq!(h("too short"), 0);
        // Cut into pieces it is the same text.
        assert_eq!(h(&a), simhash(a.split_inclusive(' ')));
    }
}
