//! Splits a selector from the attribute that is read from its elements.

/// Splits `SELECTOR@ATTRIBUTE`. An `@` inside brackets or quotes belongs to the selector.
pub(super) fn split_attribute(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once('@') {
        Some((selector, attribute))
            if !attribute.is_empty()
                && attribute.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b)) =>
        {
            (selector.trim_end(), Some(attribute.to_ascii_lowercase()))
        }
        _ => (text, None),
    }
}
