//! The pages of the manual in their order.

use std::fmt::Write as _;

/// One page of the manual.
#[derive(Debug, Clone, Copy)]
pub struct Topic {
    /// Its name in addresses and on the command line, such as `getting-started`.
    pub name: &'static str,
    /// Its text in Markdown.
    pub markdown: &'static str,
}

impl Topic {
    /// The text of its first line.
    pub fn title(&self) -> &'static str {
        self.markdown.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// Its first paragraph, in Markdown.
    pub fn summary(&self) -> &'static str {
        self.markdown.split("\n\n").nth(1).unwrap_or_default()
    }
}

macro_rules! topics {
    ($($name:literal),* $(,)?) => {
        /// All pages, in the order in which they are listed.
        pub const TOPICS: &[Topic] = &[
            $(Topic { name: $name, markdown: include_str!(concat!($name, ".md")) }),*
        ];
    };
}

topics![
    "getting-started",
    "command-line",
    "sandbox",
    "api",
    "follow-the-leads",
    "streams",
    "watches",
    "batches",
    "webhooks",
    "mcp",
    "reports",
    "errors-and-limits",
    "accounts-and-keys",
    "web-app",
    "catalogue",
    "catalogue-entries",
    "premium",
    "configuration",
    "operations",
    "backup-and-restore",
    "scaling",
    "security-and-privacy",
    "architecture",
    "glossary",
    "changelog",
];

/// Returns the page with this name.
pub fn topic(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// Returns the index of the manual in the form of <https://llmstxt.org>. Links are relative to the server's root.
pub fn index_for_programs() -> String {
    let mut index =
        "# Sightline\n\n> Looks up an email address, a username or a domain across public sources, live, \
                     and answers in structured JSON.\n\n## Manual\n\n"
            .to_owned();
    for topic in TOPICS {
        let summary = topic.summary().replace('\n', " ");
        let first_sentence = summary.split_inclusive(". ").next().unwrap_or_default().trim_end();
        // Writing to a String does not fail.
        let _ = writeln!(index, "- [{}](manual/{}.md): {first_sentence}", topic.title(), topic.name);
    }
    index.push_str(
        "\n## API\n\n- [OpenAPI document](openapi.json): Every endpoint with its parameters and answers.\n",
    );
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_title_and_a_summary() {
        for topic in TOPICS {
            assert!(topic.markdown.starts_with("# ") && !topic.title().is_empty(), "{}", topic.name);
            let is_text = topic.summary().starts_with(|first: char| first.is_alphabetic() || first == '`');
            assert!(is_text, "{}: {}", topic.name, topic.summary());
        }
    }

    #[test]
    fn a_page_is_found_by_its_name() {
        assert_eq!(topic("api").map(Topic::title), Some("API"));
        assert!(topic("nothing").is_none());
    }
}
