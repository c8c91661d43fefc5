//! The rule language: what an entry of the catalogue may say, as serde types.
//!
//! These types are the syntax only. [`super::catalog`] compiles them and refuses what makes no sense.
//! Unknown fields are errors everywhere.
//!
//! # Templates
//! Strings marked *template* may hold variables, each with filters, in turn (`{domain|registrable|md5}`).
//! A literal brace is doubled: `{{`, `}}`.
//!
//! | variable | is |
//! |---|---|
//! | `{query}` | the query's normal form |
//! | `{local}`, `{domain}` | its parts, where it has them |
//! | `{saved.NAME}` | from an earlier probe's `save` |
//! | `{config.NAME}` | an operator's key, listed in `needs`; not in rules and results |
//! | `{config.NAME?}` | a key that may be missing; not in `needs` |
//! | `{page}` | what `pages.next` read; in `pages.url` only |
//! | `{value}` | what an extractor read; in its `format` only |
//!
//! | filter | gives |
//! |---|---|
//! | `lower` | lower case |
//! | `md5`, `sha1`, `sha256` | the hash of the lower-cased value, in hex |
//! | `wkd` | the SHA-1 of the lower-cased value in z-base-32: the name of a key in a Web Key Directory |
//! | `first_56` | the first 56 characters; after `sha256`: the name of a key in the DNS (RFC 7929) |
//! | `registrable` | the part of a domain that can be registered |
//! | `label` | the first label of that part |
//! | `suffix` | the public suffix of a domain |
//! | `tld` | its last label |
//! | `reverse_ip` | an IPv4 address's numbers, or an IPv6 address's 32 digits, reversed and joined by dots |
//! | `urlencode` | percent-encoding; in a URL everything is percent-encoded anyway |
//!
//! Values are escaped for where they stand: URL host, URL path, URL query, JSON string, form field,
//! header, regex. A URL may begin with a saved address: `{saved.NAME}/more`. A missing value ends the
//! check (`skipped` for a query or config value, `error` for a saved one); a request is never sent
//! half-filled. What holds a missing `{config.NAME?}` is left out whole: a header, a parameter of a URL's
//! query, a field of a form, a member or element of a JSON body. It can stand nowhere else.
//!
//! In a *template for regexes* quantifiers and escapes keep their single braces: `[a-z]{3,5}`, `\p{L}`,
//! `\{` mean what they always mean; any other literal brace is doubled.
//!
//! # Feeds
//! A probe with `"feed": {"keep_s": 3600}` fetches a list that is the same for every query: once for all
//! checks, of this module and of others that send the same request, every `keep_s` seconds at the most.
//! Its request names no query and nothing that was saved; rules and extractors read the answer like any
//! other. Up to 8 MiB of it are read. A fetch that failed is tried again after a minute, and so is one
//! whose answer is blank or larger, no JSON where a hit or a saved value needs it, or known to no rule of
//! those that are about it.
//!
//! # Pages
//! A probe with `"pages": {"next": "json:/next", "most": 5}` has its further pages read once the rules
//! have come to a hit on the first one: while `next` finds a value on the last page read, and fewer than
//! `most` were read, the page that it leads to is asked for, with the probe's own headers, by GET, on the
//! probe's own host. `results` read all pages; all else reads the first. A later page that does not come
//! takes nothing away: the results so far count, and the check's reason is `pages_incomplete`. So it is
//! with one that is blank, no JSON where the first is, or without elements of a list where no rule for a hit
//! or a miss holds: a rule for a miss that fits an empty list tells an empty last page from an error.
//!
//! # Browser modules
//! A probe with `"via": "browser"` opens its page in a real browser; rules and extractors then read the
//! document that its scripts have drawn. Such a module is premium. The browser waits until the page shows a
//! mark: one is taken from each rule of `hit`, `miss` and `barrier` that is about the probe, by its first
//! condition of these: `css` (the selector), `text`, `title` or `title_is`, `words` or `any_word`,
//! `final_url` (its longest literal part), `regex` (likewise). `until` names other marks in their place, for a
//! page that shows one of the rules' before it is drawn. On a page without any mark the rules are tried once
//! the check's time is nearly up.
//! - The browser tells neither headers nor a status that could be relied on: rules look at the page, its title
//!   and its address. Every rule for a hit and a miss has a mark, and there is one of each at the least; none asks
//!   only for what is not there, which holds on a page that is not drawn yet.
//! - Each page is opened without cookies; `save` and further probes work, `pages` and `feed` do not.
//! - A hit's control check opens the page of a made-up name, in the same way and within 8 seconds at the
//!   least, once an hour for each module as with all others: it cannot be switched off.
//!
//! # Extractor texts
//! A short extractor is one string, `KIND:ARGUMENT`:
//!
//! | text | reads |
//! |---|---|
//! | `json:/a/*/b` | JSON pointer; `*` is every element or member |
//! | `css:SELECTOR`, `css:SELECTOR@ATTRIBUTE` | text or attribute of the elements found, in HTML or XML |
//! | `meta:NAME` | `content` of the `<meta>` of that name or property |
//! | `jsonld:/pointer` | in any JSON-LD block of the page |
//! | `script:/pointer` | JSON inside `<script>` elements: the first document that has the pointer |
//! | `regex:PATTERN` | first capture group, else the whole match, in the body |
//! | `header:NAME`, `cookie:NAME` | of this answer |
//! | `final_url:`, `title:` | the address after redirects; the text of `<title>` |
//! | `template:TEXT`, `const:TEXT` | a template; the text itself |
//! | `count:/pointer` | how many values are there |
//! | `body_hash:ALGORITHM` | of the body as received: `sha256`, `sha1`, `md5` (hex) or `mmh3` (a number) |
//!
//! Inside `results[].value` and `.metadata`, `json:` and `count:` are relative to the element that `each`
//! gave; `value:` is the element itself, `key:` its member name or index, `group:N` a capture group of an
//! `each` regex, `attr:NAME` an attribute of an `each` CSS element.
//!
//! XML (by its content type or prolog) is read as XML: names in lower case, `a\\:b` for `a:b`, CDATA as text.
//!
//! # What needs no rule
//! - A barrier of the global list ends a check as `blocked` or `rate_limited`, with the wall's name as the
//!   reason: `cloudflare_challenge`, `captcha`, `consent_wall`, `login_wall`, `parked_domain`, ….
//! - A 200 without a body makes no rule hold but those on headers, `final_url`, `body_is` and `body_hash`:
//!   `error` `empty`. Where every `hit` wants JSON, a page is no `miss` by what it does not hold.
//! - A hit that was led to a page to sign in is `blocked` `login_wall`, one that was led to the front page
//!   `error` `front_page`, unless the rule itself is about `final_url` or `Location`.
//! - A hit of a username whose page (by its address, `canonical` link or `og:url`) is built like the address
//!   that was asked for, with another name in the place of the name, is `error` `other_account`. Case and
//!   the sign between two words do not count; dots do. A rule with `equals_query` overrides this.
//! - Values that are not what their result's type says (an address, a host below the query's zone, an
//!   absolute URL, …) are dropped.
//! - The main result of a username (`account` or `profile`) gets `title`, `display_name`, `bio` and
//!   `avatar_url` from the page's Open Graph, JSON-LD, title and description, for names that the entry does
//!   not set, without what the page of a made-up name says as well.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::query::SearchType;

