//! Profile pictures: fetched, decoded within limits, and kept as hashes and a small thumbnail.
//!
//! Pictures come from anybody, so nothing about them is trusted: neither the `Content-Type` nor the size that a header
//! states. The original is dropped as soon as its thumbnail is drawn.
//!
//! | file | holds |
//! |---|---|
//! | [`avatar`] | what a result says about its picture, and the perceptual hash |
//! | [`picture`] | fetching and decoding a picture, within the limits of the four formats |
//! | [`pixels`] | pixels, reduced and written as PNG |

pub mod avatar;
pub mod picture;
pub mod pixels;
#[cfg(test)]
mod tests;
