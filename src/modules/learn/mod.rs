//! Learns the rules of an entry from the answers of its site.
//!
//! The answers for known accounts are compared with those for made-up names. [`propose`] is a pure function: it
//! gets these answers and returns entries whose rules separate them, the best first. [`Learner`] asks the site,
//! and proves a proposal with made-up names that it was not made from.
//!
//! Evidence is preferred in this order: the status, JSON members, structured data and addresses, elements of the
//! page, the title, and other text. A condition counts only if it holds in both of two answers for the same name.
//!
//! | file | holds |
//! |---|---|
//! | `evidence` | the answers, and which conditions hold in them |
//! | `propose` | the ranking of rules, and the trial of entries on the answers |
//! | `existing` | conditions of the existing rules that still hold, and renamed JSON members |
//! | `json`, `page`, `head` | new conditions on JSON, on pages, on the status and the address |
//! | `wording` | texts that say that something is missing, and texts that other failures show, too |
//! | `failures` | answers of failing sites, which no proposed rule may match |
//! | `moved` | the new address of an endpoint |
//! | `learner` | asks the site, and proves the proposals |

mod candidate;
mod evidence;
mod existing;
mod failures;
mod head;
mod json;
mod learner;
mod moved;
mod page;
mod propose;
mod wording;

pub use evidence::{Evidence, Sample};
pub use learner::{Learner, Lesson, NotLearned};
pub use propose::propose;
