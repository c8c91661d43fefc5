//! Signed bundles of entries, with which operators update the catalogue of running servers.
//!
//! A bundle is one JSON document:
//!
//! ```text
//! {
//! "signed": {
//!   "format": "sightline-catalog-bundle-1",
//!   "serial": 20260506070809,
//!   "created_at": "2026-05-06T07:08:09Z",
//!   "entries": […]
//! },
//! "key": "…",
//! "signature": "…"
//! }
//! ```
//!
//! The signature is that of exactly the bytes of the value of `signed`, from `{` to `}`. `key` is the public key that
//! checks it. Equal entries, serials, times and keys give equal bytes.

use std::ops::Range;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{CatalogError, Fault};
use super::format;
use super::place::offset;
use super::source::MAX_FILE_BYTES;
use crate::base::signature::{PublicKey, SigningKey};
use crate::modules::definition::Entry;

const FORMAT: &str = "sightline-catalog-bundle-1";
/// The greatest serial. JSON numbers above it are not exact in every program.
pub const MAX_SERIAL: u64 = (1 << 53) - 1;

/// A bundle with a trusted signature. Its entries are not checked yet.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The serial. A bundle replaces only bundles with a smaller one.
    pub serial: u64,
    /// The time at which the bundle was made, in whole seconds.
    pub created_at: Timestamp,
    name: String,
    text: String,
    entries: Range<usize>,
}

/// The stored bundle, as the catalogue of a server was loaded with it or without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleReport {
    /// The serial of the bundle.
    pub serial: u64,
    /// The time at which the bundle was made.
    pub created_at: Timestamp,
    /// The reason why the bundle is not used. `None` if it is used.
    pub refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'t> {
    #[serde(borrow)]
    signed: &'t RawValue,
    key: String,
    signature: String,
}

/// The only field that a later format must have.
#[derive(Deserialize)]
struct Format {
    format: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed<'t> {
    #[serde(rename = "format")]
    _format: String,
    serial: u64,
    created_at: Timestamp,
    #[serde(borrow)]
    entries: &'t RawValue,
}

impl Bundle {
    /// Returns the text of a signed bundle. `created_at` is cut to whole seconds.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be written as JSON. This does not happen with entries of this program.
    pub fn write(
        entries: Vec<Entry>,
        serial: u64,
        created_at: Timestamp,
        key: &SigningKey,
    ) -> Result<String, serde_json::Error> {
        let entries = format::write(entries)?;
        let signed = format!(
            "{{\n  \"format\": \"{FORMAT}\",\n  \"serial\": {serial},\n  \"created_at\": \"{}\",\n  \"entries\": {}\n}}",
            created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            entries.trim_end()
        );
        let (public, signature) = (key.public_key(), key.sign(signed.as_bytes()));
        Ok(format!("{{\n\"signed\": {signed},\n\"key\": \"{public}\",\n\"signature\": \"{signature}\"\n}}\n"))
    }

    /// Checks the signature and the form of a bundle. `name` is used as the file's name in error messages, and `trusted`
    /// are the keys of which one must have signed it. The entries are checked when they are loaded.
    ///
    /// # Errors
    /// Returns the first mistake.
    pub fn open(name: &str, text: String, trusted: &[PublicKey]) -> Result<Self, CatalogError> {
        let fault = |message: String| CatalogError::from(Fault::of_file(name, message));
        let signed = signed(&text, trusted).map_err(fault)?;
        let start = offset(&text, signed.entries.get());
        Ok(Self {
            serial: signed.serial,
            created_at: signed.created_at,
            name: name.to_owned(),
            entries: start..start + signed.entries.get().len(),
            text,
        })
    }

    /// Returns the whole text of the bundle.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name of the bundle's file in error messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text of the array of entries, and the line of its first character, counted from 1.
    pub(super) fn entries(&self) -> (&str, usize) {
        let before = &self.text.as_bytes()[..self.entries.start];
        (&self.text[self.entries.clone()], 1 + memchr::memchr_iter(b'\n', before).count())
    }
}

fn signed<'t>(text: &'t str, trusted: &[PublicKey]) -> Result<Signed<'t>, String> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes, which is the most that is read"));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        format!("not a complete catalogue bundle, as `sightline catalog bundle` makes it: {error}")
    })?;
    check_signature(&envelope, trusted)?;
    let signed = envelope.signed.get();
    let Format { format } = serde_json::from_str(signed).map_err(|error| format!("signed: {error}"))?;
    if format != FORMAT {
        let format: String = format.chars().take(64).collect();
        return Err(format!(
            "signed.format: unknown format {format:?}: {FORMAT} is allowed; a newer version of this program may know it"
        ));
    }
    let signed: Signed<'_> = serde_json::from_str(signed).map_err(|error| format!("signed: {error}"))?;
    if !(1..=MAX_SERIAL).contains(&signed.serial) {
        return Err(format!("signed.serial: a whole number from 1 to {MAX_SERIAL} is allowed"));
    }
    if !signed.entries.get().starts_with('[') {
        return Err("signed.entries: an array of entries is allowed".to_owned());
    }
    Ok(signed)
}

