//! The operations of the store, each written once for both databases.

mod accounts;
mod audit;
mod batches;
mod credits;
mod erasure;
mod families;
mod feed;
pub(super) mod fragments;
mod health;
mod notes;
mod outbox;
mod results;
mod runs;
mod sign_in;
mod start;
mod take_over;
mod watches;
mod webhooks;

// What the files of this folder have in common.
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
use crate::base::storage::StorageError;
use crate::model::{
    account::*, audit::*, batch::*, credits::*, drive::*, event::*, family::*, follow::*, notes::*, page::*,
    quota::*, refusal::*, run::*, search::*, sign_in::*, start::*, watch::*, webhook::*,
};
use crate::modules::query::SearchType;
use crate::store::database::Store;
use crate::store::document::{encode, encode_ids};
use crate::store::error::Result;
use crate::store::tx::{Operation, Tx, background};
use crate::store::value::{FromRow, Json, Parameter, Row, Value, row, values};
