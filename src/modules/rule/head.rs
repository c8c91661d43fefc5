//! A condition on whether the head of a page contains the name.

use url::form_urlencoded;

use crate::modules::answer::Answer;
use crate::modules::html::{SelectorId, Selectors};
use crate::modules::text::holds_name;

/// The `<meta>` elements that name the owner of a page.
const METAS: [&str; 3] = ["og:title", "og:url", "profile:username"];

/// A compiled `shows_query` condition.
#[derive(Debug, Clone)]
pub(super) struct HeadMatcher {
    canonical: SelectorId,
}

impl HeadMatcher {
    pub(super) fn compile(selectors: &mut Selectors) -> Result<Self, String> {
        Ok(Self { canonical: selectors.add("link[rel~=\"canonical\" i]", Some("href"))? })
    }

    /// Returns whether the name appears in the head as a whole word. If the page was cut off, its title is
    /// ignored, since its last word may be incomplete.
    pub(super) fn holds(&self, answer: &Answer<'_>, name: &str) -> bool {
        let page = answer.page();
        let addresses = page.elements(self.canonical).iter().filter_map(|link| link.attribute("href"));
        let metas = METAS.iter().flat_map(|meta| page.metas(meta));
        let title = page.title.as_deref().filter(|_| !answer.is_cut());
        let shows = |text: &str| {
            let mut decoded = form_urlencoded::parse(text.as_bytes());
            holds_name(text, name)
                || decoded.any(|(one, two)| holds_name(&one, name) || holds_name(&two, name))
        };
        addresses.chain(metas).chain(title).any(shows)
    }
}
