//! WHO may do how much. Pure: accounts, keys, plans, credits, rate limits. No sockets, no SQL.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | the plan table: credits a month, API access, premium |
//! | [`account`] | an account, its billing anchor |
//! | [`key`] | API keys: making, checking, hashing |
//! | [`credits`] | billing cycles, charges, balances |
//! | [`rate_limit`] | requests a minute |
//! | `deletion` | deleting accounts, bit by bit |
//! | [`audit`] | who did what, when |
//! | [`ledger`], [`records`] | what this room asks of storage |
//! | [`sign_in`] | passwords, sessions and set-up links of the web app |
//! | [`service`] | the use cases: create, authenticate, balance |

#[expect(clippy::module_inception, reason = "the room is named after its main noun")]
pub mod account;
pub mod audit;
pub mod credits;
mod deletion;
pub mod key;
pub mod ledger;
pub mod plan;
pub mod rate_limit;
pub mod records;
pub mod service;
pub mod sign_in;