fn check_signature(envelope: &Envelope<'_>, trusted: &[PublicKey]) -> Result<(), String> {
    let Some(key) = trusted.iter().find(|key| key.to_string() == envelope.key) else {
        let known: Vec<String> = trusted.iter().map(ToString::to_string).collect();
        let allowed = match known.is_empty() {
            true => "no --catalog-key is given".to_owned(),
            false => format!("--catalog-key allows only {}", known.join(", ")),
        };
        let key: String = envelope.key.chars().take(64).collect();
        return Err(format!("signed with the key {key:?}, which is not trusted: {allowed}"));
    };
    if !key.verifies(envelope.signed.get().as_bytes(), &envelope.signature) {
        return Err(format!(
            "the signature does not fit the key {key}: the bundle was changed after it was signed, or was signed with \
             another key"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn key() -> SigningKey {
        SigningKey::from_pem(SigningKey::generate().expose()).unwrap()
    }

    fn entry(id: &str) -> Entry {
        let entry = json!({
            "id": id, "platform": id, "type": "username", "category": "test",
            "probes": [{"url": "https://site.example/{query}"}], "hit": [{"status": [200]}],
        });
        serde_json::from_value(entry).unwrap()
    }

    fn text(key: &SigningKey) -> String {
        let at = "2026-05-06T07:08:09.5Z".parse().unwrap();
        Bundle::write(vec![entry("b"), entry("a")], 7, at, key).unwrap()
    }

    fn signed_by(key: &SigningKey, signed: &str) -> String {
        let (public, signature) = (key.public_key(), key.sign(signed.as_bytes()));
        format!("{{\"signed\": {signed}, \"key\": \"{public}\", \"signature\": \"{signature}\"}}")
    }

    fn refused(text: &str, trusted: &[PublicKey]) -> String {
        Bundle::open("FILE", text.to_owned(), trusted).unwrap_err().to_string()
    }

    #[test]
    fn a_bundle_is_read_as_it_was_made() {
        let key = key();
        let text = text(&key);
        let bundle = Bundle::open("FILE", text.clone(), &[key.public_key()]).unwrap();
        assert_eq!((bundle.serial, bundle.created_at.to_string().as_str()), (7, "2026-05-06T07:08:09Z"));
        assert_eq!(bundle.text(), text);
        let (entries, first_line) = bundle.entries();
        assert_eq!(entries, format::write(vec![entry("a"), entry("b")]).unwrap().trim_end());
        assert!(text.lines().nth(first_line - 1).unwrap().ends_with("\"entries\": ["), "{first_line}");
    }

    #[test]
    fn a_bundle_of_another_key_or_form_is_refused_with_what_is_allowed() {
        let (key, other) = (key(), key());
        let (trusted, good) = ([key.public_key()], text(&key));
        let by_other = text(&other).replace(&other.public_key().to_string(), &key.public_key().to_string());
        let whole = |change: &str| {
            let signed = json!({
                "format": FORMAT, "serial": 1, "created_at": "2026-05-06T07:08:09Z", "entries": [],
            });
            let mut signed = signed.as_object().unwrap().clone();
            let change: serde_json::Map<_, _> = serde_json::from_str(change).unwrap();
            signed.extend(change);
            signed_by(&key, &serde_json::to_string(&signed).unwrap())
        };
        for (text, want) in [
            (text(&other), "FILE: signed with the key"),
            (by_other, "the signature does not fit"),
            (good[..good.len() / 2].to_owned(), "not a complete catalogue bundle"),
            ("[]".to_owned(), "not a complete catalogue bundle"),
            (good.replace("\"key\"", "\"more\": 1, \"key\""), "unknown field `more`"),
            (whole(r#"{"format": "sightline-catalog-bundle-2"}"#), "signed.format: unknown format"),
            (whole(r#"{"serial": 0}"#), "signed.serial: a whole number from 1"),
            (whole(r#"{"serial": 9007199254740992}"#), "signed.serial: a whole number from 1"),
            (whole(r#"{"created_at": "yesterday"}"#), "signed: "),
            (whole(r#"{"entries": {}}"#), "signed.entries: an array"),
            (whole(r#"{"more": 1}"#), "unknown field `more`"),
            (" ".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1), "it has more than 16777216 bytes"),
        ] {
            let error = refused(&text, &trusted);
            assert!(error.contains(want), "{want}: {error}");
        }
        assert!(refused(&good, &[]).ends_with("no --catalog-key is given"));
        assert!(refused(&text(&other), &trusted).ends_with(&key.public_key().to_string()));
        Bundle::open("FILE", good, &[other.public_key(), key.public_key()]).unwrap();
    }

    proptest! {
        #[test]
        fn no_change_of_the_signed_bytes_is_accepted(at in any::<prop::sample::Index>(), byte in 0x20u8..0x7f) {
            let key = key();
            let good = text(&key);
            let mut bytes = good.clone().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let changed = String::from_utf8(bytes).unwrap();
            // Blanks between the parts are not signed.
            if let Ok(bundle) = Bundle::open("FILE", changed, &[key.public_key()]) {
                let was = Bundle::open("FILE", good, &[key.public_key()]).unwrap();
                prop_assert_eq!(bundle.entries(), was.entries());
                prop_assert_eq!((bundle.serial, bundle.created_at), (was.serial, was.created_at));
            }
        }

        #[test]
        fn any_signed_text_is_read_or_refused(signed in "[{}\\[\\]\":, a-z0-9]{0,60}") {
            let key = key();
            let _ = Bundle::open("FILE", signed_by(&key, &signed), &[key.public_key()]);
        }
    }
}
