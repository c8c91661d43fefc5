//! A rule: conditions on an answer that must all hold.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use super::css::CssRule;
use super::json::JsonRule;
use crate::modules::answer::Answer;
use crate::modules::pattern::SearchRegex;
use crate::modules::template::{Pattern, Template, Values};
use crate::modules::text::{holds_name, squeeze};

/// The texts of `body_is` for a body without content. A template has braces twice.
const EMPTY_BODIES: [&str; 4] = ["", "null", "[]", "{{}}"];
/// The `<meta>` elements that name the owner of a page.
const METAS: [&str; 3] = ["og:title", "og:url", "profile:username"];

/// The kinds of conditions that a matcher has. They determine the confidence, and the part of the body that
/// is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConditionKinds {
    /// Whether the matcher holds only if JSON repeats the query.
    pub(crate) echo_in_json: bool,
    /// Whether the matcher holds only if the text, the page or the final address repeats the query.
    pub(crate) echo_in_text: bool,
    /// Whether the matcher requires something in JSON.
    pub(crate) json: bool,
    /// Whether the matcher requires something in the body or a header.
    pub(crate) marker: bool,
    /// Whether the matcher requires that something is absent from the body.
    pub(crate) absence: bool,
    /// Whether the matcher reads the body.
    pub(crate) reads_body: bool,
}

/// A rule whose conditions must all hold for the answer of one probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "an object")]
#[schemars(rename = "matcher", extend("minProperties" = 1, "errorMessage" = "it would match every answer; add at least a `status`"))]
pub struct Matcher {
    /// The index of the probe whose answer the rule reads; 0 is the first. Default: the last answer that was
    /// obtained. If a later probe could not be sent because a saved value was missing, only a `miss` rule or
    /// a rule with a `probe` can hold.
    pub probe: Option<usize>,
    /// Status codes (`200`) and classes (`"4xx"`), one of which must match.
    pub status: Vec<StatusRule>,
    /// A regex (a template for regexes) that is searched in the final URL, after redirects.
    #[schemars(length(min = 1))]
    pub final_url: Option<Pattern>,
    /// Header names, each with a regex that one of its values must match. `""` matches if the header is present.
    pub header: BTreeMap<String, SearchRegex>,
    /// Header names that must be absent.
    pub no_header: Vec<String>,
    /// Texts (templates) that must all be in the body.
    #[schemars(inner(length(min = 1)))]
    pub words: Vec<Template>,
    /// Texts (templates) of which at least one must be in the body.
    #[schemars(inner(length(min = 1)))]
    pub any_word: Vec<Template>,
    /// Texts (templates) that must not be in the body.
    #[schemars(inner(length(min = 1)))]
    pub no_word: Vec<Template>,
    /// Texts (templates) that must all be in the visible text of the page, with runs of white space made one
    /// space. The title, scripts, styles, templates and hidden elements are not visible text.
    #[schemars(inner(regex(pattern = r"\S")))]
    pub text: Vec<Template>,
    /// A text (template) that must be in the page's title, with runs of white space made one space.
    #[schemars(regex(pattern = r"\S"))]
    pub title: Option<Template>,
    /// The whole title of the page (a template), with runs of white space made one space.
    #[schemars(regex(pattern = r"\S"))]
    pub title_is: Option<Template>,
    /// Whether `words`, `any_word`, `no_word`, `body_is`, `text`, `title` and `title_is` ignore ASCII and Unicode case.
    pub ignore_case: bool,
    /// The text (a template) that the whole trimmed body must equal. `""` matches an empty body.
    pub body_is: Option<Template>,
    /// A regex (a template for regexes) that is searched in the body. It runs in linear time and in multi-line mode.
    #[schemars(length(min = 1))]
    pub regex: Option<Pattern>,
    /// Whether the head of the page must show the query as a whole word, in any case: in the title, the
    /// canonical address, `og:title`, `og:url` or `profile:username`.
    pub shows_query: bool,
    /// Conditions on the body as JSON. None of them holds for a body that is not JSON.
    pub json: Vec<JsonRule>,
    /// Conditions on the body as HTML.
    pub css: Vec<CssRule>,
}

/// A status code (`200`) or a class of status codes (`"2xx"`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "write a status from 100 to 599, or one of 1xx, 2xx, 3xx, 4xx, 5xx")]
#[schemars(inline)]
pub enum StatusRule {
    /// One status code, 100 to 599.
    Code(
        #[schemars(
            range(min = 100, max = 599),
            extend("errorMessage" = "expected 100 to 599 and \"1xx\" to \"5xx\"")
        )]
        u16,
    ),
    /// A class of status codes: `"1xx"` to `"5xx"`.
    Class(StatusClass),
}

