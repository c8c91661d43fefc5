//! [`Session`]: the sender of a request, and the revision that it speaks.

use std::sync::Arc;

use super::revision::Revision;
use crate::account::service::Caller;
use crate::api::context::Api;
use crate::base::ids::RequestId;

/// What is known about the sender of a request.
pub(super) struct Session<'a> {
    pub(super) api: &'a Arc<Api>,
    pub(super) caller: &'a Caller,
    pub(super) request_id: &'a RequestId,
    pub(super) revision: Revision,
}
