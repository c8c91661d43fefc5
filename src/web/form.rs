//! [`Form`]: the fields of a form, or the parameters of an address.

use std::fmt;

use crate::base::encoding::hex;
use crate::base::secret::random;
use crate::http::Request;
use crate::model::refusal::Refusal;

/// The prefix of a form's token as an idempotency key, so that it never equals a key that a program of the account uses.
const ONCE_PREFIX: &str = "web-form:";

/// The fields of a form, or the parameters of an address. Templates read them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Parses `application/x-www-form-urlencoded`.
    pub fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// Reads the form that was sent with a request, or the parameters of the address of a page.
    pub(super) fn of(request: &Request) -> Self {
        let kind = request.header("content-type").unwrap_or("").to_ascii_lowercase();
        match request.method.as_str() {
            "POST" if kind.starts_with("application/x-www-form-urlencoded") => Self::parse(&request.body),
            "POST" => Self::default(),
            _ => Self::parse(request.query.as_bytes()),
        }
    }

    /// Returns the fields, except the token of the session.
    pub(super) fn fields(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().filter(|(name, _)| name != "csrf")
    }

    /// Returns the first value of a field, empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns all values of a field.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether a field has this value. A check box that is checked has the value `yes`.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|given| given == value)
    }

    /// Returns the number of a field that may be empty.
    ///
    /// # Errors
    /// Returns the refusal of anything else than a whole number from 1 to `most`.
    pub(super) fn number(&self, name: &str, most: u8) -> Result<Option<u8>, Refusal> {
        let text = self.get(name).trim();
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        if number.is_some() || text.is_empty() {
            return Ok(number);
        }
        let allowed = format!("a whole number from 1 to {most}");
        Err(Refusal::invalid_request(name, format!("{name} must be {allowed}"), allowed))
    }

    /// Sets the only value of a field.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(key, _)| key != name);
        self.add(name, value);
    }

    /// Adds a value to a field.
    pub fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the form's token as an idempotency key, or `None` if this app has not created it.
    pub(super) fn once(&self) -> Option<String> {
        let once = self.get("once");
        let is_ours = once.len() == 32 && once.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| format!("{ONCE_PREFIX}{once}"))
    }

    /// Returns the fields with this one instead.
    #[must_use]
    pub(super) fn with(&self, name: &str, value: impl fmt::Display) -> Self {
        let mut form = self.clone();
        form.set(name, &value.to_string());
        form
    }

    /// Returns the address parameters of the fields that are not empty: empty, or starting with a question mark.
    pub(super) fn query(&self) -> String {
        let pairs = self.fields().filter(|(_, value)| !value.is_empty());
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }
}

/// Returns a token of a form that does its work only once, even if it is sent several times.
pub(super) fn new_once() -> String {
    hex(&random::<16>())
}
