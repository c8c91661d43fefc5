//! Limits, patterns and defaults that several types of the rule language share.

/// The most rules, results and known names in each list.
pub(super) const MAX_LISTED: usize = 50;
/// The most probes of a module.
pub const MAX_PROBES: usize = 4;

/// The pattern of a category or a tag, followed by its message.
pub(super) const WORD: &str = "^[a-z0-9_ -]{1,64}$";
pub(super) const WORD_ALLOWED: &str = "expected a-z, 0-9, `_`, `-` and spaces, at most 64 characters";
/// The pattern of a metadata name or a saved name, followed by its message.
pub(super) const NAME: &str = "^[a-z0-9_]{1,40}$";
pub(super) const NAME_ALLOWED: &str = "expected a-z, 0-9 and `_`, at most 40 characters";
/// The pattern of an email domain, followed by its message.
pub(super) const DOMAIN: &str = r"^[a-z0-9.-]*\.[a-z0-9.-]*$";
pub(super) const DOMAIN_ALLOWED: &str = "write a domain in lower case";

/// The pattern of a date in an entry, followed by its message. Whether the day exists is checked later.
pub(super) const DATE: &str = "^20[0-9]{2}-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?$";
pub(super) const DATE_ALLOWED: &str = "write a date such as 2026-08-22, or 2026-08 if the day is not known";

pub(super) fn yes() -> bool {
    true
}
