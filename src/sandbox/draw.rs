//! Deterministic pseudo-random numbers that depend on a seed and some words only.

/// Returns a number derived from the seed and the words (FNV-1a, then the finalizer of SplitMix64).
pub(super) fn draw(seed: u64, words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ finalize(seed);
    for word in words {
        // The byte 0xff occurs in no UTF-8 text, so ("ab", "c") and ("a", "bc") give different numbers.
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    finalize(hash)
}

/// Returns a fraction of at least 0.0 and below 1.0.
pub(super) fn fraction(seed: u64, words: &[&str]) -> f64 {
    // An `f64` represents integers of up to 53 bits exactly.
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
    fn draws_never_change_and_depend_on_every_word() {
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
