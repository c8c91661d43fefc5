//! Escapes values so that they cannot change the syntax of the text around them.

use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::Url;

use super::place::{FillError, Place};
use crate::base::encoding::percent_encode;
use crate::base::text::xml;

/// Writes `value` so that it remains one value in its place.
pub(super) fn escape(value: &str, place: Place, out: &mut String) -> Result<(), FillError> {
    match place {
        Place::Path | Place::UrlQuery | Place::Form => out.push_str(&percent_encode(value)),
        Place::Json => json(value, out),
        Place::Xml => xml(value, out),
        Place::Regex => out.push_str(&regex::escape(value)),
        Place::Header => header(value, out)?,
        Place::Plain => out.push_str(value),
        // These two places have functions of their own below.
        Place::Address | Place::Host => return Err(FillError::Unfit),
    }
    Ok(())
}

/// Writes the inside of a JSON string.
fn json(value: &str, out: &mut String) {
    let quoted = serde_json::Value::from(value).to_string();
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// Writes a header value in ASCII. Other letters are percent-encoded, and control characters are refused.
fn header(value: &str, out: &mut String) -> Result<(), FillError> {
    if value.chars().any(char::is_control) {
        return Err(FillError::Unfit);
    }
    out.extend(utf8_percent_encode(value, CONTROLS));
    Ok(())
}

/// Writes one or more labels of a host name.
pub(super) fn host(value: &str, may_hold_dots: bool, out: &mut String) -> Result<(), FillError> {
    let value = value.to_ascii_lowercase();
    let is_fit = value.len() <= 253
        && (may_hold_dots || !value.contains('.'))
        && value.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
    if !is_fit {
        return Err(FillError::Unfit);
    }
    out.push_str(&value);
    Ok(())
}

/// Writes a complete web address at the start of a URL. `next` is the text after it, or `None` if a slot
/// follows. That text must still be part of the path.
pub(super) fn address(value: &str, next: Option<&str>, out: &mut String) -> Result<(), FillError> {
    let url = Url::parse(value.trim()).map_err(|_| FillError::Unfit)?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return Err(FillError::Unfit);
    }
    if next.is_some() && (url.query().is_some() || url.fragment().is_some()) {
        return Err(FillError::Unfit);
    }
    let follows_slash = next.is_some_and(|text| text.starts_with('/'));
    let text = url.as_str();
    out.push_str(if follows_slash { text.trim_end_matches('/') } else { text });
    Ok(())
}
