//! Usernames.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization;

/// The most characters of a username, in its composed form.
pub const MAX_CHARS: usize = 64;

pub(super) const ALLOWED: &str = "a username of 1 to 64 letters (of any script), digits, '.', '_', '-', '+' or '~', with or without a leading '@'";

fn pattern(text: &str) -> Regex {
    // Constant patterns: the tests compile each of them.
    Regex::new(text).expect("a valid pattern")
}

static STRANGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"[^\p{L}\p{M}\p{Nd}._+~-]"));

/// Marks belong on a letter, and real writing never piles up more than a few.
static STRAY_MARK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:^|[\p{Nd}._+~-])\p{M}|\p{M}{5}"));

/// The normal form: one leading `@` off, composed (NFC), since that is how sites store names. Case is
/// kept: whether it matters is the site's affair.
///
/// # Errors
/// Says what is wrong, without repeating the text.
pub fn normalize(text: &str) -> Result<String, String> {
    let name: String = text.strip_prefix('@').unwrap_or(text).nfc().collect();
    if name.is_empty() {
        return Err("the username is empty".into());
    }
    let chars = name.chars().count();
    if chars > MAX_CHARS {
        return Err(format!("the username has {chars} characters, more than {MAX_CHARS}"));
    }
    if let Some(strange) = STRANGE.find(&name) {
        let at = name[..strange.start()].chars().count() + 1;
        return Err(format!("the username holds a character that is not allowed (character {at})"));
    }
    if STRAY_MARK.is_match(&name) {
        return Err("the username holds a combining mark without its letter, or too many of them".into());
    }
    // In the path of an address, `.` and `..` name another page.
    if name.chars().all(|c| c == '.') {
        return Err("the username holds nothing but dots".into());
    }
    Ok(name)
}
