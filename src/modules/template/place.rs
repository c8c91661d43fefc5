//! The places where a value can be in a template, and the errors of filling a template.

/// The syntax of a template's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Url,
    Header,
    /// Text inside a JSON string that the template writes itself.
    Json,
    /// A form-encoded body that the template writes itself.
    Form,
    Xml,
    Regex,
    /// Text that is not escaped. The user of the text escapes it as a whole.
    Plain,
}

/// The place of a value in a template, which determines how it is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A complete address at the start of a URL.
    Address,
    Host,
    Path,
    UrlQuery,
    Header,
    Json,
    Form,
    Xml,
    Regex,
    Plain,
}

/// The error for a template that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FillError {
    /// The query has no such part. For example, a username has no domain.
    NoPart,
    /// The operator has not set a key of this name.
    NoKey(String),
    /// The operator has not set a key of this name, but it is optional. The part that contains it is
    /// omitted.
    LeftOut,
    /// No earlier response gave a value of this name.
    NotSaved(String),
    /// The value is not valid in its place, such as a path segment `..` or a line break in a header.
    Unfit,
}
