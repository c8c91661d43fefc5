//! Judges the records about mail by their text: SPF (RFC 7208), DMARC (RFC 7489), MTA-STS (RFC 8461), TLS reporting
//! (RFC 8460), BIMI and null MX (RFC 7505).
//!
//! A set of records that is invalid or ambiguous is never good, because receivers treat it as if there were none.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;
use url::Url;

use crate::base::words::words;

words! {
    /// How well a domain is protected by a kind of record.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Grade {
        /// The record protects.
        Good = "good",
        /// There is a record, and it protects little.
        Weak = "weak",
        /// There is none.
        Missing = "missing",
        /// Nothing is known.
        Unknown = "unknown",
    }
}

/// A grade and its reason.
pub(super) type Judgement = (Grade, String);

/// The most terms of an SPF record that cause look-ups (RFC 7208, section 4.6.4).
const MOST_LOOKUPS: usize = 10;
/// The longest `max_age` of an MTA-STS policy in seconds.
const MOST_AGE: u32 = 31_557_600;
/// A macro of SPF, such as `%{i}`.
const MACRO: &str = r"%\{[slodiphv](?:0*[1-9][0-9]*)?r?[-.+,/_=]*\}|%[%_-]";

fn good(reason: impl Into<String>) -> Judgement {
    (Grade::Good, reason.into())
}

fn weak(reason: impl Into<String>) -> Judgement {
    (Grade::Weak, reason.into())
}

fn pattern(text: &str) -> Regex {
    // The patterns are constant, and the tests use each of them.
    Regex::new(text).expect("a valid pattern")
}

/// Returns the pattern of a domain in an SPF record.
fn host() -> String {
    let label = "[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*|[A-Za-z0-9]+-[A-Za-z0-9-]*[A-Za-z0-9]";
    format!(r"(?:[!-$&-~]|{MACRO})*(?:\.(?:{label})\.?|{MACRO})")
}

static HOST: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^{}$", host())));
/// A valid term of an SPF record (RFC 7208, section 12), but for the hosts of modifiers and the numbers in addresses.
static TERM: LazyLock<Regex> = LazyLock::new(|| {
    let host = host();
    let (four, six) = ("(?:/(?:[12]?[0-9]|3[0-2]))?", "/(?:[1-9]?[0-9]|1[01][0-9]|12[0-8])");
    pattern(&format!(
        "^(?:[A-Za-z][A-Za-z0-9._-]*=(?:[!-$&-~]|{MACRO})*|[-+~?]?(?:(?i:all|ptr)|(?i:include|exists|ptr):{host}\
         |(?i:a|mx)(?::{host})?{four}(?:/{six})?|(?i:ip4):[0-9.]+{four}|(?i:ip6):[0-9A-Fa-f:.]+(?:{six})?))$"
    ))
});
static STS_RECORD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^v=STSv1(?:[ \t]*;[ \t]*[A-Za-z0-9][A-Za-z0-9_.-]{0,31}=[!-:<>-~]+)+[ \t]*;?[ \t]*$")
});

