//! Tags that have special rules.

/// A tag name, short enough to copy and compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(u64);

impl Tag {
    /// Returns the FNV-1a hash of a tag name. A collision of two names would only affect the nesting of
    /// elements on one page.
    pub(super) const fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut index = 0;
        while index < bytes.len() {
            hash = (hash ^ bytes[index] as u64).wrapping_mul(0x0100_0000_01b3);
            index += 1;
        }
        Self(hash)
    }
}

/// Returns whether an element has no end tag.
pub(super) fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.contains(&name)
}

/// Returns whether the content of an element is not part of the page's text.
pub(super) fn is_raw(name: &str) -> bool {
    matches!(name, "script" | "style" | "noscript" | "iframe" | "xmp" | "noembed" | "noframe")
}

/// Returns whether the text of an element is never shown. Raw elements are not included.
pub(super) fn is_unseen(name: &str) -> bool {
    matches!(name, "template" | "title" | "datalist")
}

/// Returns whether an inline style hides its element.
pub(super) fn hides(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(name, value)| {
        let value = value.trim().trim_end_matches("!important").trim_end();
        let is = |known: &str, hidden: &[&str]| {
            name.trim().eq_ignore_ascii_case(known) && hidden.iter().any(|it| value.eq_ignore_ascii_case(it))
        };
        is("display", &["none"]) || is("visibility", &["hidden", "collapse"])
    })
}

/// Returns whether `/>` closes elements inside this element.
pub(super) fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
}

/// Returns whether an element does not separate words.
pub(super) fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 28] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
        "kbd", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    ];
    INLINE.contains(&name)
}

/// Returns the open elements that a start tag closes implicitly, and the elements at which the search for
/// them stops.
pub(super) fn implied_ends(name: &str) -> Option<(&'static [Tag], &'static [Tag])> {
    const LI: Tag = Tag::of("li");
    const DT: Tag = Tag::of("dt");
    const DD: Tag = Tag::of("dd");
    const TR: Tag = Tag::of("tr");
    const TD: Tag = Tag::of("td");
    const TH: Tag = Tag::of("th");
    const TABLE: Tag = Tag::of("table");
    const OPTION: Tag = Tag::of("option");
    const LISTS: &[Tag] = &[Tag::of("ul"), Tag::of("ol"), Tag::of("menu"), TABLE];
    const SECTIONS: &[Tag] = &[TABLE, Tag::of("tbody"), Tag::of("thead"), Tag::of("tfoot")];
    const DL: &[Tag] = &[Tag::of("dl"), TABLE];
    const ROW: &[Tag] = &[TR, TABLE];
    const CELLS: &[Tag] = &[TD, TH];
    const CHOICES: &[Tag] = &[Tag::of("select"), Tag::of("datalist")];
    const P: &[Tag] = &[Tag::of("p")];
    const AROUND_P: &[Tag] =
        &[Tag::of("div"), Tag::of("button"), Tag::of("section"), Tag::of("article"), LI, TD, TH, TABLE];
    Some(match name {
        "li" => (&[LI], LISTS),
        "dt" | "dd" => (&[DT, DD], DL),
        "tr" => (&[TR, TD, TH], SECTIONS),
        "td" | "th" => (CELLS, ROW),
        "option" => (&[OPTION], CHOICES),
        "p" | "div" | "ul" | "ol" | "dl" | "table" | "section" | "article" | "header" | "footer" | "nav"
        | "main" | "aside" | "form" | "pre" | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
        | "hr" | "figure" | "address" | "fieldset" => (P, AROUND_P),
        _ => return None,
    })
}
