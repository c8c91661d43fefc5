//! Makes text from outside safe in the templates.

use std::fmt::{self, Write};

use askama::filters::{Escaper, Html};

use crate::base::text::visible;

/// Writes every value of a template as [`visible`] text, escaped for elements and quoted attributes. The `askama.toml` of
/// reports and of the web app apply it, so that a template cannot omit it except with the filter `safe`.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Escaper for Plain {
    fn write_escaped_str<W: Write>(&self, dest: W, text: &str) -> fmt::Result {
        Html.write_escaped_str(dest, &visible(&text.replace("\r\n", "\n")))
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;

    #[derive(Template)]
    #[template(
        source = r#"{% import "parts.html" as parts %}{{ text }}{{ parts::link(address, text) }}"#,
        ext = "html",
        config = "src/report/html/askama.toml"
    )]
    struct Shown<'t> {
        address: &'t str,
        text: &'t str,
    }

    fn shown(address: &str, text: &str) -> String {
        Shown { address, text }.render().unwrap()
    }

    #[test]
    fn text_from_outside_is_escaped_and_has_no_control_characters() {
        let hostile = "</p><script>alert('1')</script> & \"\u{202e}\u{0}\n";
        let escaped =
            "&#60;/p&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62; &#38; &#34;\u{fffd}\u{fffd}\n";
        assert_eq!(shown("", hostile), format!("{escaped}{escaped}"));
    }

    #[test]
    fn only_web_addresses_become_links() {
        assert_eq!(
            shown("https://a.example/?a=1&b=\"<", "it"),
            "it<a rel=\"noopener noreferrer nofollow\" target=\"_blank\" \
             href=\"https://a.example/?a=1&#38;b=%22%3C\">it</a>"
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
            assert_eq!(shown(bad, "it"), "itit", "{bad}");
        }
    }
}
