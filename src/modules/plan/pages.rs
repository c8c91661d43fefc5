//! Requests for further pages of a response.

use url::Url;

use super::address::check_url;
use crate::modules::definition::{Method, PagesEntry, ProbeEntry, Via};
use crate::modules::extract::Reading;
use crate::modules::extract::extractor::Extractor;
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::probe::Request;
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values, Variable};

/// The default maximum number of pages.
const USUAL: u32 = 5;

/// A compiled [`PagesEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    next: Extractor,
    url: Option<Template>,
    /// The maximum number of pages, including the first.
    pub(crate) most: usize,
}

impl Pages {
    /// Compiles the `pages` of a probe with this address. `reading` is the scope of its extractor.
    pub(super) fn compile(
        entry: &ProbeEntry,
        probe_url: &Template,
        selectors: &mut Selectors,
        (scope, reading): (&Scope, &Scope),
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let PagesEntry { next, url, most } = entry.pages.as_ref()?;
        mistakes.field("pages", |mistakes| {
            check_probe(entry, mistakes);
            let next = mistakes.field("next", |mistakes| {
                let next = Extractor::compile(next, false, selectors, reading, mistakes)?;
                if next.probe.is_some() {
                    mistakes.add("it reads the page itself: leave `probe` out");
                }
                Some(next)
            });
            let url = url
                .as_ref()
                .map(|text| mistakes.field("url", |mistakes| compile_url(text, probe_url, scope, mistakes)));
            Some(Self {
                next: next?,
                url: url.map_or(Some(None), |url| url.map(Some))?,
                most: most.unwrap_or(USUAL) as usize,
            })
        })
    }

    /// Returns the text that leads to the page after the one that is read.
    pub(crate) fn next(&self, reading: &Reading<'_, '_>) -> Option<String> {
        self.next.saved(reading)
    }

    /// Returns the request for the page to which `next` leads from the page at `here`. It is a copy of the
    /// probe's own request with another address. Returns `None` if the address is not on the host of the
    /// probe.
    pub(crate) fn request(
        &self,
        next: &str,
        here: &Url,
        first: &Request,
        values: &Values<'_>,
    ) -> Option<Request> {
        let url = match &self.url {
            Some(template) => {
                Url::parse(&template.fill(&Values { value: Some(next), ..*values }).ok()?).ok()?
            }
            None => beside(here, next)?,
        };
        is_own(&first.url, &url).then(|| Request { url, ..first.clone() })
    }

    pub(super) fn template(&self) -> Option<&Template> {
        self.url.as_ref()
    }
}

/// Returns the address that a page names, with the scheme of the page. Servers behind a proxy often write
/// `http`.
fn beside(here: &Url, next: &str) -> Option<Url> {
    let mut url = here.join(next).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    if url.host() == here.host() && url.port().is_none() {
        url.set_scheme(here.scheme()).ok()?;
    }
    url.set_fragment(None);
    Some(url)
}

/// Returns whether `url` is on the host of the probe's own request, since it gets the same headers,
/// including keys.
fn is_own(first: &Url, url: &Url) -> bool {
    let is_downgrade = first.scheme() == "https" && url.scheme() != "https";
    first.host() == url.host() && first.port() == url.port() && !is_downgrade
}

fn check_probe(entry: &ProbeEntry, mistakes: &mut Mistakes) {
    let has_body = entry.form.is_some() || entry.json.is_some() || entry.text.is_some();
    if entry.method != Method::Get || has_body || entry.via != Via::Http {
        mistakes.add("pages are requested with GET over HTTP and without a body, and so must the first one");
    }
    if entry.feed.is_some() {
        mistakes.add("`feed` and `pages` exclude each other: a feed is one document");
    }
}

fn compile_url(text: &str, probe_url: &Template, scope: &Scope, mistakes: &mut Mistakes) -> Option<Template> {
    let scope = Scope { allows_page: true, ..scope.clone() };
    let url = scope.template(text, Kind::Url, mistakes)?;
    check_url(&url, mistakes);
    if !url.variables().any(|variable| *variable == Variable::Page) {
        mistakes.add("it must contain `{page}`: otherwise it leads to the same page again");
    }
    if url.host() != probe_url.host() {
        mistakes.add("it leads to another host than the probe's `url`");
    }
    Some(url)
}
