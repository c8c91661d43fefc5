//! What the files of this folder have in common.

pub(super) use std::time::Duration;

pub(super) use jiff::Timestamp;
pub(super) use uuid::Uuid;

pub(super) use super::fragments::encode_ids;
pub(super) use crate::base::ids::{
    AccountId, BatchId, DeliveryId, KeyId, RunId, SessionId, WatchChangeId, WatchId, WebhookId,
};
pub(super) use crate::base::storage::StorageError;
pub(super) use crate::model::audit::{Action, AuditEvent, Origin};
pub(super) use crate::model::drive::Notification;
pub(super) use crate::store::database::Store;
pub(super) use crate::store::document::{Json, decode, encode};
pub(super) use crate::store::error::Result;
pub(super) use crate::store::tx::{Operation, Tx, background};
pub(super) use crate::store::value::{Cells, FromCell, FromRow, Row, Value};
