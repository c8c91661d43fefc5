//! Texts that say that something does not exist, and texts that failing sites show, too.

/// Parts of sentences, in lower case, that say that something does not exist.
const MISSING: [&str; 52] = [
    "not found",
    "404",
    "doesn't exist",
    "doesn’t exist",
    "does not exist",
    "don't exist",
    "do not exist",
    "no such",
    "no longer exist",
    "could not find",
    "couldn't find",
    "couldn’t find",
    "can't find",
    "can’t find",
    "cannot find",
    "can not find",
    "isn't available",
    "isn’t available",
    "unknown user",
    "unknown account",
    "no user",
    "no account",
    "no profile",
    "no member",
    "no one here",
    "nobody here",
    "nicht gefunden",
    "existiert nicht",
    "introuvable",
    "n'existe pas",
    "n’existe pas",
    "no encontrad",
    "no existe",
    "não encontrad",
    "não existe",
    "non trovat",
    "non esiste",
    "не найден",
    "не существует",
    "niet gevonden",
    "bestaat niet",
    "nie znaleziono",
    "nie istnieje",
    "bulunamadı",
    "見つかりません",
    "存在しません",
    "找不到",
    "不存在",
    "찾을 수 없",
    "tidak ditemukan",
    "hittades inte",
    "nenalezen",
];

/// Parts of identifiers, without signs and in lower case, that say the same.
const MISSING_IDENTIFIERS: [&str; 7] =
    ["notfound", "404", "nosuch", "nouser", "noprofile", "nonexist", "doesnotexist"];

/// Parts of texts, in lower case, that sites show for blocks, limits, sign-in pages and faults.
const FAILURES: [&str; 26] = [
    "forbidden",
    "unauthor",
    "unauthent",
    "denied",
    "blocked",
    "captcha",
    "challenge",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many",
    "try again",
    "log in",
    "login",
    "sign in",
    "signin",
    "temporar",
    "maintenance",
    "internal",
    "timeout",
    "timed out",
    "bad request",
    "something went wrong",
    "robot",
    "javascript",
    "cookie",
];

/// Whole values that say only that something failed.
const VAGUE: [&str; 14] = [
    "",
    "error",
    "errors",
    "fail",
    "failed",
    "failure",
    "false",
    "ko",
    "nok",
    "invalid",
    "none",
    "null",
    "exception",
    "warning",
];

/// Returns whether a text says that something does not exist.
pub(super) fn says_missing(text: &str) -> bool {
    let lower = text.to_lowercase();
    MISSING.iter().any(|part| lower.contains(part)) && !is_of_failure(text)
}

/// Returns whether an identifier, such as a class, says that something does not exist.
pub(super) fn names_missing(identifier: &str) -> bool {
    let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    MISSING_IDENTIFIERS.iter().any(|part| plain.contains(part))
}

/// Returns whether a block, a limit, a sign-in page or a fault may show this text, too.
pub(super) fn is_of_failure(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    VAGUE.contains(&lower.as_str()) || FAILURES.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_account_is_told_from_a_failure() {
        for text in ["User not found", "Cette page est introuvable", "Oops! No such user."] {
            assert!(says_missing(text), "{text}");
        }
        for text in ["Welcome", "Log in to see if this user does not exist", "Access denied", "No posts yet"]
        {
            assert!(!says_missing(text), "{text}");
        }
        assert!(names_missing("error-page__not-found") && !names_missing("error"));
        assert!(is_of_failure("Error") && is_of_failure("FORBIDDEN") && !is_of_failure("USER_NOT_FOUND"));
    }
}
