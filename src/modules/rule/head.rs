//! Whether the head of a page shows the name.

use url::form_urlencoded;

use crate::modules::answer::Answer;
use crate::modules::html::{SelectorId, Selectors};
use crate::modules::text::holds_name;

/// `<meta>`s in which a page says whose it is.
const METAS: [&str; 3] = ["og:title", "og:url", "profile:username"];

/// A compiled `shows_query`.
#[derive(Debug, Clone)]
pub(super) struct HeadMatcher {
    canonical: SelectorId,
}

impl HeadMatcher {
    pub(super) fn compile(selectors: &mut Selectors) -> Result<Self, String> {
        Ok(Self { canonical: selectors.add("link[rel~=\"canonical\" i]", Some("href"))? })
    }

    /// Whether the name stands in the head as a whole word. Of a title that was cut off, nobody knows how
    /// its last word ends.
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
