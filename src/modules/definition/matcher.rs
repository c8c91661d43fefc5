//! A rule: conditions on an answer that must all hold.

use std::borrow::Cow;
use std::collections::BTreeMap;

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

/// What a condition rests on. It determines the confidence, and the part of the body that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Basis {
    /// A status or an address, or that a header is absent.
    Head,
    /// A header.
    Header,
    /// Something in the text of the body or in the page.
    Marker,
    /// A value in JSON.
    Json,
    /// That something is absent from the body.
    Absence,
}

/// A condition of a matcher.
pub(crate) struct Condition {
    /// The condition without the compared values, for the evidence of a result.
    label: String,
    pub(crate) basis: Basis,
    /// Whether it holds only if the answer repeats the query.
    pub(crate) echoes_query: bool,
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
    /// Whether `words`, `any_word`, `no_word`, `body_is` and `text` ignore ASCII and Unicode case.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    Class(
        #[schemars(
            regex(pattern = "^[1-5]xx$"),
            extend("errorMessage" = "write a status from 100 to 599, or one of 1xx, 2xx, 3xx, 4xx, 5xx")
        )]
        String,
    ),
}

impl StatusRule {
    /// Returns whether a status matches.
    pub(crate) fn matches(&self, status: u16) -> bool {
        match self {
            Self::Code(code) => *code == status,
            Self::Class(class) => {
                class.strip_suffix("xx").is_some_and(|digit| digit.parse() == Ok(status / 100))
            }
        }
    }

    /// Returns the code or the class, for the evidence of a result.
    fn label(&self) -> String {
        match self {
            Self::Code(code) => code.to_string(),
            Self::Class(class) => class.clone(),
        }
    }
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
        (self.status.is_empty() || self.status.iter().any(|rule| rule.matches(response.status)))
            && self.final_url.as_ref().is_none_or(|it| it.is_found(response.final_url.as_str(), values))
            && self.header.iter().all(|(name, regex)| {
                let mut found = response.headers_of(name);
                found.any(|value| regex.is_empty() || regex.is_found(value, values.searches))
            })
            && self.no_header.iter().all(|name| response.header(name).is_none())
    }

    fn text_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let body = || if self.ignore_case { answer.lower() } else { answer.text() };
        let fits = |text: &str, wanted: &Template, fits: fn(&str, &str) -> bool| {
            wanted.fill(values).is_ok_and(|wanted| fits(text, &self.cased(&wanted)))
        };
        let in_body = |word: &Template| fits(body(), word, |body, word| body.contains(word));
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
                let is_shown = |text| fits(&visible, text, |shown, text| shown.contains(&squeeze(text)));
                self.text.iter().all(is_shown)
            })
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

    /// Returns the conditions, in the order in which the evidence of a result lists them.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let shows = Template::shows_query;
        let pattern_shows = |pattern: &Pattern| pattern.template.shows_query();
        let codes: Vec<String> = self.status.iter().map(StatusRule::label).collect();
        let status = (!codes.is_empty()).then(|| (format!("status {}", codes.join("/")), Basis::Head, false));
        let header = |name: &String| (format!("header {}", name.to_ascii_lowercase()), Basis::Header, false);
        let absent = |name: &String| (format!("no header {}", name.to_ascii_lowercase()), Basis::Head, false);
        let named = [
            ("final_url", self.final_url.is_some(), Basis::Head, self.final_url.iter().any(pattern_shows)),
            ("words", !self.words.is_empty(), Basis::Marker, self.words.iter().any(shows)),
            ("any_word", !self.any_word.is_empty(), Basis::Marker, self.any_word.iter().all(shows)),
            ("no_word", !self.no_word.is_empty(), Basis::Absence, false),
            ("text", !self.text.is_empty(), Basis::Marker, self.text.iter().any(shows)),
            ("body_is", self.body_is.is_some(), Basis::Marker, self.body_is.iter().any(shows)),
            ("regex", self.regex.is_some(), Basis::Marker, self.regex.iter().any(pattern_shows)),
            ("shows_query", self.shows_query, Basis::Marker, true),
        ];
        let named = named.into_iter().filter(|(_, is_set, ..)| *is_set);
        let json = self.json.iter().map(|rule| {
            let basis = if rule.is_positive() { Basis::Json } else { Basis::Absence };
            (format!("json {}", rule.label()), basis, rule.echoes_query())
        });
        let css = self.css.iter().map(|rule| {
            let basis = if rule.exists { Basis::Marker } else { Basis::Absence };
            (format!("css {}", rule.label()), basis, rule.echoes_query())
        });
        let all =
            status.into_iter().chain(self.header.keys().map(header)).chain(self.no_header.iter().map(absent));
        let all = all.chain(named.map(|(label, _, basis, echoes)| (label.to_owned(), basis, echoes)));
        let all = all.chain(json).chain(css);
        all.map(|(label, basis, echoes_query)| Condition { label, basis, echoes_query }).collect()
    }

    /// Returns whether a condition rests on one of these.
    pub(crate) fn rests_on(&self, any: &[Basis]) -> bool {
        self.conditions().iter().any(|condition| any.contains(&condition.basis))
    }

    pub(crate) fn reads_body(&self) -> bool {
        self.rests_on(&[Basis::Marker, Basis::Json, Basis::Absence])
    }

    /// Returns whether the matcher requires no content: it tests only the status, the headers or the address, or
    /// requires that something is absent from the body or empty. An error that a site has for every name fulfils it,
    /// too.
    pub(crate) fn is_bare(&self) -> bool {
        let is_body_empty = |body: &Template| EMPTY_BODIES.contains(&body.trim());
        let mut markers = self.conditions().into_iter().filter(|condition| condition.basis == Basis::Marker);
        self.body_is.as_ref().is_none_or(is_body_empty)
            && markers.all(|marker| marker.label == "body_is")
            && self.json.iter().all(JsonRule::is_bare)
    }

    /// Returns whether the matcher has no condition.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions().is_empty()
    }

    /// Returns the conditions without the compared values, for the evidence of a result.
    pub(crate) fn label(&self) -> String {
        let labels: Vec<String> = self.conditions().into_iter().map(|condition| condition.label).collect();
        labels.join(", ")
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
