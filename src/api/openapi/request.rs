//! The body of a search: a schema for each type, since each has queries of its own.
//!
//! Everything that it refuses, [`decode`](crate::api::decode) refuses. What it takes may still be refused, where a
//! schema cannot say the rule: whether a domain ends in a public suffix, what a letter outside of ASCII is,
//! which modules there are. The tests hold both against each other.

use serde_json::{Value, json};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{
    ArrayBuilder, Discriminator, KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, Type,
};
use utoipa::openapi::{Ref, RefOr, Required};

use super::doc::Schemas;
use crate::modules::catalog::MAX_NAMES;
use crate::modules::query::{MAX_QUERY_BYTES, SearchType};

/// White space as the program trims it (Unicode's `White_Space`): readers of patterns differ in what `\s` is.
macro_rules! space {
    () => {
        r"[\x09-\x0d\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
    };
}

/// Signs of names, and all that is not ASCII: signs of other scripts are not told from letters here, since not
/// every reader of a pattern knows them.
macro_rules! name_sign {
    () => {
        r"[^\x00-\x2a\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7d\x7f]"
    };
}

/// The same for the names of hosts.
macro_rules! host_sign {
    () => {
        r"[^\x00-\x2c\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"
    };
}

/// A name of ASCII alone, whose length can be told, or one that holds something else.
macro_rules! host {
    () => {
        concat!(
            r"(?:(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+",
            r"(?:[A-Za-z]{2,63}|[xX][nN]--[A-Za-z0-9-]{1,59})\.?|",
            host_sign!(),
            r"*[^\x00-\x7f]",
            host_sign!(),
            "*)"
        )
    };
}

/// A name of ASCII alone, whose length can be told, or one that holds something else.
const USERNAME: &str = concat!(
    "^",
    space!(),
    "@?(?:[A-Za-z0-9._+~-]{1,64}|",
    name_sign!(),
    r"*[^\x00-\x7f]",
    name_sign!(),
    "*)",
    space!(),
    "$"
);
/// In the path of an address they would name another page.
const ONLY_DOTS: &str = concat!("^", space!(), r"@?\.+", space!(), "$");

const EMAIL: &str = concat!(
    "^",
    space!(),
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@",
    host!(),
    space!(),
    "$"
);
const LONG_LOCAL_PART: &str = concat!("^", space!(), "[^@]{65,}@");

const DOMAIN: &str = concat!(
    "^",
    space!(),
    r"(?:(?:[hH][tT][tT][pP][sS]?:)?//(?:[^/\\?#]*@)?)?",
    host!(),
    r"(?::[0-9]*)?(?:[/\\?#]|",
    space!(),
    "$)"
);

/// The body, and the named schemas that it refers to.
pub fn body() -> (RequestBody, Schemas) {
    let mut schemas = Schemas::new();
    let mut any = OneOfBuilder::new().description(Some(
        "What is searched, and how the answer is wanted. Members that are not known are ignored.",
    ));
    let mut mapping = Vec::new();
    for search_type in SearchType::ALL {
        let name = schema_name(search_type);
        schemas.push((name.to_owned(), of_type(search_type)));
        let reference = Ref::from_schema_name(name);
        mapping.push((search_type.as_str(), reference.ref_location.clone()));
        any = any.item(reference);
    }
    let any = any.discriminator(Some(Discriminator::with_mapping("type", mapping)));
    schemas.push(("SearchRequest".to_owned(), any.into()));
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("SearchRequest")))
        .examples_from_iter(
            examples()
                .map(|(name, value)| (name, ExampleBuilder::new().summary(name).value(Some(value)).build())),
        )
        .build();
    let body = RequestBodyBuilder::new()
        .description(Some(
            "A JSON object in UTF-8 of at most 64 KiB, each member once, nested at most 16 levels deep.",
        ))
        .required(Some(Required::True))
        .content("application/json", content)
        .build();
    (body, schemas)
}

fn examples() -> impl Iterator<Item = (&'static str, Value)> {
    [
        ("username", json!({"type": "username", "query": "octocat"})),
        ("email", json!({"type": "email", "query": "name+tag@example.com", "wait": true})),
        ("domain", json!({"type": "domain", "query": "example.com", "passive": true})),
    ]
    .into_iter()
}

