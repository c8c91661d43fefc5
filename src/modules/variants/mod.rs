//! Variants: the usernames that a person may have chosen, by the frequency of such forms.
//!
//! | file | holds |
//! |---|---|
//! | [`variant`] | a variant, and the order of variants |
//! | [`person`] | variants of a person's names, in Latin letters |
//! | [`username`] | variants of a username |
//!
//! # Where the weights come from
//! The weight of a variant is the share of usernames that have its form. The forms were counted in November 2026 in
//! public profiles that state a name and the owner's usernames: those of BioDrop
//! (<https://github.com/EddieHubCommunity/BioDrop>) and of the members of the Rust project
//! (<https://github.com/rust-lang/team>). Their 2,613 owners have 5,392 usernames on GitHub, Twitter, Instagram and 16
//! smaller sites. 45 % of these have a form that is listed in `catalog/tables/variants.json`; the others have nothing to do with the name of
//! their owner, or only with a part of it. Most owners are programmers: another group of people may prefer other forms.

pub mod person;
pub mod username;
pub mod variant;
