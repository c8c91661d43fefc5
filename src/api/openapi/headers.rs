//! The headers of answers. `Date`, `Connection`, the framing and `Content-Encoding` are HTTP's own.

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Ref, RefOr};

/// Headers that every answer has.
pub const EVERYWHERE: [&str; 3] = ["X-Request-Id", "Cache-Control", "X-Content-Type-Options"];

/// Headers that any answer may have.
pub const ANYWHERE: [&str; 2] = ["X-Sightline-Sandbox", "Vary"];

/// Headers of answers to requests that counted.
pub const COUNTED: [&str; 5] =
    ["RateLimit-Policy", "RateLimit", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// One header: name, what its value is, its form, an example.
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
const RUN_ID: &str = concat!("^", uuid!(), "$");
const RUN_ADDRESS: &str = concat!("^/v1/searches/", uuid!(), "$");

fn rows() -> Vec<Row> {
    use Form::{Number, Text, Word};
    vec![
        Row(
            "X-Request-Id",
            "The caller's own id of the request, or one that was made for it; it stands in the log.",
            Text("^[A-Za-z0-9._-]{1,64}$"),
            "b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c",
        ),
        Row(
            "Cache-Control",
            "Whether and how long the answer may be kept.",
            Text("^[a-z0-9=, -]+$"),
            "no-store",
        ),
        Row("X-Content-Type-Options", "Always `nosniff`.", Word(&["nosniff"]), "nosniff"),
        Row(
            "X-Sightline-Sandbox",
            "Only where the web is simulated: nothing that is found is real.",
            Word(&["true"]),
            "true",
        ),
        Row(
            "Vary",
            "The request headers that the form of the answer depends on.",
            Text("^[A-Za-z, -]+$"),
            "Accept-Encoding",
        ),
        Row(
            "RateLimit-Policy",
            "The limits that the request counted under: name, requests (`q`), window in seconds (`w`).",
            Text(POLICIES),
            "\"search\";q=30;w=60",
        ),
        Row(
            "RateLimit",
            "Where the account stands with them: requests left (`r`), seconds until the oldest one no longer counts (`t`).",
            Text(STANDINGS),
            "\"search\";r=29;t=41",
        ),
        Row(
            "X-RateLimit-Limit",
            "Requests in any 60 seconds, of the limit that is nearest to its end.",
            Number { least: 1 },
            "30",
        ),
        Row("X-RateLimit-Remaining", "Requests left of that limit.", Number { least: 0 }, "29"),
        Row(
            "X-RateLimit-Reset",
            "Seconds until the oldest request of that limit no longer counts.",
            Number { least: 1 },
            "41",
        ),
        Row("Retry-After", "Whole seconds to wait before the next try.", Number { least: 1 }, "2"),
        Row(
            "Location",
            "Address of the run.",
            Text(RUN_ADDRESS),
            "/v1/searches/018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
        ),
        Row(
            "X-Run-Id",
            "Identifies the run, so that it can be found again before the first frame of a stream.",
            Text(RUN_ID),
            "018f4a7e-5c1d-7b3a-9e2f-0123456789ab",
        ),
        Row(
            "Preference-Applied",
            "The wait that `Prefer` asked for and got, in seconds.",
            Text("^wait=[0-9]+$"),
            "wait=10",
        ),
        Row(
            "ETag",
            "Names this state of the answer, for `If-None-Match`; weak (`W/`) where the body is compressed.",
            Text("^(W/)?\"[0-9a-f]{32}\"$"),
            "\"5d41402abc4b2a76b9719d911017c592\"",
        ),
        Row(
            "Last-Modified",
            "When the run ended; not there as long as it has not.",
            Text(HTTP_DATE),
            "Wed, 06 May 2026 07:09:21 GMT",
        ),
        Row(
            "X-Accel-Buffering",
            "Always `no`: tells a reverse proxy to pass frames on at once.",
            Word(&["no"]),
            "no",
        ),
        Row(
            "Allow",
            "The methods that the address answers.",
            Text("^[A-Z]+(, [A-Z]+)*$"),
            "GET, HEAD, OPTIONS",
        ),
        Row("WWW-Authenticate", "Always `Bearer`.", Word(&["Bearer"]), "Bearer"),
        Row(
            "Content-Disposition",
            "The name under which the file is to be kept; it says so where the run is not completed.",
            Text("^attachment; filename=\"[^\"]+\"(; filename\\*=UTF-8''[A-Za-z0-9.%_+-]+)?$"),
            "attachment; filename=\"sightline-username-octocat-0123456789ab.csv\"",
        ),
        Row("X-Run-Status", "Where the run stands.", Word(&["running", "completed", "failed"]), "completed"),
        Row(
            "Content-Security-Policy",
            "Only with HTML: what the page may load, which is nothing.",
            Text("^[ -~]+$"),
            "default-src 'none'",
        ),
    ]
}

/// The components: each header as one that is always there, and once more as one that may be.
pub fn components() -> Vec<(String, RefOr<Header>)> {
    let pair = |row: &Row| {
        let name = row.0;
        [(name.to_owned(), row.header(true)), (optional(name), row.header(false))]
    };
    rows().iter().flat_map(pair).map(|(name, header)| (name, header.into())).collect()
}

/// What an answer that always has, and may have, these headers says of them.
pub fn references(
    always: impl IntoIterator<Item = &'static str>,
    maybe: impl IntoIterator<Item = &'static str>,
) -> Vec<(String, RefOr<Header>)> {
    let reference = |name: &str| RefOr::Ref(Ref::new(address(name)));
    let always = always.into_iter().map(|name| (name.to_owned(), reference(name)));
    let maybe = maybe.into_iter().map(|name| (name.to_owned(), reference(&optional(name))));
    maybe.chain(always).collect()
}

/// Where a component stands.
pub fn address(name: &str) -> String {
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
