//! Pieces of SQL that several statements share.

use uuid::Uuid;

use crate::base::storage::StorageError;
use crate::store::document::encode;

/// The condition on which each write of a driver depends. `?1` is the run, `?2` and `?3` are its lease.
macro_rules! driven {
    () => {
        "id = ?1 AND owner = ?2 AND epoch = ?3 AND status = 'running'"
    };
}
pub(super) use driven;

/// The ids that [`encode_ids`] has written into a parameter.
macro_rules! ids {
    ($parameter:literal) => {
        concat!("(SELECT uuid(value ->> 0) FROM json_each(", $parameter, "))")
    };
}
pub(super) use ids;

/// Encodes ids for `ids!`, as an array of `[ID]`.
pub(super) fn encode_ids(ids: impl IntoIterator<Item = Uuid>) -> Result<String, StorageError> {
    encode(&ids.into_iter().map(|id| [id]).collect::<Vec<_>>())
}
