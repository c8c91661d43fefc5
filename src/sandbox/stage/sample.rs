//! Plausible sample values: what a reader expects under a name such as `followers` or `avatar_url`.
//!
//! Nothing here names a real person or place on the net: hosts are reserved names, addresses are
//! documentation addresses, telephone numbers are fictional ones.

use serde_json::{Value, json};

use crate::modules::definition::{ResultType, Transform};
use crate::modules::query::{Query, SearchType};
use crate::sandbox::draw::draw;

const GIVEN: [&str; 8] = ["Ana", "Ben", "Carla", "David", "Elif", "Farid", "Grace", "Hugo"];
const FAMILY: [&str; 8] = ["Rivera", "Okafor", "Lindqvist", "Tanaka", "Moreau", "Novak", "Silva", "Weber"];
const PLACES: [&str; 6] = ["Lisbon", "Toronto", "Nairobi", "Osaka", "Gdansk", "Valparaiso"];
const HOSTS: [&str; 4] = ["www", "mail", "api", "shop"];
const TECHNOLOGIES: [&str; 4] = ["nginx", "PHP", "WordPress", "jQuery"];

/// What kind of value a name asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Flag,
    Date,
    Link,
    Email,
    Count,
    Login,
    Person,
    Place,
    Text,
    Language,
    Zone,
    Host,
    Address,
    Company,
    Identifier,
}

/// Parts of names and what they ask for; the first that is found counts.
const SORTS: [(&[&str], Sort); 15] = [
    (&["is_", "has_", "verified", "private", "active", "enabled", "dnssec", "hireable"], Sort::Flag),
    (&["email", "mailto"], Sort::Email),
    (&["timezone", "time_zone"], Sort::Zone),
    (&["username", "login", "nick", "handle", "slug", "screen", "acct"], Sort::Login),
    (
        &[
            "created",
            "joined",
            "date",
            "_at",
            "since",
            "registered",
            "updated",
            "seen",
            "expir",
            "birth",
            "time",
            "not_before",
            "not_after",
            "changed",
        ],
        Sort::Date,
    ),
    (
        &[
            "url", "link", "website", "avatar", "image", "photo", "picture", "href", "homepage", "thumb",
            "logo", "icon", "uri", "banner", "src",
        ],
        Sort::Link,
    ),
    (&["location", "city", "country", "region", "place", "hometown"], Sort::Place),
    (
        &[
            "count",
            "follow",
            "friends",
            "posts",
            "karma",
            "score",
            "total",
            "views",
            "likes",
            "stars",
            "repos",
            "points",
            "level",
            "num",
            "size",
            "rank",
            "age",
            "ttl",
            "priority",
            "reputation",
            "gists",
            "badges",
            "subscrib",
            "videos",
            "tracks",
            "games",
            "rating",
            "asn",
            "port",
            "status_code",
            "length",
        ],
        Sort::Count,
    ),
    (&["registrar", "company", "org", "issuer", "employer", "abuse", "provider"], Sort::Company),
    (&["nameserver", "domain", "host", "server", "mx", "cname"], Sort::Host),
    (&["name", "author", "owner", "given", "family", "fullname", "first", "last", "fn"], Sort::Person),
    (&["ip", "addr", "address"], Sort::Address),
    (&["language", "locale", "lang"], Sort::Language),
    (&["id", "serial", "hash", "fingerprint", "key", "token"], Sort::Identifier),
    (&["bio", "about", "description", "summary", "headline", "tagline", "text", "title"], Sort::Text),
];