mod probe;
mod result;
mod rule;

pub use probe::{FeedEntry, Method, PagesEntry, ProbeEntry, UntilEntry, Via};
pub use result::{Extractor, ListResult, LongExtractor, MainResult, ResultType, Transform};
pub use rule::{BodyHash, CssCondition, CssRule, JsonRule, MatcherEntry, StatusRule};

fn yes() -> bool {
    true
}

fn is_true(flag: &bool) -> bool {
    *flag
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// One module as it stands in a catalogue file. A file is a JSON array of entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Unique name: lower-case ASCII letters, digits, `_`, `-`, `.`; at most 64.
    pub id: String,
    /// The name people know.
    pub platform: String,
    /// What kind of query the module takes.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// One lower-case word or two, such as `coding`, `social`, `dns`.
    pub category: String,
    /// Further words to select by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Popularity: 1 is the most visited. Popular modules are asked early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// `false`: loaded and listed, never run.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub enabled: bool,
    /// Adult content: off unless asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nsfw: bool,
    /// Touches a sign-in page (never with a password): off unless the operator switches it on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub discovery: bool,
    /// Who sees the traffic.
    #[serde(default, skip_serializing_if = "Contact::is_default")]
    pub contact: Contact,
    /// The site's front page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// Template: the page a person would open for this query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Regex that the whole normal form must match, else `skipped`. Anchored by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<String>,
    /// Which scripts a username may be written in here.
    #[serde(default, skip_serializing_if = "Scripts::is_default")]
    pub scripts: Scripts,
    /// Characters to remove from the query first (for sites whose names cannot hold them).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<String>,
    /// Email: only addresses of these domains are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domain_in: Vec<String>,
    /// Email: addresses of these domains are not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domain_not_in: Vec<String>,
    /// `config.NAME`s without which the module is `skipped`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// At least this many milliseconds between two checks of this module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// At most this many checks of this module a day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_day: Option<u32>,
    /// One to three requests, sent in order.
    pub probes: Vec<ProbeEntry>,
    /// The module's own barriers, beside the global list. They win over everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barrier: Vec<MatcherEntry>,
    /// Alternatives that mean: it is there.
    pub hit: Vec<MatcherEntry>,
    /// Alternatives that mean: it is not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub miss: Vec<MatcherEntry>,
    /// A miss here means "nothing public", not "no account".
    #[serde(default, skip_serializing_if = "is_false")]
    pub weak_miss: bool,
    /// Whether a hit is confirmed by asking for a made-up name. Default: yes for usernames and email
    /// addresses, no for domains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// The main result of a hit: always exactly one. Without it and without `results`, a username or
    /// email module yields `{"type": "account"}` with the query as its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<MainResult>,
    /// Further results: zero to many each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ListResult>,
    /// Queries that are known to hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// A word for the next author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who sees the traffic of a module: `third_party` (one that holds data about the query), `resolver` (a DNS
/// resolver), `target_web` (the site of the domain that is looked up) or `third_party_scan` (a third party that
/// fetches that site when asked).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ModuleContact)]
pub enum Contact {
    /// A third party that holds data about the query.
    #[default]
    ThirdParty,
    /// A DNS resolver.
    Resolver,
    /// The site of the domain that is looked up.
    TargetWeb,
    /// A third party that fetches that site when asked.
    ThirdPartyScan,
}

impl Contact {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which scripts a module's usernames may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scripts {
    /// ASCII only; a query in another script is `skipped`.
    #[default]
    Ascii,
    /// Letters of any script.
    Any,
}

impl Scripts {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
