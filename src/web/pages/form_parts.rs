//! Parts of forms: options, and tokens of forms that do their work only once, even if they are sent several times.

use crate::base::encoding::hex;
use crate::base::secret::random;

/// The prefix of the token as an idempotency key, so that it never equals a key that a program of the account uses.
const ONCE_PREFIX: &str = "web-form:";

/// Returns a new token.
pub(in crate::web) fn new_once() -> String {
    hex(&random::<16>())
}

/// Returns the token as an idempotency key, or `None` if the app did not create it.
pub(in crate::web) fn once_key(once: &str) -> Option<String> {
    let is_ours = once.len() == 32 && once.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_ours.then(|| format!("{ONCE_PREFIX}{once}"))
}

/// An option of a select field.
#[derive(Debug, Clone)]
pub(super) struct FormOption {
    pub(super) value: &'static str,
    pub(super) label: &'static str,
    pub(super) is_chosen: bool,
}

impl FormOption {
    pub(super) fn new(value: &'static str, label: &'static str, is_chosen: bool) -> Self {
        Self { value, label, is_chosen }
    }
}