/// Draws sample values for one answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampler<'a> {
    seed: u64,
    module: &'a str,
    query: &'a Query,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(seed: u64, module: &'a str, query: &'a Query) -> Self {
        Self { seed, module, query }
    }

    /// A seed of its own for everything that has a name.
    pub(super) fn seed(&self, name: &str) -> u64 {
        draw(self.seed, &[self.module, self.query.normal(), name])
    }

    fn pick<'b>(&self, name: &str, from: &[&'b str]) -> &'b str {
        from[self.below(name, from.len() as u64) as usize]
    }

    fn below(&self, name: &str, bound: u64) -> u64 {
        self.seed(name) % bound
    }

    /// A name that fits into an address.
    fn stem(&self) -> &'a str {
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let stem = self.query.local().unwrap_or(self.query.normal());
        if plain(stem) { stem } else { "sample" }
    }

    fn domain(&self) -> &'a str {
        self.query.domain().unwrap_or("example.org")
    }

    fn person(&self, index: usize) -> (&'static str, &'static str) {
        // Without the name in the draw: the first and the last name of one answer belong together.
        let given = self.below("given", 8) as usize + index;
        let family = self.below("family", 8) as usize + index;
        (GIVEN[given % 8], FAMILY[family % 8])
    }

    /// What `first_name`, `last_name` or another name asks for. A domain has no other names than hosts.
    fn person_part(&self, name: &str, index: usize) -> String {
        let (given, family) = self.person(index);
        let says = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        if says(&["first", "given"]) {
            given.to_owned()
        } else if says(&["last", "family", "surname"]) {
            family.to_owned()
        } else if self.query.search_type() != SearchType::Domain || says(&["owner", "author", "display"]) {
            format!("{given} {family}")
        } else {
            self.host(index)
        }
    }

    /// The queried domain, then hosts below it.
    fn host(&self, index: usize) -> String {
        match index.checked_sub(1) {
            None => self.domain().to_owned(),
            Some(below) => format!("{}.{}", HOSTS[below % HOSTS.len()], self.domain()),
        }
    }

    /// Beginnings lie before changes, and these before ends.
    fn seconds(&self, name: &str) -> u64 {
        let says = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let (from_year, years) = if says(&["expir", "not_after", "until", "valid_to"]) {
            (2030, 9)
        } else if says(&["updated", "changed", "seen", "modified", "last_", "lastmod", "scanned"]) {
            (2020, 5)
        } else {
            (2010, 9)
        };
        // A year has 365.2425 days on average.
        let start = (from_year - 1970) * 31_556_952;
        start + self.below(name, years * 365) * 86_400 + self.below(&format!("{name} "), 86_400)
    }

    fn date(&self, name: &str) -> String {
        let seconds = i64::try_from(self.seconds(name)).unwrap_or_default();
        jiff::Timestamp::from_second(seconds).map(|at| at.to_string()).unwrap_or_default()
    }

    /// What stands under a name of that sound.
    pub(super) fn named(&self, name: &str, index: usize) -> Value {
        let lower = snake(name);
        let numbered = format!("{lower} {index}");
        let sort = SORTS.iter().find(|(parts, _)| parts.iter().any(|part| sounds_like(&lower, part)));
        match sort.map(|(_, sort)| *sort) {
            Some(Sort::Flag) => json!(self.below(&numbered, 2) == 0),
            Some(Sort::Date) => json!(self.date(&numbered)),
            Some(Sort::Link) => json!(format!("https://media.example.net/{}/{lower}{index}", self.stem())),
            Some(Sort::Email) => json!(format!("{}@example.org", self.stem())),
            Some(Sort::Count) => json!(1 + self.below(&numbered, 2_000)),
            Some(Sort::Login) if index == 0 => json!(self.stem()),
            Some(Sort::Login) => json!(format!("{}{index}", self.stem())),
            Some(Sort::Person) => json!(self.person_part(&lower, index)),
            Some(Sort::Place) => json!(self.pick(&numbered, &PLACES)),
            Some(Sort::Text) => json!(format!("A sample {}", lower.replace('_', " "))),
            Some(Sort::Language) => json!("en"),
            Some(Sort::Zone) => json!("Europe/Lisbon"),
            Some(Sort::Host) => json!(format!("ns{}.example.net", index + 1)),
            Some(Sort::Address) => json!(self.address(index)),
            Some(Sort::Company) => json!("Example Works Ltd"),
            Some(Sort::Identifier) => json!(10_000 + self.below(&numbered, 9_000_000)),
            None => json!(format!("sample {}", lower.replace('_', " "))),
        }
    }

    /// A value for a result of that type; `None` where the name tells more.
    pub(super) fn typed(&self, kind: ResultType, index: usize) -> Option<Value> {
        let domain = self.domain();
        let host = HOSTS[index % HOSTS.len()];
        Some(match kind {
            ResultType::Account | ResultType::Profile | ResultType::Username => self.named("login", index),
            ResultType::Email => json!(format!("{host}{index}@{domain}")),
            ResultType::PersonName => {
                let (given, family) = self.person(index);
                json!(format!("{given} {family}"))
            }
            ResultType::Url => json!(format!("https://{domain}/sample/{index}")),
            ResultType::Domain => json!(format!("sample{index}.example.net")),
            ResultType::Subdomain => json!(format!("{host}.{domain}")),
            ResultType::IpAddress => json!(self.address(index)),
            ResultType::Technology => json!(TECHNOLOGIES[index % TECHNOLOGIES.len()]),
            ResultType::Archive => json!(format!("https://archive.example.net/{}/{domain}", 2015 + index)),
            ResultType::Phone => json!(format!("+1 202 555 01{:02}", index % 100)),
            ResultType::PublicKey | ResultType::Certificate => {
                json!(format!("{:016X}", self.seed(&format!("key{index}"))))
            }
            ResultType::Breach => json!(format!("SampleBreach{index}")),
            ResultType::DnsRecord
            | ResultType::Registration
            | ResultType::Reputation
            | ResultType::Tenant => {
                return None;
            }
        })
    }

    fn address(&self, index: usize) -> String {
        format!("192.0.2.{}", 10 + (self.below("address", 200) as usize + index) % 240)
    }

    /// The value in the form from which these transforms make it.
    pub(super) fn shaped(&self, value: Value, transforms: &[Transform], name: &str, index: usize) -> Value {
        let text = || as_text(&value);
        let Some(first) = transforms.iter().find(|transform| needs_form(**transform)) else { return value };
        match first {
            Transform::UnixTime => json!(self.seconds(&format!("{name} {index}"))),
            Transform::UnixMillis => json!(self.seconds(&format!("{name} {index}")) * 1000),
            Transform::DateTime => json!(self.date(&format!("{name} {index}"))),
            Transform::UrlHost if text().starts_with("http") => value,
            Transform::UrlHost => json!(format!("https://{}/", host_of(&text()))),
            Transform::LastPathSegment => json!(format!("https://example.org/sample/{}", text())),
            Transform::Lines => json!(format!("{0}\nmore-{0}", text())),
            Transform::Split => json!(format!("{0} more-{0}", text())),
            Transform::StripWildcard if index == 1 => json!(format!("*.{}", text())),
            Transform::StripAt => json!(format!("@{}", text().trim_start_matches('@'))),
            Transform::StripMailto => json!(format!("mailto:{}", text())),
            Transform::UnquoteTxt => json!(format!("\"{}\"", text())),
            Transform::LastWord => json!(format!("{} {}", 10 * (index + 1), text())),
            Transform::Number => json!("1,234"),
            Transform::AbsoluteUrl => match text().strip_prefix("https://").and_then(|it| it.split_once('/'))
            {
                Some((_, path)) => json!(format!("/{path}")),
                None => value,
            },
            Transform::Hex => json!(self.below(name, 9_000_000)),
            _ => value,
        }
    }
}

