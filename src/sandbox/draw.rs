//! Chance without chance: numbers drawn from names, the same on every machine and in every year.

/// A number drawn from a seed and some words (FNV-1a, then the finalizer of SplitMix64).
pub(super) fn draw(seed: u64, words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ finalize(seed);
    for word in words {
        // 0xff stands in no UTF-8 text: ("ab", "c") and ("a", "bc") differ.
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    finalize(hash)
}

/// The same as a fraction: at least 0.0, below 1.0.
pub(super) fn fraction(seed: u64, words: &[&str]) -> f64 {
    // 53 bits are what an f64 holds exactly.
    (draw(seed, words) >> 11) as f64 / (1u64 << 53) as f64
}

fn finalize(mut number: u64) -> u64 {
    number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_fixed_for_ever_and_depend_on_every_word() {
        assert_eq!(draw(7, &["a", "b"]), draw(7, &["a", "b"]));
        let others = [draw(8, &["a", "b"]), draw(7, &["ab"]), draw(7, &["a", "b", ""]), draw(7, &["b", "a"])];
        assert!(others.iter().all(|other| *other != draw(7, &["a", "b"])));
    }

    #[test]
    fn fractions_are_spread_evenly() {
        let below = (0..10_000).filter(|n| fraction(1, &[&n.to_string()]) < 0.25).count();
        assert!((2_300..2_700).contains(&below), "{below}");
    }
}
