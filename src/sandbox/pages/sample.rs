//! Plausible sample values for names such as `followers` or `avatar_url`.
//!
//! No value names a real person or host: hosts are reserved names, addresses are documentation addresses, and
//! telephone numbers are fictional.

use serde_json::{Value, json};

use crate::modules::definition::{FieldType, ResultType, field_type};
use crate::modules::query::Query;
use crate::sandbox::draw::draw;
use crate::sandbox::portraits;

const GIVEN: [&str; 8] = ["Ana", "Ben", "Carla", "David", "Elif", "Farid", "Grace", "Hugo"];
const FAMILY: [&str; 8] = ["Rivera", "Okafor", "Lindqvist", "Tanaka", "Moreau", "Novak", "Silva", "Weber"];
const CITIES: [&str; 6] = ["Lisbon", "Toronto", "Nairobi", "Osaka", "Gdansk", "Valparaiso"];
const HOSTS: [&str; 4] = ["www", "mail", "api", "shop"];

/// The forms of a date that sites use, for `strftime`.
const DATE_FORMS: [&str; 6] =
    ["%Y-%m-%d", "%B %-d, %Y", "%b %d, %Y", "%-d %B %Y", "%Y%m%d%H%M%S", "%Y-%m-%d %H:%M:%S"];

/// A function that makes a sample value from a sampler, a name in snake case and an index.
type Make = fn(&Sampler<'_>, &str, usize) -> Value;

/// Parts of names, with the function that makes a value for them. The first matching line is used.
const SORTS: [(&str, Make); 16] = [
    ("digest", |it, name, n| json!(format!("{:032x}", it.seed(&numbered(name, n))))),
    ("is_ has_ verified private active enabled dnssec hireable", |it, name, n| {
        json!(it.below(&numbered(name, n), 2) == 0)
    }),
    ("email mailto", |it, _, _| json!(format!("{}@example.org", it.stem()))),
    ("timezone time_zone", |_, _, _| json!("Europe/Lisbon")),
    ("username login nick handle slug screen acct", |it, _, n| match n {
        0 => json!(it.stem()),
        _ => json!(format!("{}{n}", it.stem())),
    }),
    (
        "created joined date _at since registered updated seen expir birth time not_before not_after changed",
        |it, name, n| json!(it.time(&numbered(name, n)).to_string()),
    ),
    (
        "url link website avatar image photo picture href homepage thumb logo icon uri banner src",
        |it, name, n| json!(format!("https://media.example.net/{}/{name}{n}", it.stem())),
    ),
    ("location city country region place hometown", |it, name, n| {
        json!(it.pick(&numbered(name, n), &CITIES))
    }),
    (
        "count follow friends posts karma score total views likes stars repos points level num size rank age \
         ttl priority reputation gists badges subscrib videos tracks games rating asn port status_code length",
        |it, name, n| json!(1 + it.below(&numbered(name, n), 2_000)),
    ),
    ("registrar company org issuer employer abuse provider", |_, _, _| json!("Example Works Ltd")),
    ("nameserver domain host server mx cname", |_, _, n| json!(format!("ns{}.example.net", n + 1))),
    ("name author owner given family fullname first last fn", |it, name, n| json!(it.person_part(name, n))),
    ("ip addr address", |it, _, n| json!(it.address(n))),
    ("language locale lang", |_, _, _| json!("en")),
    ("id serial hash fingerprint key token", |it, name, n| {
        json!(10_000 + it.below(&numbered(name, n), 9_000_000))
    }),
    ("bio about description summary headline tagline text title", |_, name, _| {
        json!(format!("A sample {}", name.replace('_', " ")))
    }),
];

fn says(name: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| name.contains(part))
}

fn numbered(name: &str, index: usize) -> String {
    format!("{name} {index}")
}

