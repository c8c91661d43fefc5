//! The schemas for the body of a search: one for each type, since the rules for queries differ.
//!
//! [`decode`](super::decode) refuses everything that a schema refuses. It also refuses some bodies that a
//! schema accepts, if a schema cannot express the rule: public suffixes of domains, letters outside ASCII,
//! the ids of modules. The tests compare both.

use std::borrow::Cow;

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{
    ArrayBuilder, Discriminator, KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::batch_body::BatchSearchBody;
use super::decode::SearchBody;
use super::follow_body;
use crate::model::run::TimeBudget;
use crate::modules::catalog::MAX_NAMES;
use crate::modules::query::{MAX_QUERY_BYTES, SearchType};

/// White space as the program trims it (Unicode's `White_Space`). Readers of patterns differ on the meaning
/// of `\s`.
macro_rules! space {
    () => {
        r"[\x09-\x0d\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
    };
}

/// Punctuation of usernames, and all characters outside ASCII: not every reader of a pattern can tell
/// punctuation of other scripts from letters.
macro_rules! name_sign {
    () => {
        r"[^\x00-\x2a\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7d\x7f]"
    };
}

/// Punctuation of host names, and all characters outside ASCII.
macro_rules! host_sign {
    () => {
        r"[^\x00-\x2c\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"
    };
}

/// A host name of ASCII characters with its length limit, or one with other characters.
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

/// A username of ASCII characters with its length limit, or one with other characters.
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
/// Names of dots only. In the path of an address they would name another page.
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

impl ToSchema for SearchBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("SearchRequest")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(SearchType::ALL.map(|of| (schema_name(of).to_owned(), of_type(of).into())));
    }
}

impl PartialSchema for SearchBody {
    fn schema() -> RefOr<Schema> {
        any_type(schema_name)
    }
}

impl ToSchema for BatchSearchBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("BatchSearchRequest")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        SearchBody::schemas(schemas);
        let variants = flag(
            "Search the best ten variants of the username: the username itself and nine others. The others follow the \
             last search of the list. All of them count towards the 1,000 searches.",
        );
        let search = of_type(SearchType::Username).property("variants", variants);
        schemas.push((USERNAME_OF_BATCH.to_owned(), search.into()));
    }
}

impl PartialSchema for BatchSearchBody {
    fn schema() -> RefOr<Schema> {
        any_type(|search_type| match search_type {
            SearchType::Username => USERNAME_OF_BATCH,
            other => schema_name(other),
        })
    }
}

/// The name of the schema of a username search in a batch.
const USERNAME_OF_BATCH: &str = "BatchUsernameSearch";

/// Returns the schema of a search of any type. `name` returns the name of the schema for a type.
fn any_type(name: impl Fn(SearchType) -> &'static str) -> RefOr<Schema> {
    let mut any = OneOfBuilder::new().description(Some(
        "The query and the options of the search. Unknown members are ignored; an optional one that is null counts as \
         not given.",
    ));
    let mut mapping = Vec::new();
    for search_type in SearchType::ALL {
        let reference = Ref::from_schema_name(name(search_type));
        mapping.push((search_type.as_str(), reference.ref_location.clone()));
        any = any.item(reference);
    }
    any.discriminator(Some(Discriminator::with_mapping("type", mapping))).into()
}

fn schema_name(search_type: SearchType) -> &'static str {
    match search_type {
        SearchType::Domain => "DomainSearch",
        SearchType::Email => "EmailSearch",
        SearchType::Username => "UsernameSearch",
    }
}

/// Returns a module to select, one to exclude, and a category for the examples. All are in the built-in
/// catalogue and can be combined with every option.
fn example_choice(search_type: SearchType) -> [&'static str; 3] {
    match search_type {
        SearchType::Domain => ["crt_sh", "certspotter", "certificates"],
        SearchType::Email => ["gravatar_profile", "libravatar_avatar", "profile"],
        SearchType::Username => ["github", "gitlab", "coding"],
    }
}

