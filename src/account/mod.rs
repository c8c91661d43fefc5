//! Accounts: their keys, plans, credits, rate limits and sign-in. This layer has no sockets and no SQL.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | the plan table: credits a month, API access, premium |
//! | [`account`] | an account and its billing anchor |
//! | [`key`] | API keys: generation, parsing, hashing |
//! | [`credits`] | billing cycles, charges, balances |
//! | [`rate_limit`] | requests a minute |
//! | `deletion` | deletion of accounts in small steps |
//! | [`audit`] | the log of all actions |
//! | [`ledger`], [`records`] | the storage traits of this layer |
//! | [`sign_in`] | passwords, sessions and set-up links of the web app |
//! | [`service`] | the use cases: accounts, keys, authentication, balances |

#[expect(clippy::module_inception, reason = "the layer is named after its main noun")]
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