fn needs_form(transform: Transform) -> bool {
    use Transform::{HtmlText, Lower, StripDot, Trim, Upper, UrlDecode};
    !matches!(transform, Trim | Lower | Upper | HtmlText | UrlDecode | StripDot)
}

fn host_of(text: &str) -> String {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b));
    if plain && text.contains('.') { text.to_owned() } else { "www.example.net".to_owned() }
}

/// A JSON value as an extractor would read it.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `followersCount`, `Followers-Count` and `followers_count` are one name.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_uppercase() => {
                if !out.is_empty() && !out.ends_with('_') {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if !out.ends_with('_') => out.push('_'),
            _ => {}
        }
    }
    out.trim_matches('_').to_owned()
}

/// Short parts must be whole words of the name: `id` is not in `video`.
fn sounds_like(name: &str, part: &str) -> bool {
    if part.len() <= 4 && !part.contains('_') {
        name.split('_').any(|word| word.trim_end_matches('s') == part.trim_end_matches('s'))
    } else {
        format!("{name}_").contains(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_the_names_and_are_always_the_same() {
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        let sampler = Sampler::new(1, "site", &query);
        let named = |name: &str| sampler.named(name, 0);
        assert!(named("followersCount").is_u64() && named("public_repos").is_u64());
        assert!(named("isVerified").is_boolean());
        assert!(named("created_at").as_str().is_some_and(|date| date.ends_with('Z')));
        assert!(named("avatar").as_str().is_some_and(|url| url.starts_with("https://media.example.net/")));
        assert_eq!(named("login"), json!("alice"));
        assert!(named("id").is_u64() && named("video").is_string());
        assert_eq!(named("display_name"), sampler.named("display_name", 0));
        assert_ne!(sampler.named("name", 0), sampler.named("name", 1));
    }

    #[test]
    fn forms_are_what_transforms_read() {
        let query = Query::parse(SearchType::Domain, "example.com").unwrap();
        let sampler = Sampler::new(1, "dns", &query);
        let shaped = |transform: Transform| sampler.shaped(json!("mx.example.net"), &[transform], "mx", 0);
        assert_eq!(shaped(Transform::LastWord), json!("10 mx.example.net"));
        assert_eq!(shaped(Transform::UrlHost), json!("https://mx.example.net/"));
        assert_eq!(shaped(Transform::UnquoteTxt), json!("\"mx.example.net\""));
        assert!(shaped(Transform::UnixTime).is_u64());
        assert_eq!(shaped(Transform::Trim), json!("mx.example.net"));
    }
}
