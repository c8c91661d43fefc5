//! Which request leads to the next page.

use url::Url;

use super::MAX_SAVED;
use crate::modules::definition::{Method, PagesEntry, ProbeEntry, Via};
use crate::modules::extract::Reading;
use crate::modules::extract::extractor::Extractor;
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::probe::Request;
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values, Variable};

/// The most pages that an entry may ask for.
const MOST: u32 = 20;
/// Pages of an entry that does not say how many.
const USUAL: u32 = 5;

/// A compiled [`PagesEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    next: Extractor,
    url: Option<Template>,
    /// The first page included.
    pub(crate) most: usize,
}

impl Pages {
    /// Compiles `pages` of a probe with this address; `reading` is what its extractor may ask for.
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
            if most.is_some_and(|most| !(2..=MOST).contains(&most)) {
                mistakes.add_in("most", format!("allowed are 2 to {MOST}, the first page included"));
            }
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

    /// What leads to the page after the one that is read.
    pub(crate) fn next(&self, reading: &Reading<'_, '_>) -> Option<String> {
        let text = self.next.text(reading)?;
        let text = text.trim();
        (!text.is_empty() && text.len() <= MAX_SAVED).then(|| text.to_owned())
    }

    /// The request for the page that `next` leads to from the page at `here`, made from the probe's own;
    /// `None`: it is no address of the probe's own host.
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

/// The address that a page names, with the page's own scheme: servers behind a proxy often say `http`.
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

/// Whether `url` is on the host of the probe's own request: that one gets the same headers, keys included.
fn is_own(first: &Url, url: &Url) -> bool {
    let is_downgrade = first.scheme() == "https" && url.scheme() != "https";
    first.host() == url.host() && first.port() == url.port() && !is_downgrade
}

fn check_probe(entry: &ProbeEntry, mistakes: &mut Mistakes) {
    let has_body =
        entry.form.is_some() || entry.multipart.is_some() || entry.json.is_some() || entry.text.is_some();
    if entry.method != Method::Get || has_body || entry.via != Via::Http {
        mistakes.add("pages are asked for with GET over HTTP, without a body; so must be the first one");
    }
    if entry.feed.is_some() {
        mistakes.add("`feed` and `pages` exclude each other: a feed is one document");
    }
}

fn compile_url(text: &str, probe_url: &Template, scope: &Scope, mistakes: &mut Mistakes) -> Option<Template> {
    let scope = Scope { allows_page: true, ..scope.clone() };
    let url = scope.template(text, Kind::Url, mistakes)?;
    super::check_url(&url, mistakes);
    if !url.variables().any(|variable| *variable == Variable::Page) {
        mistakes.add("it holds no `{page}`: it would lead to one page again and again");
    }
    if url.host() != probe_url.host() {
        mistakes.add("it leads to another host than the probe's `url`");
    }
    Some(url)
}
