//! Barriers that are recognized by the address to which a redirect leads.

use url::Url;

use super::list::LIST;
use crate::base::encoding::percent_decode_lossy;
use crate::modules::probe::Response;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;

/// Returns the barrier at the address of a response or of its redirect. `asked` is the address of the request, if it is
/// known, and `names` are the forms of the query in it.
pub(super) fn find(response: &Response, asked: Option<&Url>, names: &[String]) -> Option<Reason> {
    let target = final_target(response);
    let asked = asked.or(is_redirect(response).then_some(&response.final_url));
    let known = asked.map(segments);
    foreign(&target, asked, names, |url, host, path| {
        // The requested address itself has only known segments.
        let known = known.as_deref().map(|known| if asked == Some(url) { &[] } else { known });
        barrier_at(host, path, known)
    })
}

/// Returns the barrier that a host and a path indicate. `known` are path segments that indicate nothing; without them,
/// single words of the path do not count.
fn barrier_at(host: &str, path: &str, known: Option<&[String]>) -> Option<Reason> {
    let list = &LIST.addresses;
    let is_below = |name: &str| host.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    let in_segments = || {
        let known = known?;
        let mut parts = path.split('/').filter(|part| !known.iter().any(|known| known == part));
        parts.find_map(|segment| {
            let is_word = |word: &str| segment.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
            reason(&list.parts, |part| segment.contains(part)).or_else(|| reason(&list.words, is_word))
        })
    };
    reason(&list.host_fronts, |front| host.starts_with(front))
        .or_else(|| reason(&list.hosts, is_below))
        .or_else(|| reason(&list.path_fronts, |front| path.starts_with(front)))
        .or_else(in_segments)
        .or_else(|| is_login(path).then_some(Reason::LoginWall))
}

/// Returns the reason listed beside the first text for which `is_found` returns `true`.
fn reason(list: &[(String, Reason)], is_found: impl Fn(&str) -> bool) -> Option<Reason> {
    list.iter().find(|(text, _)| is_found(text)).map(|(_, reason)| *reason)
}

/// Returns whether a request for `asked` ended at a sign-in page at `target`.
pub(crate) fn leads_to_login(target: &Url, asked: &Url, names: &[String]) -> bool {
    foreign(target, Some(asked), names, |_, _, path| is_login(path).then_some(())).is_some()
}

/// Returns what `found` finds at `target`, unless it is of the query's own making: a user may be called `consent`, and
/// a domain `captcha.org`. It does not count if the requested address has it too, or if it is gone without the `names`,
/// except in a page that is to lead back to the requested one.
fn foreign<T: PartialEq>(
    target: &Url,
    asked: Option<&Url>,
    names: &[String],
    found: impl Fn(&Url, &str, &str) -> Option<T>,
) -> Option<T> {
    let in_url = |url: &Url| found(url, url.host_str().unwrap_or_default(), &path(url));
    let there = in_url(target)?;
    if asked.is_some_and(|asked| leads_back(target, asked)) {
        return Some(there);
    }
    if asked.is_some_and(|asked| in_url(asked).as_ref() == Some(&there)) {
        return None;
    }
    let host = without_names(target.host_str().unwrap_or_default(), names);
    found(target, &host, &without_names(&path(target), names))
}

/// Returns whether the query string of another page than the requested one has the requested address.
fn leads_back(target: &Url, asked: &Url) -> bool {
    let (parts, page) = (segments(asked), segments(target));
    let is_same_host = target.host_str() == asked.host_str();
    let (is_page, back) = match asked.query() {
        _ if !parts.is_empty() => (page.ends_with(&parts), path(asked)),
        Some(query) => (page.is_empty() && is_same_host, percent_decode_lossy(query).to_lowercase()),
        None => (is_same_host, asked.host_str().unwrap_or_default().to_owned()),
    };
    let query = percent_decode_lossy(&percent_decode_lossy(target.query().unwrap_or_default()));
    !is_page && query.to_lowercase().contains(&back)
}

/// Returns the texts in lower case by which sites may write the query in an address: the query and its parts, with
/// any or no sign between words.
pub(crate) fn names_in_address(query: &Query, name: &str) -> Vec<String> {
    let label = query.registrable().filter(|_| query.search_type() == SearchType::Domain);
    let label = label.and_then(|domain| domain.split('.').next());
    let texts = [Some(query.normal()), Some(name), query.local(), query.domain(), query.registrable(), label];
    let mut names: Vec<String> = Vec::new();
    for text in texts.into_iter().flatten().map(str::to_lowercase) {
        let words: Vec<&str> = text.split(['.', '-', '_', ' ', '+', '@']).collect();
        names.extend(["", "-", "_", ".", "+", " "].map(|sign| words.join(sign)));
        names.push(text);
    }
    names.retain(|name| !name.is_empty());
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    names
}

/// Returns the text with `~` in place of each name that has no letter or digit next to it.
fn without_names(text: &str, names: &[String]) -> String {
    let is_free = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let mut rest = text.to_owned();
    for name in names {
        let mut at = 0;
        while let Some(found) = rest[at..].find(name.as_str()) {
            let (start, end) = (at + found, at + found + name.len());
            let is_whole = is_free(rest[..start].chars().next_back()) && is_free(rest[end..].chars().next());
            if is_whole {
                rest.replace_range(start..end, "~");
            }
            at = if is_whole { start + 1 } else { end };
        }
    }
    rest
}

/// Returns the address to which a response redirects, or its own address if it does not redirect.
pub(crate) fn final_target(response: &Response) -> Url {
    let location = response.header("location").filter(|_| is_redirect(response));
    let target = location.and_then(|location| response.final_url.join(location).ok());
    target.unwrap_or_else(|| response.final_url.clone())
}

fn is_redirect(response: &Response) -> bool {
    (300..400).contains(&response.status)
}

/// Returns the segments of the path, percent-decoded and in lower case.
pub(crate) fn segments(url: &Url) -> Vec<String> {
    path(url).split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Returns the path with its segments percent-decoded, in lower case.
fn path(url: &Url) -> String {
    let decoded = |part: &str| percent_decode_lossy(part).replace('/', " ").to_lowercase();
    url.path().split('/').map(decoded).collect::<Vec<_>>().join("/")
}

/// Returns whether a path belongs to a sign-in page.
pub(super) fn is_login(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let name = |part: &str| part.split('.').next().unwrap_or_default().to_owned();
    let is_name = |part: &str| LIST.addresses.logins.contains(&name(part));
    let (first, last) = (parts.clone().next(), parts.next_back());
    let is_deep = ["/accounts/login/", "/users/sign_in/"].iter().any(|front| path.starts_with(front));
    first.is_some_and(is_name) || last.is_some_and(is_name) || is_deep
}