/// Judges the SPF record of a domain by what it says about servers that it does not name.
pub(super) fn spf(record: &str, domain: &str) -> Judgement {
    let invalid = |why: String| weak(format!("is invalid, so receivers ignore it: {why}"));
    // The qualifier of the first mechanism that every server matches. Terms after it are never evaluated.
    let mut rest = None;
    let (mut redirect, mut has_explanation, mut lookups, mut is_loop) = (None, false, 0, false);
    for term in record.split(' ').skip(1).filter(|term| !term.is_empty()) {
        let bare = term.trim_start_matches(['-', '+', '~', '?']);
        let end = bare.find([':', '=', '/']).unwrap_or(bare.len());
        let (name, target) = (bare[..end].to_lowercase(), bare.get(end + 1..).unwrap_or_default());
        let is_modifier = bare[end..].starts_with('=');
        let address = target.split('/').next().unwrap_or_default();
        let is_valid = match name.as_str() {
            "redirect" => redirect.replace(target).is_none() && HOST.is_match(target),
            "exp" => !std::mem::replace(&mut has_explanation, true) && HOST.is_match(target),
            "ip4" => is_modifier || address.parse::<Ipv4Addr>().is_ok(),
            "ip6" => is_modifier || address.parse::<Ipv6Addr>().is_ok(),
            _ => true,
        };
        if !is_valid || !TERM.is_match(term) {
            return invalid(format!("`{term}`"));
        }
        if rest.is_none() && !is_modifier {
            lookups += usize::from(["include", "exists", "ptr", "a", "mx"].contains(&name.as_str()));
            is_loop |= name == "include" && is_same_host(target, domain);
            let qualifier = term.chars().next().filter(|c| "-+~?".contains(*c)).unwrap_or('+');
            let has_all = bare.split('/').skip(1).any(|length| length == "0") && qualifier != '-';
            rest = (name == "all" || has_all).then_some(qualifier);
        }
    }
    if let (None, Some(target)) = (rest, redirect) {
        lookups += 1;
        is_loop |= is_same_host(target, domain);
    }
    match (rest, redirect) {
        _ if is_loop => invalid("it includes itself".to_owned()),
        _ if lookups > MOST_LOOKUPS => {
            invalid(format!("{lookups} terms need look-ups, and {MOST_LOOKUPS} may"))
        }
        (Some('-'), _) => good("servers that are not named are refused"),
        (Some('~'), _) => weak("mail of servers that are not named is marked, not refused"),
        (Some('?'), _) => weak("says nothing about servers that are not named"),
        (Some(_), _) => weak("allows every server to send"),
        (None, Some(target)) => (Grade::Unknown, format!("has the rule of {target}, which was not read")),
        (None, None) => weak("has no rule for servers that are not named"),
    }
}

fn is_same_host(one: &str, other: &str) -> bool {
    one.trim_end_matches('.').eq_ignore_ascii_case(other)
}

/// The tags of a record: names in lower case, and values. What is not a tag has an empty name.
struct Tags<'r>(Vec<(String, &'r str)>);

impl<'r> Tags<'r> {
    /// Judges the tags of a record. A tag that is there twice makes the whole list invalid (RFC 6376, section 3.2).
    fn judge(record: &'r str, judge: impl FnOnce(&Self) -> Judgement) -> Judgement {
        let mut tags: Vec<(String, &str)> = Vec::new();
        for text in record.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            let (name, value) = text.split_once('=').unwrap_or(("", text));
            let name = name.trim().to_ascii_lowercase();
            if !name.is_empty() && tags.iter().any(|(known, _)| *known == name) {
                return weak(format!("is invalid, so receivers ignore it: it has `{name}` twice"));
            }
            tags.push((name, value.trim()));
        }
        judge(&Self(tags))
    }

    fn get(&self, name: &str) -> Option<&'r str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Returns whether a text is an address to which reports can be sent.
fn is_report_address(text: &str) -> bool {
    Url::parse(text.trim()).is_ok_and(|url| match url.scheme() {
        "mailto" => {
            url.path().split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty())
        }
        "https" => true,
        _ => false,
    })
}

/// Judges a DMARC record. `is_inherited` says whether it is that of the organizational domain of a sub-domain, for which
/// `sp` counts before `p` (RFC 7489, section 6.6.3).
pub(super) fn dmarc(record: &str, is_inherited: bool) -> Judgement {
    Tags::judge(record, |tags| {
        let policy = |name: &str| {
            let value = tags.get(name)?.to_ascii_lowercase();
            Some(["none", "quarantine", "reject"].into_iter().find(|known| **known == value))
        };
        let of_subdomains = policy("sp");
        let (Some(Some(own)), None | Some(Some(_))) = (policy("p"), of_subdomains) else {
            let reports = tags.get("rua").unwrap_or_default();
            // A size limit may follow an address.
            let mut addresses = reports.split(',').map(|text| text.split('!').next().unwrap_or_default());
            return weak(match addresses.any(is_report_address) {
                true => "has no valid policy, so it only asks for reports",
                false => "has no valid policy, so receivers ignore it",
            });
        };
        if tags.0.iter().filter(|(name, _)| !name.is_empty()).nth(1).is_none_or(|(name, _)| name != "p") {
            return weak("is invalid, so receivers may ignore it: `p` is not the second tag");
        }
        let percent = tags.get("pct").filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let percent = percent.and_then(|text| text.parse::<u8>().ok()).filter(|percent| *percent < 100);
        match (of_subdomains.flatten().filter(|_| is_inherited).unwrap_or(own), percent) {
            ("none", _) => weak("only asks for reports"),
            _ if tags.get("t").is_some_and(|text| text.eq_ignore_ascii_case("y")) => {
                weak("is in testing: the policy is not applied in full")
            }
            (_, Some(percent)) => weak(format!("applies to {percent}% of the mail that fails the checks")),
            ("reject", None) => good("mail that fails the checks is refused"),
            _ => good("mail that fails the checks goes to the spam folder"),
        }
    })
}

