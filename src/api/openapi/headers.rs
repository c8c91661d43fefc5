//! The headers of answers. `Date`, `Connection`, framing and `Content-Encoding` belong to HTTP and are not
//! described.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};

/// Headers of every answer.
pub(super) const ALWAYS: [&str; 3] = ["X-Request-Id", "Cache-Control", "X-Content-Type-Options"];

/// Headers that any answer can have.
pub(super) const POSSIBLE: [&str; 2] = ["X-Sightline-Sandbox", "Vary"];

/// Headers of answers to counted requests.
pub(super) const COUNTED: [&str; 5] =
    ["RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// A header: name, description, format, example.
struct Row(&'static str, &'static str, Form, &'static str);

enum Form {
    Text(&'static str),
    Number { least: u32 },
    Word(&'static [&'static str]),
}

const POLICIES: &str = r#"^"[a-z]+";q=[0-9]+;w=60(, "[a-z]+";q=[0-9]+;w=60)*$"#;
const STANDINGS: &str = r#"^"[a-z]+";r=[0-9]+;t=[0-9]+(, "[a-z]+";r=[0-9]+;t=[0-9]+)*$"#;
const HTTP_DATE: &str = "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$";
macro_rules! uuid {
    () => {
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    };
}
const LINKS: &str = r#"^<[^<> ]+>; rel="first"(, <[^<> ]+>; rel="next")?$"#;
const RUN_ID: &str = concat!("^", uuid!(), "$");
const ADDRESS: &str = concat!("^(/[!-~]+)?/v1/(?:searches|batches)/", uuid!(), "$");

const ROWS: &[Row] = {
    use Form::{Number, Text, Word};
    &[
        Row(
            "X-Request-Id",
            "Id of the request: the caller's own or a new one. It also appears in the log.",
            Text("^[A-Za-z0-9._-]{1,64}$"),
            "b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c",
        ),
        Row(
            "Cache-Control",
            "Whether and how long the answer may be cached.",
            Text("^[a-z0-9=, -]+$"),
            "no-store",
        ),
        Row("X-Content-Type-Options", "Always `nosniff`.", Word(&["nosniff"]), "nosniff"),
        Row(
            "X-Sightline-Sandbox",
            "Present only if the web is simulated: no result is real.",
            Word(&["true"]),
            "true",
        ),
        Row("Vary", "Request headers that the answer depends on.", Text("^[A-Za-z, -]+$"), "Accept-Encoding"),
        Row(
            "RateLimit-Policy",
            "The limits that the request counted under: name, requests (`q`), window in seconds (`w`).",
            Text(POLICIES),
            "\"search\";q=30;w=60",
        ),
        Row(
            "RateLimit",
            "The state of the limits that the request counted under: requests left (`r`), seconds until another can be made (`t`).",
            Text(STANDINGS),
            "\"search\";r=29;t=2",
        ),
        Row(
            "X-RateLimit-Limit",
            "Requests a minute, of the limit with the fewest requests left.",
            Number { least: 1 },
            "30",
        ),
        Row(
            "X-RateLimit-Remaining",
            "Requests left of the limit with the fewest requests left.",
            Number { least: 0 },
            "29",
        ),
        Row(
            "X-RateLimit-Reset",
            "Seconds until another request can be made under the limit with the fewest requests left.",
            Number { least: 1 },
            "2",
        ),
        Row("Retry-After", "Whole seconds to wait before the next try.", Number { least: 1 }, "2"),
        Row(
            "Location",
            "Address of the run or the batch, relative to the server's origin.",
            Text(ADDRESS),
            "/v1/searches/018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
        ),
        Row(
            "Link",
            "Addresses of other pages of the list, relative to the server's origin (RFC 8288): `first`, and `next` if there is one.",
            Text(LINKS),
            "</v1/searches?limit=20>; rel=\"first\", </v1/searches?limit=20&cursor=19c6e9a5a10.018f4a7e5c1d7b3a9e2f0123456789ab>; rel=\"next\"",
        ),
        Row(
            "X-Run-Id",
            "Identifies the run before the first event of a stream arrives.",
            Text(RUN_ID),
            "018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
        ),
        Row(
            "Preference-Applied",
            "The wait of `Prefer` that was applied, in seconds.",
            Text("^wait=[0-9]+$"),
            "wait=10",
        ),
        Row(
            "ETag",
            "Entity tag for `If-None-Match`; weak (`W/`) if the body is compressed.",
            Text("^(W/)?\"[0-9a-f]{32}\"$"),
            "\"5d41402abc4b2a76b9719d911017c592\"",
        ),
        Row(
            "Last-Modified",
            "Time at which the run ended; absent until then.",
            Text(HTTP_DATE),
            "Wed, 06 May 2026 07:09:21 GMT",
        ),
        Row(
            "X-Accel-Buffering",
            "Always `no`: tells a reverse proxy not to buffer the stream.",
            Word(&["no"]),
            "no",
        ),
        Row("Allow", "Methods that the address supports.", Text("^[A-Z]+(, [A-Z]+)*$"), "GET, HEAD, OPTIONS"),
        Row("WWW-Authenticate", "Always `Bearer`.", Word(&["Bearer"]), "Bearer"),
        Row(
            "Content-Disposition",
            "Name of the file; it says so if the run is not completed.",
            Text("^attachment; filename=\"[^\"]+\"(; filename\\*=UTF-8''[A-Za-z0-9.%_+-]+)?$"),
            "attachment; filename=\"sightline-username-octocat-0123456789ab.csv\"",
        ),
        Row("X-Run-Status", "State of the run.", Word(&["running", "completed", "failed"]), "completed"),
        Row(
            "Content-Security-Policy",
            "Present only with HTML and pictures: they may load nothing.",
            Text("^[ -~]+$"),
            "default-src 'none'",
        ),
    ]
};

/// Returns the header components: each header twice, as required and as optional.
pub(super) fn components() -> Vec<(String, RefOr<Header>)> {
    let pair = |row: &Row| {
        let name = row.0;
        [(name.to_owned(), row.header(true)), (optional(name), row.header(false))]
    };
    ROWS.iter().flat_map(pair).map(|(name, header)| (name, header.into())).collect()
}

/// Returns references to the components of these required and optional headers.
pub(super) fn references(
    always: impl IntoIterator<Item = &'static str>,
    maybe: impl IntoIterator<Item = &'static str>,
) -> Vec<(String, RefOr<Header>)> {
    let reference = |name: &str| RefOr::Ref(Ref::new(address(name)));
    let always = always.into_iter().map(|name| (name.to_owned(), reference(name)));
    let maybe = maybe.into_iter().map(|name| (name.to_owned(), reference(&optional(name))));
    maybe.chain(always).collect()
}

/// Splits the header names of an operation's attribute into required ones and optional ones, which have the
/// type `Option<_>`.
///
/// # Panics
/// Panics if a header is not in the table. The attributes are fixed at compile time, and every test of the
/// document reads all of them.
pub(super) fn split(named: &BTreeMap<String, RefOr<Header>>) -> (Vec<&'static str>, Vec<&'static str>) {
    let known = |name: &str| {
        let row = ROWS.iter().find(|row| row.0 == name);
        row.unwrap_or_else(|| panic!("the header {name} is not in the table of headers")).0
    };
    let (maybe, always): (Vec<_>, Vec<_>) = named.iter().partition(|(_, header)| may_be_null(header));
    let names =
        |part: Vec<(&String, &RefOr<Header>)>| part.into_iter().map(|(name, _)| known(name)).collect();
    (names(always), names(maybe))
}

fn may_be_null(header: &RefOr<Header>) -> bool {
    let RefOr::T(Header { schema: Some(RefOr::T(Schema::Object(object))), .. }) = header else {
        return false;
    };
    matches!(&object.schema_type, SchemaType::Array(types) if types.contains(&Type::Null))
}

/// Returns the address of a component.
pub(super) fn address(name: &str) -> String {
    format!("#/components/headers/{name}")
}

fn optional(name: &str) -> String {
    format!("{name}.optional")
}

impl Row {
    fn header(&self, required: bool) -> Header {
        let Self(_, text, form, example) = self;
        let schema = match form {
            Form::Text(pattern) => ObjectBuilder::new().schema_type(Type::String).pattern(Some(*pattern)),
            Form::Number { least } => ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(*least)),
            Form::Word(words) => {
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied()))
            }
        };
        let example = match form {
            Form::Number { .. } => json!(example.parse::<u64>().unwrap_or_default()),
            _ => json!(example),
        };
        let extensions: Extensions = [("required", Value::Bool(required))].into_iter().collect();
        HeaderBuilder::new()
            .description(Some(*text))
            .schema(Some(schema.examples([example])))
            .extensions(Some(extensions))
            .build()
    }
}
