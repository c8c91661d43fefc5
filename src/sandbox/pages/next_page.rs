//! Results on two pages: the first page leads to the second, which is the last.

use serde_json::Value;
use url::Url;

use super::context::{Context, Pattern};
use super::draft::Part;
use super::values::Reading;

/// A number that occurs in the address of a second page and in no other address.
const MARK: &str = "990002";

/// Returns the part with which the first page at `url` leads to a second page. Returns `None` if the probe has no
/// pages.
pub(super) fn lead(context: &Context<'_>, probe: usize, url: &Url) -> Option<Part> {
    let pages = context.entry.probes.get(probe)?.pages.as_ref()?;
    let mut next = url.clone();
    next.query_pairs_mut().append_pair("page", MARK);
    let text = if pages.url.is_some() { MARK } else { next.as_str() };
    let reading = Reading::new("next", Some(&pages.next));
    let value = match reading.regex() {
        Some(pattern) => context.sampled_with(Pattern::Plain(pattern), 0, &[(1, text.to_owned())])?,
        None => text.to_owned(),
    };
    match reading.regex_source().and_then(the_last) {
        Some(pattern) => context.sampled_with(Pattern::Plain(&pattern), 0, &[(1, value)]).map(Part::Line),
        None => reading.holding(context, &Value::String(value)),
    }
}

/// Returns whether the URL is the address of a second page.
pub(super) fn is_second(url: &Url) -> bool {
    url.as_str().contains(MARK)
}

/// Returns a regex that begins with `^.*` or `\A.*` without that prefix, so that no text before the match has to be
/// sampled.
fn the_last(pattern: &str) -> Option<String> {
    let (flags, rest) = match pattern.split_once(')') {
        Some((flags, rest)) if flags.starts_with("(?") && !flags.contains([':', '<']) => {
            (format!("{flags})"), rest)
        }
        _ => (String::new(), pattern),
    };
    let place = rest.strip_prefix(r"\A.*").or_else(|| rest.strip_prefix("^.*"))?;
    Some(format!("{flags}{}", place.strip_prefix('?').unwrap_or(place)))
}
