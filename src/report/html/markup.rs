//! Builds HTML piece by piece. [`Markup::raw`] takes only literals of this program. Everything else is
//! escaped.

use std::fmt::{Display, Write as _};

use crate::base::text::plain;
use crate::runs::entity::identified::web_address;

/// The most sources that are named.
const MOST_SOURCES: usize = 6;

/// The HTML that has been built so far.
#[derive(Debug, Default)]
pub(super) struct Markup {
    html: String,
}

impl Markup {
    /// Appends a literal of this program without escaping.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.html.push_str(markup);
        self
    }

    /// Appends other markup.
    pub(super) fn append(&mut self, other: &Self) -> &mut Self {
        self.html.push_str(&other.html);
        self
    }

    /// Returns whether nothing was built.
    pub(super) fn is_empty(&self) -> bool {
        self.html.is_empty()
    }

    /// Appends text from any source, escaped for elements and quoted attributes.
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

    /// Appends a value by its `Display`, escaped.
    pub(super) fn show(&mut self, shown: impl Display) -> &mut Self {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = write!(text, "{shown}");
        self.text(&text)
    }

    /// Appends `text` as a link to `address` if that is an `http` or `https` address, and otherwise as plain text.
    /// The linked site gets no referrer and no reference to this page.
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

    /// Appends text of several lines.
    pub(super) fn lines(&mut self, text: &str) -> &mut Self {
        for (index, line) in text.lines().enumerate() {
            self.raw(if index == 0 { "" } else { "<br>" }).text(line);
        }
        self
    }

    /// Appends text from outside in an element with its own text direction, because it may run from right to left.
    pub(super) fn isolated(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>").link(text, text).raw("</bdi>")
    }

    /// Appends the platforms that state something, each as a link to its result.
    pub(super) fn sources(&mut self, named: &[(u32, &str)]) -> &mut Self {
        self.raw(" <small class=\"sources\">");
        for (index, (id, platform)) in named.iter().take(MOST_SOURCES).enumerate() {
            self.raw(if index == 0 { "" } else { ", " });
            self.raw("<a href=\"#result-").show(id).raw("\"><bdi>").text(platform).raw("</bdi></a>");
        }
        if named.len() > MOST_SOURCES {
            self.raw(" and ").show(named.len() - MOST_SOURCES).raw(" more");
        }
        self.raw("</small>")
    }

    /// Appends a table up to its rows. It scrolls by itself where it is too wide.
    pub(super) fn begin_table(&mut self, title: &str, heads: &[&str]) -> &mut Self {
        self.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"").text(title);
        self.raw("\"><table>\n<caption>").text(title).raw("</caption>\n<thead><tr>");
        for head in heads {
            self.raw("<th scope=\"col\">").text(head).raw("</th>");
        }
        self.raw("</tr></thead>\n<tbody>\n")
    }

    pub(super) fn into_string(self) -> String {
        self.html
    }
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
    fn text_from_outside_is_escaped() {
        let hostile = "</p><script>alert('1')</script> & \"\u{202e}\u{0}";
        assert_eq!(
            made(|markup| markup.text(hostile)),
            "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn only_web_addresses_become_links() {
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