/// A source of sample values for one answer.
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

    /// Returns a seed that depends on the answer and on the name.
    pub(super) fn seed(&self, name: &str) -> u64 {
        draw(self.seed, &[self.module, self.query.normal(), name])
    }

    fn pick<'b>(&self, name: &str, from: &[&'b str]) -> &'b str {
        from[self.below(name, from.len() as u64) as usize]
    }

    fn below(&self, name: &str, bound: u64) -> u64 {
        self.seed(name) % bound
    }

    /// Returns the query's local part or name if it fits into an address, and `sample` otherwise.
    fn stem(&self) -> &'a str {
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        let stem = self.query.local().unwrap_or(self.query.normal());
        if plain(stem) { stem } else { "sample" }
    }

    fn domain(&self) -> &'a str {
        self.query.domain().unwrap_or("example.org")
    }

    fn person(&self, index: usize) -> (&'static str, &'static str) {
        // The draw does not depend on the name, so the first and the last name in one answer belong together.
        let given = self.below("given", 8) as usize + index;
        let family = self.below("family", 8) as usize + index;
        (GIVEN[given % 8], FAMILY[family % 8])
    }

    /// Returns the value for `first_name`, `last_name` or another name of a person.
    fn person_part(&self, name: &str, index: usize) -> String {
        let (given, family) = self.person(index);
        match () {
            () if says(name, &["first", "given"]) => given.to_owned(),
            () if says(name, &["last", "family", "surname"]) => family.to_owned(),
            () => format!("{given} {family}"),
        }
    }

    /// Returns a time in seconds since the Unix epoch. Creation times are before update times, and these are before
    /// expiry times.
    fn seconds(&self, name: &str) -> u64 {
        let (from_year, years) = if says(name, &["expir", "not_after", "until", "valid_to"]) {
            (2030, 9)
        } else if says(name, &["updated", "changed", "seen", "modified", "last_", "lastmod", "scanned"]) {
            (2020, 5)
        } else {
            (2010, 9)
        };
        // A year has 365.2425 days on average.
        let start = (from_year - 1970) * 31_556_952;
        start + self.below(name, years * 365) * 86_400 + self.below(&format!("{name} "), 86_400)
    }

    fn time(&self, name: &str) -> jiff::Timestamp {
        let seconds = i64::try_from(self.seconds(name)).unwrap_or_default();
        jiff::Timestamp::from_second(seconds).unwrap_or_default()
    }

    /// Returns one date in the forms that sites use.
    pub(super) fn dates(&self, name: &str, index: usize) -> impl Iterator<Item = String> {
        let time = self.time(&numbered(name, index));
        DATE_FORMS.into_iter().map(move |form| time.strftime(form).to_string())
    }

    /// Returns a sample value for a field of that name.
    pub(super) fn named(&self, name: &str, index: usize) -> Value {
        self.like(name, name, index)
    }

    /// Returns a sample value for a field of that name, of the sort that another name has.
    fn like(&self, like: &str, name: &str, index: usize) -> Value {
        let (like, name) = (snake(like), snake(name));
        let names_it = |(parts, _): &&(&str, Make)| parts.split(' ').any(|part| sounds_like(&like, part));
        match SORTS.iter().find(names_it) {
            Some((_, make)) => make(self, &name, index),
            None => json!(format!("sample {}", name.replace('_', " "))),
        }
    }

    /// Returns a value for metadata of that name, or `None` if the name under which the site has it is a better guide.
    pub(super) fn field(&self, name: &str, index: usize) -> Option<Value> {
        if name == "avatar_url" {
            let (given, family) = self.person(0);
            return Some(json!(portraits::address(given, family)));
        }
        let like = match field_type(name)?.0 {
            FieldType::Text | FieldType::Id => return None,
            FieldType::Handle => "login",
            FieldType::Email => "email",
            FieldType::Digest => "digest",
            FieldType::Url => "url",
            FieldType::Date => "date",
            FieldType::Count | FieldType::Number => "count",
            FieldType::Flag => "is_verified",
        };
        Some(self.like(like, name, index))
    }

    /// Returns a value for a result of that type, or `None` if the field name is a better guide.
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
            ResultType::Archive => json!(format!("https://archive.example.net/{}/{domain}", 2015 + index)),
            ResultType::Phone => json!(format!("+1 202 555 01{:02}", index % 100)),
            // A key and a record look like what their field says.
            _ => return None,
        })
    }

    fn address(&self, index: usize) -> String {
        format!("192.0.2.{}", 10 + (self.below("address", 200) as usize + index) % 240)
    }
}

/// Returns the text that an extractor reads from a JSON value.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the name in snake case, so that `followersCount`, `Followers-Count` and `followers_count` are equal.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    out.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// Returns whether the name contains the part. A short part must be a whole word of the name: `id` is not in `video`.
fn sounds_like(name: &str, part: &str) -> bool {
    if part.len() <= 4 && !part.contains('_') {
        name.split('_').any(|word| word.trim_end_matches('s') == part.trim_end_matches('s'))
    } else {
        format!("{name}_").contains(part)
    }
}
