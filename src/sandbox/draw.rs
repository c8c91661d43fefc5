//! Deterministic pseudo-random numbers that depend on a seed and some words only.

use crate::modules::sample::Random;

/// Returns a number derived from the seed and the words (FNV-1a, then the finalizer of SplitMix64).
pub(super) fn draw(seed: u64, words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ Random::new(seed).next();
    for word in words {
        // The byte 0xff occurs in no UTF-8 text, so ("ab", "c") and ("a", "bc") give different numbers.
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Random::new(hash).next()
}

/// Returns a fraction of at least 0.0 and below 1.0.
pub(super) fn fraction(seed: u64, words: &[&str]) -> f64 {
    // An `f64` represents integers of up to 53 bits exactly.
    (draw(seed, words) >> 11) as f64 / (1u64 << 53) as f64
}
