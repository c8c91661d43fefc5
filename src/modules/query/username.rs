//! Validation and normal form of usernames.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::modules::text::constant;

/// The maximum length of a username in characters, in its composed form.
pub const MAX_CHARS: usize = 64;

pub(super) const ALLOWED: &str = "a username of 1 to 64 letters (of any script), digits, '.', '_', '-', '+' or '~', with or without a leading '@'";

static DISALLOWED: LazyLock<Regex> = LazyLock::new(|| constant(r"[^\p{L}\p{M}\p{Nd}._+~-]"));

/// Matches a combining mark that does not follow a letter, and five marks in a row, which no real writing has.
static STRAY_MARK: LazyLock<Regex> = LazyLock::new(|| constant(r"(?:^|[\p{Nd}._+~-])\p{M}|\p{M}{5}"));

/// Returns the normal form of a username: without one leading `@`, and composed (NFC), since sites store
/// names in that form. The case is kept, since only the site knows whether it matters.
///
/// # Errors
/// Returns a description of the mistake, which does not repeat the text.
pub fn normalize(text: &str) -> Result<String, String> {
    let name: String = text.strip_prefix('@').unwrap_or(text).nfc().collect();
    if name.is_empty() {
        return Err("the username is empty".into());
    }
    let chars = name.chars().count();
    if chars > MAX_CHARS {
        return Err(format!("the username has {chars} characters, more than {MAX_CHARS}"));
    }
    if let Some(strange) = DISALLOWED.find(&name) {
        let at = name[..strange.start()].chars().count() + 1;
        return Err(format!("the username contains a character that is not allowed (character {at})"));
    }
    if STRAY_MARK.is_match(&name) {
        return Err("the username contains a combining mark without its letter, or too many of them".into());
    }
    // In the path of an address, `.` and `..` refer to another page.
    if name.chars().all(|c| c == '.') {
        return Err("the username contains nothing but dots".into());
    }
    Ok(name)
}
