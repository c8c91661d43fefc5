//! Accounts: their keys, plans, credits, rate limits and sign-in.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | the plan table: credits a month, API access, premium |
//! | [`key`] | API keys: generation, parsing, hashing |
//! | [`rate_limit`] | requests a minute |
//! | `deletion` | deletion of accounts in small steps |
//! | [`sign_in`] | passwords, sessions and set-up links of the web app |
//! | [`service`] | the use cases: accounts, keys, authentication, balances |

mod deletion;
pub mod key;
pub mod plan;
pub mod rate_limit;
pub mod service;
pub mod sign_in;
