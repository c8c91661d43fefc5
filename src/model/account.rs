//! Accounts and API keys, and what an account has used.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, KeyId, RunId};
use crate::base::words::words;

/// The plan of an account that is being deleted. No plan table can contain it, so a version of the program that does
/// not know it grants such an account nothing.
pub const BEING_DELETED: &str = "(being deleted)";

/// The owner of API keys, of runs and of credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The id of the account, which the API calls `user_id`.
    pub id: AccountId,
    /// The email address, which is unique, in lower case and at most 254 bytes long.
    pub email: String,
    /// The name of a plan in the plan table, or [`BEING_DELETED`].
    pub plan: String,
    /// The start of the first billing cycle, in whole milliseconds.
    #[serde(rename = "billing_anchor", serialize_with = "millis")]
    pub anchor: Timestamp,
    /// The time at which the account was created, in whole milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// The permissions of the owner in the web app.
    pub role: Role,
}

words! {
    /// The permissions of an account's owner in the web app.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// The owner sees only their own runs and keys.
        #[default]
        User = "user",
        /// The owner also sees the state of the service.
        Operator = "operator",
    }
}

impl Account {
    /// Returns whether the deletion of the account has begun. Such an account is refused everything.
    pub fn is_being_deleted(&self) -> bool {
        self.plan == BEING_DELETED
    }
}

/// The SHA-256 of a complete key, or of the token of a session or link. Since it has at least 128 random bits, its hash
/// needs neither a salt nor a slow function.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretHash(pub [u8; 32]);

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash([redacted])")
    }
}

/// The maximum number of keys of an account that are not revoked.
pub const MOST_KEYS: usize = 100;

/// The stored facts about a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyRecord {
    /// The identifier, which is not secret.
    pub id: KeyId,
    /// The owner of the key.
    #[serde(skip)]
    pub account: AccountId,
    /// The SHA-256 of the key.
    #[serde(skip)]
    pub hash: SecretHash,
    /// The last four characters.
    pub last_four: String,
    /// The owner's label for the key. It has at most 100 characters and may be empty.
    pub label: String,
    /// The time at which the key was created.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// The time at which the key was last used, to about a minute.
    #[serde(serialize_with = "millis")]
    pub last_used_at: Option<Timestamp>,
    /// The time at which the key was revoked.
    #[serde(serialize_with = "millis")]
    pub revoked_at: Option<Timestamp>,
}

/// The amount of data that is deleted with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// The number of keys.
    pub keys: u64,
    /// The number of runs, each with its results.
    pub runs: u64,
}

/// The maximum size of one transaction that removes runs. Other writers wait for it. On SQLite, all of them do.
pub const BATCH: BatchSize = BatchSize { runs: 50, results: 1000 };

/// The size of a batch that one transaction removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSize {
    /// The maximum number of runs.
    pub runs: usize,
    /// The maximum number of results of all runs together, unless a single run has more.
    pub results: u64,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Booking {
    /// The run that was charged or refunded.
    #[serde(rename = "run_id")]
    pub run: RunId,
    /// The kind of the line: `charge` or `refund`.
    pub kind: String,
    /// The number of credits.
    pub credits: u64,
    /// The start of the billing cycle that was charged.
    #[serde(serialize_with = "millis")]
    pub cycle_start: Timestamp,
    /// The time at which it was booked.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
}

/// The credits used in one billing cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CycleUse {
    /// The start of the cycle.
    #[serde(serialize_with = "millis")]
    pub cycle_start: Timestamp,
    /// The number of credits that were used.
    #[serde(rename = "credits_used")]
    pub used: u64,
}

/// An `Idempotency-Key` that has not expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotedRequest {
    /// The key as the caller sent it.
    pub key: String,
    /// The run that was started with it.
    #[serde(rename = "run_id")]
    pub run: RunId,
    /// The time at which it was recorded.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
}