fn of_type(search_type: SearchType) -> ObjectBuilder {
    choice_of_type(search_type)
        .description(Some(format!("A search for {}.", search_type.allowed())))
        .property("wait", flag("Answer with the results if the run ends within the longest wait (30 seconds, as configured: see capabilities), else with status `running`."))
        .property("stream", flag("Answer with a stream of events; takes precedence over `wait`."))
        .property("follow", follow_body::follow_schema())
        .property("purpose", follow_body::purpose_schema())
}

/// Returns the schema of a search for one type of query: the query, the choice of modules and the options of the run.
pub(super) fn choice_of_type(search_type: SearchType) -> ObjectBuilder {
    let [named, excluded, category] = example_choice(search_type);
    let kind = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("Type of the query."))
        .enum_values(Some([search_type.as_str()]));
    ObjectBuilder::new()
        .property("type", kind)
        .property("query", query(search_type))
        .property("premium", flag(match search_type {
            SearchType::Username => "Also ask modules that need a browser: 2 credits instead of 1.",
            _ => "Ignored: only username searches have modules that need a browser.",
        }))
        .property("modules", names(1, "^[a-z0-9_.-]{1,64}$", named, "Ask only these modules, by id: see `GET /v1/modules`. All must be of this type and enabled; an adult one that is named is asked without `nsfw`."))
        .property("exclude_modules", names(0, "^[a-z0-9_.-]{1,64}$", excluded, "Do not ask these modules, by id; they may be of any type."))
        .property("categories", names(1, "^[a-z0-9_ -]{1,64}$", category, "Ask only modules of these categories. All must be known, and at least one module must remain."))
        .property("nsfw", flag("Also ask adult sites."))
        .property("passive", flag("Ask only third parties, so that no request reaches the searched domain or its name servers."))
        .property("patient", flag("Give every check the configured deadline (10 seconds, as configured), even if a shorter one was learnt from the module's earlier answers."))
        .property("time_budget", time_budget())
        .property("avatars", flag("Fetch the profile pictures of the accounts that are found, at most 100. Results then get `metadata.avatar`: see `GET /v1/searches/{run_id}/thumbnails/{result_id}`. Ignored with `passive`."))
        .required("type")
        .required("query")
}

fn time_budget() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
        .description(Some("Seconds after which the search ends with the answers that it has, from its start and without its time in the queue. Modules without an answer then end as `timeout` with the reason `time_budget`."))
        .minimum(Some(1))
        .maximum(Some(TimeBudget::MAX_SECS))
        .examples([json!(20)])
}

/// Returns the schema of a query of that type.
pub(super) fn query(search_type: SearchType) -> ObjectBuilder {
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
            "One leading `@` is dropped. Letters of any script are allowed; signs that are not letters or digits are \
             refused, and so are combining marks without their letter."
        }
        SearchType::Email => {
            "At most 254 bytes in all; the domain may be an international one, and must have a registrable part \
             in the public suffix list."
        }
        SearchType::Domain => {
            "International names are allowed. The domain must have a registrable part in the public suffix list: \
             IP addresses, single labels and special-use names (`localhost`, `.local`, `.test`, `.onion`, …) are \
             refused."
        }
    };
    let allowed = search_type.allowed();
    text.description(Some(format!(
        "The query: {allowed}. White space around it is ignored. {rule} At most {MAX_QUERY_BYTES} bytes."
    )))
}

fn not(schema: Value) -> Extensions {
    [("not", schema)].into_iter().collect()
}

/// Returns the schema of a member that is false if it is not given. It states no `default`, since generators of clients
/// make a member with one required.
fn flag(text: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Boolean, Type::Null]))
        .description(Some(text))
        .examples([json!(true)])
}

fn names(at_least: usize, pattern: &str, example: &str, text: &str) -> ArrayBuilder {
    let name = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some(text))
        .items(name)
        .min_items(Some(at_least).filter(|least| *least > 0))
        .max_items(Some(MAX_NAMES))
        .examples([json!([example])])
}
