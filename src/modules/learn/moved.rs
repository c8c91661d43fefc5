//! Finds the new address of an endpoint whose old one redirects.

use url::Url;

use super::evidence::Sample;
use crate::modules::definition::Method;
use crate::modules::module::Module;
use crate::modules::probe::Response;
use crate::modules::public_suffix::suffix_with_label;
use crate::modules::query::SearchType;

/// Returns the address, as a template, to which the known accounts are redirected. Returns `None` if they are not
/// redirected, or not to an address that has the name in exactly one place.
pub(super) fn moved(module: &Module, known: &[Sample]) -> Option<String> {
    let entry = module.entry();
    let probe = entry.probes.first().filter(|probe| matches!(probe.method, Method::Get | Method::Head))?;
    let mut templates = known.iter().map(|sample| {
        let target = target(sample.responses.first()?)?;
        let template = template(entry.search_type, &target, &module.name_of(&sample.query))?;
        let is_elsewhere = !is_same_site(&sample.responses.first()?.final_url, &target);
        // A key of the operator is not sent to another site.
        (!is_elsewhere || (entry.needs.is_empty() && probe.headers.is_empty())).then_some(template)
    });
    let first = templates.next()??;
    (templates.all(|other| other.as_ref() == Some(&first)) && first != **probe.url).then_some(first)
}

/// Returns the address to which a redirect leads.
fn target(response: &Response) -> Option<Url> {
    let location =
        response.header("location").filter(|_| matches!(response.status, 301 | 302 | 307 | 308))?;
    let target = response.final_url.join(location).ok()?;
    (matches!(target.scheme(), "http" | "https") && target.has_host()).then_some(target)
}

/// Returns the address as a template, with the variable in place of the name.
fn template(search_type: SearchType, target: &Url, name: &str) -> Option<String> {
    let text = target.as_str();
    // Other types have their names in addresses in parts and in escaped forms.
    if search_type == SearchType::Email || text.contains(['{', '}']) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let needle = name.to_ascii_lowercase();
    let mut found = lower.match_indices(&needle);
    let (start, _) = found.next().filter(|_| !needle.is_empty() && needle.is_ascii())?;
    let is_only = found.next().is_none();
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let end = start + needle.len();
    let is_whole = !is_word(text[..start].chars().next_back()) && !is_word(text[end..].chars().next());
    (is_only && is_whole).then(|| format!("{}{{query}}{}", &text[..start], &text[end..]))
}

fn is_same_site(one: &Url, other: &Url) -> bool {
    let site = |url: &Url| url.host_str().map(|host| suffix_with_label(host).unwrap_or(host).to_owned());
    site(one) == site(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_replaced_where_it_stands_once() {
        let made =
            |target: &str, name: &str| template(SearchType::Username, &Url::parse(target).unwrap(), name);
        assert_eq!(made("https://a.example/v2/Bob", "bob").as_deref(), Some("https://a.example/v2/{query}"));
        assert_eq!(made("https://bob.a.example/", "bob").as_deref(), Some("https://{query}.a.example/"));
        for other in ["https://a.example/", "https://a.example/bobby", "https://bob.example/bob"] {
            assert_eq!(made(other, "bob"), None, "{other}");
        }
    }
}