fn schema_name(search_type: SearchType) -> &'static str {
    match search_type {
        SearchType::Domain => "DomainSearch",
        SearchType::Email => "EmailSearch",
        SearchType::Username => "UsernameSearch",
    }
}

/// A module to name, one to exclude, and a category: of the built-in catalogue, good together and with every switch.
fn example_choice(search_type: SearchType) -> [&'static str; 3] {
    match search_type {
        SearchType::Domain => ["crt_sh", "certspotter", "certificates"],
        SearchType::Email => ["gravatar_profile", "libravatar_avatar", "profile"],
        SearchType::Username => ["github", "gitlab", "coding"],
    }
}

fn of_type(search_type: SearchType) -> RefOr<Schema> {
    let [named, excluded, category] = example_choice(search_type);
    let kind = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("What is looked up."))
        .enum_values(Some([search_type.as_str()]));
    ObjectBuilder::new()
        .description(Some(format!("A search for {}.", search_type.allowed())))
        .property("type", kind)
        .property("query", query(search_type))
        .property("wait", flag("Answer with the results if the run ends within the longest wait (30 seconds, as configured: see capabilities), else with status `running`."))
        .property("stream", flag("Answer as a stream of events; takes precedence over `wait`."))
        .property("premium", flag(match search_type {
            SearchType::Username => "Ask solver-backed platforms too: 2 credits instead of 1.",
            _ => "Ignored: only username searches have solver-backed platforms.",
        }))
        .property("modules", names(1, "^[a-z0-9_.-]{1,64}$", named, "Ask only these modules, by id: see `GET /v1/modules`. All must be of this type and switched on; an adult one that is named is asked without `nsfw`."))
        .property("exclude_modules", names(0, "^[a-z0-9_.-]{1,64}$", excluded, "Do not ask these modules, by id; they may be of any type."))
        .property("categories", names(1, "^[a-z0-9_ -]{1,64}$", category, "Ask only modules of these categories. All must be known, and the choice must leave a module to ask."))
        .property("nsfw", flag("Ask adult sites too."))
        .property("passive", flag("Ask only modules that ask a third party: nothing reaches what is looked up, nor its name servers."))
        .required("type")
        .required("query")
        .into()
}

fn query(search_type: SearchType) -> ObjectBuilder {
    let text =
        ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(MAX_QUERY_BYTES));
    let text = match search_type {
        SearchType::Username => text
            .pattern(Some(USERNAME))
            .extensions(Some(not(json!({"pattern": ONLY_DOTS}))))
            .examples(["octocat", "@octocat"]),
        SearchType::Email => text
            .pattern(Some(EMAIL))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Email)))
            .extensions(Some(not(json!({"pattern": LONG_LOCAL_PART}))))
            .examples(["name+tag@example.com"]),
        SearchType::Domain => text
            .pattern(Some(DOMAIN))
            .format(Some(SchemaFormat::Custom("domain".into())))
            .examples(["example.com", "https://www.example.com/page"]),
    };
    let rule = match search_type {
        SearchType::Username => {
            "One leading `@` is dropped. Letters of any script are taken; signs that are no letters or digits are \
             refused, and so are combining marks without their letter."
        }
        SearchType::Email => {
            "At most 254 bytes in all; the domain may be an international one, and must have a registrable part \
             in the public suffix list."
        }
        SearchType::Domain => {
            "International names are taken too. The domain must have a registrable part in the public suffix list: \
             IP addresses, single labels and special-use names (`localhost`, `.local`, `.test`, `.onion`, …) are \
             refused."
        }
    };
    let allowed = search_type.allowed();
    text.description(Some(format!(
        "What is looked up: {allowed}. White space around it does not count. {rule} At most {MAX_QUERY_BYTES} bytes."
    )))
}

fn not(schema: Value) -> Extensions {
    [("not", schema)].into_iter().collect()
}

fn flag(text: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some(text))
        .default(Some(json!(false)))
        .examples([json!(true)])
}

fn names(at_least: usize, pattern: &str, example: &str, text: &str) -> ArrayBuilder {
    let name = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    ArrayBuilder::new()
        .description(Some(text))
        .items(name)
        .min_items(Some(at_least).filter(|least| *least > 0))
        .max_items(Some(MAX_NAMES))
        .examples([json!([example])])
}