/// Judges a record that announces an MTA-STS policy, which was not read.
pub(super) fn mta_sts(record: &str) -> Judgement {
    let is_id = |id: &str| (1..=32).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
    Tags::judge(record, |tags| match STS_RECORD.is_match(record) && tags.get("id").is_some_and(is_id) {
        true => (Grade::Unknown, "announced, but its policy was not read".to_owned()),
        false => weak("is invalid, so senders ignore it: it needs `id` with 1 to 32 letters and digits"),
    })
}

/// Judges the text of an MTA-STS policy. Of a field that is there twice, the first counts.
pub(super) fn mta_sts_policy(text: &str) -> Judgement {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let fields: Vec<(&str, &str)> =
        lines().filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim())).collect();
    let field = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let age = field("max_age").filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    let mode = field("mode");
    let is_valid_age = age.and_then(|age| age.parse::<u32>().ok()).is_some_and(|age| age <= MOST_AGE);
    let faults = [
        (fields.len() < lines().count(), "a line has no `:`"),
        (field("version") != Some("STSv1"), "`version` is not STSv1"),
        (!is_valid_age, "`max_age` is not a number of seconds up to a year"),
        (mode != Some("none") && field("mx").is_none_or(str::is_empty), "`mx` names no server"),
    ];
    match (faults.into_iter().find(|(holds, _)| *holds), mode) {
        (Some((_, fault)), _) => weak(format!("the policy is invalid, so senders ignore it: {fault}")),
        (None, Some("enforce")) => good("other servers must deliver over valid TLS"),
        (None, Some("testing")) => weak("the policy is in testing: nothing is refused"),
        (None, Some("none")) => weak("the policy is switched off"),
        _ => weak("the policy is invalid, so senders ignore it: `mode` is not enforce, testing or none"),
    }
}

/// Judges a record that asks for reports about TLS.
pub(super) fn tls_reports(record: &str) -> Judgement {
    Tags::judge(record, |tags| {
        let is_whole = tags.0.iter().all(|(name, value)| !name.is_empty() && !value.is_empty());
        match tags.get("rua") {
            Some(addresses) if is_whole && addresses.split(',').all(is_report_address) => {
                good("other servers report failures of TLS")
            }
            _ => weak("is invalid, so senders ignore it: `rua` needs mailto: or https: addresses"),
        }
    })
}

/// Judges a BIMI record by its content and by the verdict on DMARC, without which no logo is shown.
pub(super) fn bimi(record: &str, dmarc: Grade) -> Judgement {
    let is_web = |text: &str| Url::parse(text).is_ok_and(|url| url.scheme() == "https");
    Tags::judge(record, |tags| {
        let certificate = tags.get("a").unwrap_or_default();
        match tags.get("l") {
            None => weak("is invalid, so receivers ignore it: it has no `l`"),
            Some("") if certificate.is_empty() => weak("says that there is no logo"),
            Some(logo) if !is_web(logo) || !(certificate.is_empty() || is_web(certificate)) => {
                weak("is invalid, so receivers ignore it: `l` and `a` need https: addresses")
            }
            Some(_) if matches!(dmarc, Grade::Weak | Grade::Missing) => {
                weak("the logo is not shown, because DMARC does not protect the domain")
            }
            Some(_) => good("receivers can show the logo"),
        }
    })
}

/// Judges the mail exchangers of a domain: `10 mx.example.org`, or `0 .` for a domain without mail.
pub(super) fn exchangers(records: &[&str]) -> Judgement {
    let is_null = |record: &&str| record.split_whitespace().nth(1) == Some(".");
    match records.iter().filter(|record| is_null(record)).count() {
        0 => good("mail is accepted by the servers that are named"),
        1 if records == ["0 ."] => good("the domain accepts no mail (null MX)"),
        _ => weak("is invalid: a null MX must be `0 .`, the only record"),
    }
}
