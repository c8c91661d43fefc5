//! The table: every object of the language with its fields.

use super::{Shape, may, must};

const TEXTS: Shape = Shape::List(&Shape::Text);
const INDEX: Shape = Shape::Whole(1000);

/// What stands in several places, or in itself: the schema defines it once, by these names.
pub(super) static DEFINED: [(&str, &Shape); 6] = [
    ("probe", &PROBE),
    ("matcher", &MATCHER),
    ("json_rule", &JSON_RULE),
    ("css_rule", &CSS_RULE),
    ("long_extractor", &LONG_EXTRACTOR),
    ("list_result", &LIST),
];

pub(super) static ENTRY: Shape = Shape::Object(&[
    must("id", Shape::Text),
    must("platform", Shape::Text),
    must("type", Shape::Word(&["domain", "email", "username"])),
    must("category", Shape::Text),
    may("tags", TEXTS),
    may("rank", Shape::Whole(u32::MAX as u64)),
    may("enabled", Shape::Flag),
    may("nsfw", Shape::Flag),
    may("discovery", Shape::Flag),
    may("contact", Shape::Word(&["third_party", "resolver", "target_web", "third_party_scan"])),
    may("home", Shape::Text),
    may("profile", Shape::Text),
    may("accepts", Shape::Text),
    may("scripts", Shape::Word(&["ascii", "any"])),
    may("strip", Shape::Text),
    may("domain_in", TEXTS),
    may("domain_not_in", TEXTS),
    may("needs", TEXTS),
    may("every_ms", Shape::Whole(u64::MAX)),
    may("per_day", Shape::Whole(u32::MAX as u64)),
    must("probes", Shape::List(&PROBE)),
    may("barrier", Shape::List(&MATCHER)),
    must("hit", Shape::List(&MATCHER)),
    may("miss", Shape::List(&MATCHER)),
    may("weak_miss", Shape::Flag),
    may("control", Shape::Flag),
    may("result", MAIN),
    may("results", Shape::List(&LIST)),
    may("known", TEXTS),
    may("note", Shape::Text),
]);

static PROBE: Shape = Shape::Object(&[
    must("url", Shape::Text),
    may("method", Shape::Word(&["GET", "HEAD", "POST", "PUT"])),
    may("via", Shape::Word(&["http", "browser"])),
    may("headers", Shape::Map(&Shape::Text)),
    may("form", Shape::Map(&Shape::Text)),
    may("multipart", Shape::Map(&Shape::Text)),
    may("json", Shape::Any),
    may("text", Shape::Text),
    may("follow", Shape::Flag),
    may("save", Shape::Map(&EXTRACTOR)),
    may("fallback", Shape::Flag),
    may("until", UNTIL),
    may("feed", FEED),
    may("pages", PAGES),
]);

const UNTIL: Shape = Shape::Object(&[
    may("css", TEXTS),
    may("text", TEXTS),
    may("title", TEXTS),
    may("source", TEXTS),
    may("url", TEXTS),
]);

const FEED: Shape = Shape::Object(&[must("keep_s", Shape::Whole(u32::MAX as u64))]);

const PAGES: Shape = Shape::Object(&[
    must("next", EXTRACTOR),
    may("url", Shape::Text),
    may("most", Shape::Whole(u32::MAX as u64)),
]);

static MATCHER: Shape = Shape::Object(&[
    may("probe", INDEX),
    may("status", Shape::List(&Shape::Either(&Shape::Whole(u16::MAX as u64), &Shape::Text))),
    may("final_url", Shape::Text),
    may("header", Shape::Map(&Shape::Text)),
    may("no_header", TEXTS),
    may("words", TEXTS),
    may("any_word", TEXTS),
    may("no_word", TEXTS),
    may("text", TEXTS),
    may("title", Shape::Text),
    may("title_is", Shape::Text),
    may("ignore_case", Shape::Flag),
    may("body_is", Shape::Text),
    may("regex", Shape::Text),
    may("shows_query", Shape::Flag),
    may("json", Shape::List(&JSON_RULE)),
    may("css", Shape::List(&Shape::Either(&Shape::Text, &CSS_RULE))),
    may("script", Shape::List(&JSON_RULE)),
    may("body_hash", BODY_HASH),
]);

const BODY_HASH: Shape = Shape::Object(&[
    may("sha256", TEXTS),
    may("sha1", TEXTS),
    may("md5", TEXTS),
    may("mmh3", Shape::List(&Shape::Signed)),
]);

static JSON_RULE: Shape = Shape::Object(&[
    must("at", Shape::Text),
    may("exists", Shape::Flag),
    may("null", Shape::Flag),
    may("equals", Shape::Any),
    may("any_of", Shape::List(&Shape::Any)),
    may("not_equals", Shape::Any),
    may("equals_query", Shape::Flag),
    may("equals_template", Shape::Text),
    may("type", Shape::Word(&["string", "number", "boolean", "array", "object", "null"])),
    may("min_length", Shape::Whole(u32::MAX as u64)),
    may("max_length", Shape::Whole(u32::MAX as u64)),
    may("above", Shape::Number),
    may("below", Shape::Number),
    may("contains", Shape::Text),
    may("not_contains", Shape::Text),
    may("matches", Shape::Text),
]);

static CSS_RULE: Shape = Shape::Object(&[
    must("select", Shape::Text),
    may("exists", Shape::Flag),
    may("attribute", Shape::Text),
    may("matches", Shape::Text),
    may("equals_query", Shape::Flag),
]);

const EXTRACTOR: Shape = Shape::Either(&Shape::Text, &LONG_EXTRACTOR);

static LONG_EXTRACTOR: Shape = Shape::Object(&[
    may("from", TEXTS),
    may("probe", INDEX),
    may("where", Shape::List(&JSON_RULE)),
    may("each", Shape::Text),
    may("inner", Shape::See(&LONG_EXTRACTOR)),
    may("regex", Shape::Text),
    may("transform", Shape::List(&TRANSFORM)),
    may("labels", Shape::List(&Shape::Pair)),
    may("format", Shape::Text),
    may("all", Shape::Flag),
    may("limit", Shape::Whole(u32::MAX as u64)),
]);

pub(super) static TRANSFORM: Shape = Shape::Word(&[
    "trim",
    "lower",
    "upper",
    "hex",
    "html_text",
    "url_decode",
    "absolute_url",
    "url_host",
    "last_path_segment",
    "lines",
    "split",
    "strip_wildcard",
    "strip_dot",
    "strip_at",
    "strip_mailto",
    "unquote_txt",
    "last_word",
    "unix_time",
    "unix_millis",
    "date_time",
    "number",
]);

pub(super) const RESULT_TYPE: Shape = Shape::Word(&[
    "account",
    "profile",
    "email",
    "username",
    "person_name",
    "url",
    "domain",
    "subdomain",
    "dns_record",
    "ip_address",
    "certificate",
    "registration",
    "technology",
    "archive",
    "breach",
    "reputation",
    "public_key",
    "phone",
    "tenant",
]);

const MAIN: Shape = Shape::Object(&[
    must("type", RESULT_TYPE),
    may("value", EXTRACTOR),
    may("metadata", Shape::Map(&EXTRACTOR)),
]);

static LIST: Shape = Shape::Object(&[
    must("type", RESULT_TYPE),
    may("probe", INDEX),
    must("each", Shape::Text),
    may("where", Shape::List(&JSON_RULE)),
    may("value", EXTRACTOR),
    may("keep", Shape::Text),
    may("metadata", Shape::Map(&EXTRACTOR)),
    may("limit", Shape::Whole(u32::MAX as u64)),
]);
