//! Simulated people: accounts on several sites that name each other, and what is true about them.
//!
//! The username `person` with a number from 1 to 999999 begins a group of accounts. The last digit of the number decides
//! the [`PeopleKind`], and all its digits decide the details. Accounts of such a group exist on exactly the sites that
//! [`SeededPeople`] lists, in every simulated web, so tests know who each account belongs to.
//!
//! Every further username, email address and domain of a group contains its number, so that a site can find the group
//! from a query alone. Addresses and domains end in `example.org`, and links lead only to these and to the addresses of
//! profiles in the catalogue.
//!
//! | file | holds |
//! |---|---|
//! | `names` | names of people, and the sites where they have accounts |
//! | `group` | [`SeededPeople`]: a group and its accounts |
//! | `kinds` | the accounts of each kind of group |
//! | `page` | what the page of an account says |
//!
//! # To add a kind of group
//! Give [`PeopleKind`] a member, the last digit and its accounts in `kinds`, and a row of the table in `src/manual/sandbox.md`.

mod group;
mod kinds;
pub(super) mod names;
mod page;

pub use group::{PeopleKind, SeededAccount, SeededMailbox, SeededPeople, SeededRole, SeededSite};
pub(super) use page::{Named, SeededPage, exists};
