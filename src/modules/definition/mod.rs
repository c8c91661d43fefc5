//! The rule language of catalogue entries, as serde types.
//!
//! These types are the only definition of the syntax. Serde reads entries by them, and the JSON Schema for
//! editors is derived from them, with its descriptions, limits and messages (`errorMessage`). That schema
//! finds the values outside their limits. Texts that have their own language, such as templates, pointers and
//! regexes, are parsed into what runs ([`text`]). [`super::catalog`] rejects entries whose parts contradict each other.
//! Unknown fields are errors everywhere.
//!
//! # Templates
//! A string that is described as a *template* can hold variables. Each variable can have filters, which are
//! applied from left to right (`{domain|registrable|md5}`). A literal brace is doubled: `{{`, `}}`.
//!
//! | variable | value |
//! |---|---|
//! | `{query}` | the normal form of the query |
//! | `{local}`, `{domain}` | the parts of the query, if it has them |
//! | `{saved.NAME}` | a value that the `save` of an earlier probe read |
//! | `{config.NAME}` | a key of the operator, listed in `needs`; not allowed in rules and results |
//! | `{config.NAME?}` | a key that may be missing; not listed in `needs` |
//! | `{value}` | the value that an extractor read; only in its `format` |
//!
//! | filter | result |
//! |---|---|
//! | `lower` | lower case |
//! | `md5`, `sha256` | the hash of the lower-cased value, in hex |
//! | `wkd` | the SHA-1 of the lower-cased value in z-base-32: the name of a key in a Web Key Directory |
//! | `first_56` | the first 56 characters; after `sha256`, the name of a key in the DNS (RFC 7929) |
//! | `registrable` | the part of a domain that can be registered |
//! | `label` | the first label of the registrable part |
//! | `tld` | the last label of a domain |
//! | `reverse_ip` | an IPv4 address's numbers, or an IPv6 address's 32 digits, reversed and joined by dots |
//! | `urlencode` | percent-encoding; in a URL everything is percent-encoded anyway |
//!
//! Values are escaped for their position: URL host, URL path, URL query, header or regex.
//! A URL may begin with a saved address: `{saved.NAME}/more`. A missing value ends the check, with `skipped` for a
//! query or config value and with `error` for a saved value. A request is never sent with a value missing. If a
//! `{config.NAME?}` is missing, the part of the request that holds it is left out: a header, a field of a form, or a
//! member or element of a JSON body. It is not allowed anywhere else.
//!
//! In a *template for regexes*, quantifiers and escapes keep their single braces: `[a-z]{3,5}`, `\p{L}` and
//! `\{` have their usual meaning. Any other literal brace is doubled.
//!
//! # Feeds
//! A probe with `"feed": {"keep_s": 3600}` fetches a list that is the same for every query. The list is kept for `keep_s`
//! seconds, for all checks of this module and of other modules that send the same request. The request contains no part
//! of the query and no saved value. Rules and extractors read the list like any other answer. Up to 8 MiB of it are read.
//! A failed fetch, and an answer whose status is no success or that is blank, an HTML page or larger than 8 MiB, are kept for
//! at most a minute.
//!
//! # Browser modules
//! A probe with `"via": "browser"` opens its page in a real browser. Rules and extractors then read the
//! document as the page's scripts have changed it. Such a module is premium. The browser waits until the
//! page shows a mark. One mark is taken from each rule of `hit`, `miss` and `barrier` that is about the
//! probe. It is the first of these conditions that the rule has: `css` (the selector, or the text of
//! `title`), `text`, `words`, `final_url`. On a page without any mark, the rules are tried shortly before the check's time ends.
//! - A browser reports neither headers nor a reliable status, so rules read the page, its title and its
//!   address. There is at least one rule for a hit and one for a miss, and each of them has a mark. A rule
//!   with only negative conditions is not allowed, because it holds for a page that is not drawn yet.
//! - Each page is opened without cookies. `save` and further probes are allowed; `feed` is not.
//! - The control check of a hit opens the page of a made-up name in a browser too, with at least 8 seconds
//!   of time. As for every module, there is one at most once an hour. It cannot be switched off.
//!
//! # Extractor texts
//! The short form of an extractor is one string, `KIND:ARGUMENT`:
//!
//! | text | value |
//! |---|---|
//! | `json:/a/*/b` | the value at a JSON pointer; `*` is every element or member |
//! | `css:SELECTOR`, `css:SELECTOR@ATTRIBUTE` | text or attribute of the elements found |
//! | `meta:NAME` | `content` of the `<meta>` with that name or property |
//! | `jsonld:/pointer` | the value at a pointer in any JSON-LD block of the page |
//! | `script:/pointer` | JSON inside `<script>` elements: the first document that has the pointer |
//! | `regex:PATTERN` | of each match in the body the first capture group, or the whole match if there is none (a template for regexes) |
//! | `header:NAME`, `cookie:NAME` | a header or cookie of this answer |
//! | `final_url:`, `title:` | the address after redirects; the text of `<title>` |
//! | `template:TEXT`, `const:TEXT` | a filled template; the text itself |
//! | `count:/pointer` | the number of values at the pointer |
//! | `lines:`, `json_lines:` | every non-empty line of the body, as text or as a JSON document |
//! | `body_hash:ALGORITHM` | the hash of the body as received: `sha256`, `md5` (hex) or `mmh3` (a number) |
//!
//! Inside `results[].value` and `.metadata`, `json:` and `count:` are relative to the element that `each`
//! selected. `value:` is the element itself, `key:` its member name or index, and `group:N` a capture
//! group of an `each` regex.
//!
//! # Built-in rules
//! - If a barrier of the global list matches, the check ends as `blocked` or `rate_limited`. The reason is
//!   the barrier's name: `cloudflare_challenge`, `captcha`, `consent_wall`, `login_wall`, `parked_domain`, ….
//! - For a 200 without a body, only rules on headers, `final_url` and `body_is` can hold; otherwise the
//!   outcome is `error` with the reason `empty`. If every `hit` requires JSON, a page that is not JSON is
//!   not a `miss` by a rule about absent text.
//! - A hit that was redirected to a sign-in page is `blocked` with the reason `login_wall`. A hit that was
//!   redirected to the front page is `error` with the reason `front_page`. Neither applies if the rule
//!   itself is about `final_url` or `Location`.
//! - A hit for a username is `error` with the reason `other_account` if the page's address, `canonical` link or
//!   `og:url` has the form of the requested address with another name in it. Differences in case and in the sign
//!   between two words are ignored; differences in dots are not. A rule with `equals_query` overrides this.
//! - A miss is bare if no `miss` rule holds that requires a text, a JSON value that is not empty, or an element. It
//!   counts only if the first query of `known` is a hit, which a control check shows. If that is a miss too, the check
//!   ends as `unreliable` with the reason `known_missed`. There is no such check without `known`, with `needs`, and if
//!   the host depends on the queried domain.
//! - Values that do not have the form of their result's type (an address, a host below the
//!   query's zone, an absolute URL, …) are dropped.
//! - A metadata value has the type of its name: see [`METADATA`] and [`field_type`]. It is converted if it has another
//!   form (`1,234` for a count, `example.org` for an address), and dropped if that is not possible.
//! - The main result of a username (`account` or `profile`) gets `title`, `display_name`, `bio` and
//!   `avatar_url` from the page's Open Graph data, JSON-LD, title and description, unless the entry sets
//!   them. Values that the page of a made-up name has too are left out.

mod css;
mod engine;
mod entry;
mod field;
mod json;
mod matcher;
mod probe;
mod read;
mod result;
mod schema;
mod source;
pub mod text;

pub use css::{CssCondition, CssRule};
pub(crate) use engine::ENGINES;
pub use engine::Site;
pub use entry::{Contact, Entry, Off, Scripts, Verified, VerifiedBy};
pub use field::{Field, FieldType, METADATA, field_type};
pub(crate) use json::as_text;
pub use json::{JsonRule, JsonType};
pub(crate) use matcher::Basis;
pub use matcher::{Matcher, StatusRule};
pub use probe::{FeedEntry, JsonBody, Method, Probe, Via};
pub(crate) use probe::{kept, with_texts};
pub use read::json_schema;
pub(crate) use result::MAX_VALUES;
pub use result::{Extractor, ListResult, LongExtractor, MainResult, ResultType, Transform};
pub(crate) use schema::{Part, mistake, parts};
pub(crate) use source::Reads;
pub use source::Source;
pub use text::MAX_PROBES;
