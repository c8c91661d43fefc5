//! Validates the addresses of probes when an entry is compiled.

use url::Url;

use crate::modules::mistake::Mistakes;
use crate::modules::template::Template;

/// Validates an address with example values in its slots.
pub(super) fn check_url(url: &Template, mistakes: &mut Mistakes) {
    let example = url.example();
    match Url::parse(&example) {
        Err(error) => {
            mistakes.add(format!("`{example}` (filled with an example) is not a valid URL: {error}"));
        }
        Ok(parsed) => {
            let host = parsed.host_str().unwrap_or_default();
            if parsed.host().is_none() || (!host.contains('.') && !host.contains("example")) {
                mistakes.add(format!("`{host}` is not a public host name"));
            }
        }
    }
}
