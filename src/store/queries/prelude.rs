//! What the files of this folder have in common.

pub(super) use std::time::Duration;

pub(super) use jiff::Timestamp;
pub(super) use uuid::Uuid;

pub(super) use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
pub(super) use crate::base::storage::StorageError;
pub(super) use crate::model::{
    account::*, audit::*, batch::*, credits::*, drive::*, event::*, family::*, follow::*, notes::*, page::*,
    quota::*, retention::*, run::*, search::*, sign_in::*, start::*, watch::*, webhook::*,
};
pub(super) use crate::modules::query::SearchType;
pub(super) use crate::store::database::Store;
pub(super) use crate::store::document::{Json, decode, encode, encode_ids};
pub(super) use crate::store::error::Result;
pub(super) use crate::store::tx::{Operation, Tx, background};
pub(super) use crate::store::value::{Cells, FromCell, FromRow, Row, Value, row, values};