impl StatusRule {
    /// Returns the first and the last status code that match.
    pub(crate) fn range(self) -> (u16, u16) {
        match self {
            Self::Code(code) => (code, code),
            Self::Class(class) => {
                let from = 100 * (class as u16 + 1);
                (from, from + 99)
            }
        }
    }
}

impl fmt::Display for StatusRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "{code}"),
            Self::Class(_) => write!(f, "{}xx", self.range().0 / 100),
        }
    }
}

/// A class of status codes, named as in RFC 9110, section 15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the names are those of the RFC")]
pub enum StatusClass {
    #[serde(rename = "1xx")]
    Informational,
    #[serde(rename = "2xx")]
    Success,
    #[serde(rename = "3xx")]
    Redirection,
    #[serde(rename = "4xx")]
    ClientError,
    #[serde(rename = "5xx")]
    ServerError,
}

impl Matcher {
    /// Returns whether every condition holds. On a body that was cut off, conditions on the whole body (that
    /// something is absent, or that the body equals a text) do not hold, since the rest of it is unknown.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        self.head_holds(answer, values)
            && self.text_holds(answer, values)
            && (self.json.is_empty()
                || answer.json().is_some_and(|root| self.json.iter().all(|rule| rule.holds(root, values))))
            && (!self.shows_query || shows_name(answer, values.name))
            && self.css.iter().all(|rule| rule.holds(answer, values))
    }

    fn head_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let response = answer.response;
        let headers = |name: &str| {
            let name = name.to_ascii_lowercase();
            response.headers.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value)
        };
        let is_status = |rule: &StatusRule| (rule.range().0..=rule.range().1).contains(&response.status);
        (self.status.is_empty() || self.status.iter().any(is_status))
            && self.final_url.as_ref().is_none_or(|it| it.is_found(response.final_url.as_str(), values))
            && self.header.iter().all(|(name, regex)| {
                headers(name).any(|value| regex.is_empty() || regex.is_found(value, values.searches))
            })
            && self.no_header.iter().all(|name| headers(name).next().is_none())
    }

    fn text_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let body = || if self.ignore_case { answer.lower() } else { answer.text() };
        let fits = |text: &str, wanted: &Template, fits: fn(&str, &str) -> bool| {
            wanted.fill(values).is_ok_and(|wanted| fits(text, &self.cased(&wanted)))
        };
        let in_body = |word: &Template| fits(body(), word, |body, word| body.contains(word));
        let is_shown =
            |shown: &str, wanted| fits(shown, wanted, |shown, text| shown.contains(&squeeze(text)));
        // A title that was cut off does not meet any condition.
        let title_holds = |title: &str| {
            let title = self.cased(title);
            self.title.as_ref().is_none_or(|wanted| is_shown(&title, wanted))
                && self
                    .title_is
                    .as_ref()
                    .is_none_or(|it| fits(&title, it, |title, text| title == squeeze(text)))
        };
        self.words.iter().all(in_body)
            && (self.any_word.is_empty() || self.any_word.iter().any(in_body))
            && (self.no_word.is_empty() || !answer.is_cut() && !self.no_word.iter().any(in_body))
            && self.body_is.as_ref().is_none_or(|wanted| {
                !answer.is_cut() && fits(body(), wanted, |body, wanted| body.trim() == wanted.trim())
            })
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_found_in(answer.text(), answer.is_cut(), values))
            && (self.text.is_empty() || {
                let visible = self.cased(answer.visible_text());
                self.text.iter().all(|text| is_shown(&visible, text))
            })
            && (self.title.is_none() && self.title_is.is_none() || answer.title().is_some_and(title_holds))
    }

    fn cased<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.ignore_case { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) }
    }

    /// Returns whether the matcher tests the address after redirects or the target of a redirect.
    pub(crate) fn judges_redirects(&self) -> bool {
        self.final_url.is_some() || self.header.keys().any(|name| name.eq_ignore_ascii_case("location"))
    }

    /// Returns whether the matcher requires that the page shows the query as a name.
    pub(crate) fn proves_name(&self) -> bool {
        self.json.iter().any(JsonRule::echoes_query) || self.css.iter().any(|css| css.proves_name())
    }

    /// Returns whether the matcher may hold on a response without a body, since it tests for an empty body
    /// or tests the head.
    pub(crate) fn allows_empty_body(&self) -> bool {
        self.body_is.is_some() || !self.header.is_empty() || self.final_url.is_some()
    }

    /// Returns whether the matcher requires no content: it tests only the status, the headers or the address, or
    /// requires that something is absent from the body or empty. An error that a site has for every name fulfils it,
    /// too.
    pub(crate) fn is_bare(&self) -> bool {
        let is_body_empty = |body: &Template| EMPTY_BODIES.contains(&body.trim());
        !self.requires_text()
            && self.body_is.as_ref().is_none_or(is_body_empty)
            && self.json.iter().all(JsonRule::is_bare)
            && !self.css.iter().any(|css| css.exists)
    }

    /// Returns whether the matcher holds only on JSON.
    pub(crate) fn reads_json(&self) -> bool {
        !self.json.is_empty()
    }

    /// Returns whether the matcher has no condition.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self { probe: self.probe, ignore_case: self.ignore_case, ..Self::default() }
    }

    /// Returns whether something must be in the text of the body or in the page, apart from elements.
    fn requires_text(&self) -> bool {
        !self.words.is_empty()
            || !self.any_word.is_empty()
            || self.regex.is_some()
            || !self.text.is_empty()
            || self.title.is_some()
            || self.title_is.is_some()
            || self.shows_query
    }

    pub(crate) fn condition_kinds(&self) -> ConditionKinds {
        let shows = |template: &Template| template.shows_query();
        let patterns = self.regex.iter().chain(&self.final_url).map(Pattern::template);
        let templates = self.words.iter().chain(&self.text).chain(&self.title).chain(&self.title_is);
        let echo_in_text = templates.chain(&self.body_is).chain(patterns).any(shows)
            || (!self.any_word.is_empty() && self.any_word.iter().all(shows))
            || self.shows_query
            || self.css.iter().any(|css| css.echoes_query());
        let requires_text = self.requires_text() || self.body_is.is_some();
        ConditionKinds {
            echo_in_json: self.json.iter().any(JsonRule::echoes_query),
            echo_in_text,
            json: self.json.iter().any(JsonRule::is_positive),
            marker: requires_text || self.css.iter().any(|css| css.exists) || !self.header.is_empty(),
            absence: !self.no_word.is_empty()
                || self.css.iter().any(|css| !css.exists)
                || self.json.iter().any(|rule| !rule.is_positive()),
            reads_body: requires_text
                || !self.no_word.is_empty()
                || !self.json.is_empty()
                || !self.css.is_empty(),
        }
    }

    /// Returns the conditions without the compared values, for the evidence of a result.
    pub(crate) fn label(&self) -> String {
        let codes: Vec<String> = self.status.iter().map(ToString::to_string).collect();
        let status = (!codes.is_empty()).then(|| format!("status {}", codes.join("/")));
        let mut words: Vec<String> = status.into_iter().collect();
        words.extend(self.header.keys().map(|name| format!("header {}", name.to_ascii_lowercase())));
        words.extend(self.no_header.iter().map(|name| format!("no header {}", name.to_ascii_lowercase())));
        let named = [
            ("final_url", self.final_url.is_some()),
            ("words", !self.words.is_empty()),
            ("any_word", !self.any_word.is_empty()),
            ("no_word", !self.no_word.is_empty()),
            ("text", !self.text.is_empty()),
            ("title", self.title.is_some()),
            ("title_is", self.title_is.is_some()),
            ("body_is", self.body_is.is_some()),
            ("regex", self.regex.is_some()),
            ("shows_query", self.shows_query),
        ];
        words.extend(named.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| (*name).to_owned()));
        words.extend(self.json.iter().map(|rule| format!("json {}", rule.label())));
        words.extend(self.css.iter().map(|rule| format!("css {}", rule.label())));
        words.join(", ")
    }
}

/// Returns whether the head of the page shows the name as a whole word. If the page was cut off, its title is
/// ignored, since its last word may be incomplete.
fn shows_name(answer: &Answer<'_>, name: &str) -> bool {
    let page = answer.page();
    let title = answer.title().filter(|_| !answer.is_cut());
    let metas = METAS.iter().flat_map(|meta| page.metas(meta));
    let shows = |text: &str| {
        let mut decoded = form_urlencoded::parse(text.as_bytes());
        holds_name(text, name) || decoded.any(|(one, two)| holds_name(&one, name) || holds_name(&two, name))
    };
    page.canonical().into_iter().chain(metas).chain(title).any(shows)
}
