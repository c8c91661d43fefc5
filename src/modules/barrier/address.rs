//! Barriers that are recognized by the address to which a redirect leads.

use regex::Regex;
use url::Url;

use super::list::LIST;
use crate::base::encoding::percent_decode_lossy;
use crate::modules::probe::Response;
use crate::modules::query::SearchType;
use crate::modules::reason::Reason;
use crate::modules::template::Values;

/// Returns the barrier at the address of a response or of its redirect. `asked` is the address of the request, if it is
/// known.
pub(super) fn find(response: &Response, asked: Option<&Url>, values: &Values<'_>) -> Option<Reason> {
    let target = final_target(response);
    let asked = asked.or(is_redirect(response).then_some(&response.final_url));
    let known = asked.map(segments);
    foreign(&target, asked, values, |url, host, path| {
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
    reason(&list.fronts, |front| host.starts_with(front) || path.starts_with(front))
        .or_else(|| reason(&list.hosts, is_below))
        .or_else(in_segments)
        .or_else(|| is_login(path).then_some(Reason::LoginWall))
}

/// Returns the reason listed beside the first text for which `is_found` returns `true`.
fn reason(list: &[(String, Reason)], is_found: impl Fn(&str) -> bool) -> Option<Reason> {
    list.iter().find(|(text, _)| is_found(text)).map(|(_, reason)| *reason)
}

/// Returns whether a request for `asked` ended at a sign-in page at `target`.
pub(crate) fn leads_to_login(target: &Url, asked: &Url, values: &Values<'_>) -> bool {
    foreign(target, Some(asked), values, |_, _, path| is_login(path).then_some(())).is_some()
}

/// Returns what `found` finds at `target`, unless it is of the query's own making: a user may be called `consent`, and
/// a domain `captcha.org`. It does not count if the requested address has it too, or if it is gone without the query,
/// except in a page that is to lead back to the requested one.
fn foreign<T: PartialEq>(
    target: &Url,
    asked: Option<&Url>,
    values: &Values<'_>,
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
    let host = without_query(target.host_str().unwrap_or_default(), values);
    found(target, &host, &without_query(&path(target), values))
}

/// Returns whether the query string of another page than the requested one has the requested address.
fn leads_back(target: &Url, asked: &Url) -> bool {
    let (parts, page) = (segments(asked), segments(target));
    let is_same_site = site(target) == site(asked);
    let (is_page, back) = match asked.query() {
        _ if !parts.is_empty() => (page.ends_with(&parts), path(asked)),
        Some(query) => (page.is_empty() && is_same_site, percent_decode_lossy(query).to_lowercase()),
        None => (is_same_site, asked.host_str().unwrap_or_default().to_owned()),
    };
    let query = percent_decode_lossy(&percent_decode_lossy(target.query().unwrap_or_default()));
    !is_page && query.to_lowercase().contains(&back)
}

/// Returns the text, in lower case, with `~` in place of the query and its parts. Sites may write them with any or no sign
/// between words. A letter or digit next to one makes it part of another name.
fn without_query(text: &str, values: &Values<'_>) -> String {
    let Values { query, name, .. } = *values;
    let label = query.registrable().filter(|_| query.search_type() == SearchType::Domain);
    let label = label.and_then(|domain| domain.split('.').next());
    let parts = [Some(query.normal()), Some(name), query.local(), query.domain(), query.registrable(), label];
    let words = |part: &str| {
        let part = regex::escape(&part.to_lowercase().replace(['.', '-', '_', ' ', '+', '@'], "\0"));
        part.replace('\0', "[-_. +@]?")
    };
    let parts: Vec<String> = parts.into_iter().flatten().map(words).collect();
    let pattern = format!(r"(^|[^\p{{L}}\p{{N}}])(?:{})($|[^\p{{L}}\p{{N}}])", parts.join("|"));
    // Every part is escaped, and a query is short.
    let Ok(query) = Regex::new(&pattern) else { return text.to_owned() };
    // Of two in a row, the first takes the sign between them.
    query.replace_all(&query.replace_all(text, "$1~$2"), "$1~$2").into_owned()
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

/// Returns the host without the prefixes that distinguish versions of one site.
pub(crate) fn site(url: &Url) -> &str {
    let host = url.host_str().unwrap_or_default();
    ["www.", "m.", "mobile."].iter().find_map(|front| host.strip_prefix(front)).unwrap_or(host)
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
