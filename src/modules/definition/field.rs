//! The names of metadata that mean the same in all modules, with the types of their values.
//!
//! To add a name: a line in `catalog/tables/metadata.json`, then the command in `tests/manual/fields.rs`, which writes
//! the manual's table.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::base::words::words;
use crate::modules::tables;

words! {
    /// The type of a metadata value, or of each element of a list. The words are those of the manual.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FieldType {
        /// One text.
        Text = "text",
        /// An identifier: a text or a number, as the site writes it.
        Id = "text or number",
        /// The name of an account, without a leading `@`, or the address of the account.
        Handle = "name or URL",
        /// An email address in its normal form.
        Email = "email address",
        /// An MD5 or SHA-256 digest in lower-case hex.
        Digest = "hex",
        /// An absolute `http` or `https` address.
        Url = "URL",
        /// A time or a day as in RFC 3339.
        Date = "date",
        /// A whole number that is not negative.
        Count = "count",
        /// A number.
        Number = "number",
        /// `true` or `false`.
        Flag = "boolean",
    }
}

/// A name of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The type of the value, or of each element.
    #[serde(rename = "type")]
    pub field_type: FieldType,
    /// Whether the value is always a list.
    #[serde(default, rename = "list")]
    pub is_list: bool,
    /// The meaning, in the words of the manual.
    pub meaning: &'static str,
}

/// The names of metadata of accounts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub struct Metadata {
    /// The services whose name is a name of metadata. The value is the person's account there.
    pub services: Vec<&'static str>,
    /// The other names, by subject.
    pub fields: Vec<Field>,
}

/// The names of metadata of accounts, with the types of their values.
pub static METADATA: LazyLock<Metadata> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/metadata.json")));

/// Returns the type of the values of a name, and whether they are lists. Returns `None` for a name whose values can be
/// anything.
///
/// Besides the names of [`METADATA`], a name that ends in `_at` is a date, and one that ends in `_url` is an address.
pub fn field_type(name: &str) -> Option<(FieldType, bool)> {
    if let Some(field) = METADATA.fields.iter().find(|field| field.name == name) {
        return Some((field.field_type, field.is_list));
    }
    if METADATA.services.contains(&name) {
        return Some((FieldType::Handle, false));
    }
    if name.ends_with("_at") {
        return Some((FieldType::Date, false));
    }
    name.ends_with("_url").then_some((FieldType::Url, false))
}
