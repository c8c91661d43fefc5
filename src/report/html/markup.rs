//! HTML that is put together piece by piece. Markup is written in this program ([`Markup::raw`] takes
//! nothing else); what comes from outside is escaped, always.

use std::fmt::{Display, Write as _};

use url::Url;

use crate::base::text::plain;

/// Markup so far.
#[derive(Debug, Default)]
pub(super) struct Markup {
    html: String,
}

impl Markup {
    /// Markup of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.html.push_str(markup);
        self
    }

    /// Text from anywhere, fit for an element and for a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in plain(text).chars() {
            match c {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                c => self.html.push(c),
            }
        }
        self
    }

    /// What shows itself as text, such as a number.
    pub(super) fn show(&mut self, shown: impl Display) -> &mut Self {
        let mut text = String::new();
        // Writing to a String doesn't fail.
        let _ = write!(text, "{shown}");
        self.text(&text)
    }

    /// Text that leads to `address`, where that is one of the web; else the text alone. What a click tells
    /// the site is that somebody came, not from where, and it gets no hold of this page.
    pub(super) fn link(&mut self, address: &str, text: &str) -> &mut Self {
        match web_address(address) {
            Some(address) => self
                .raw("<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" href=\"")
                .text(address.as_str())
                .raw("\">")
                .text(text)
                .raw("</a>"),
            None => self.text(text),
        }
    }

    /// Text from outside that may run from right to left, apart from what stands around it.
    pub(super) fn foreign(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>").link(text, text).raw("</bdi>")
    }

    pub(super) fn into_string(self) -> String {
        self.html
    }
}

/// An absolute address of the web: nothing that runs or opens something else.
pub fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(make: impl Fn(&mut Markup) -> &mut Markup) -> String {
        let mut markup = Markup::default();
        make(&mut markup);
        markup.into_string()
    }

    #[test]
    fn what_comes_from_outside_is_text() {
        let hostile = "</p><script>alert('1')</script> & \"\u{202e}\u{0}";
        assert_eq!(
            made(|markup| markup.text(hostile)),
            "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn only_addresses_of_the_web_become_links() {
        let good = made(|markup| markup.link("https://a.example/?a=1&b=\"<", "it"));
        assert_eq!(
            good,
            "<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" \
             href=\"https://a.example/?a=1&amp;b=%22%3C\">it</a>"
        );
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            " java\nscript:alert(1)",
            "file:///etc/passwd",
            "/relative",
            "",
            "https://",
        ] {
            assert_eq!(made(|markup| markup.link(bad, "it")), "it", "{bad}");
        }
    }
}
