//! The manual: pages in Markdown, rendered as HTML.
//!
//! | file | holds |
//! |---|---|
//! | [`mod@topic`] | the pages in their order, and the index for programs |
//! | [`render`](mod@render) | Markdown as HTML, and the ids of headings |
//!
//! To add a page: write `TOPIC.md` here, and add its name to the list in `topic`. The first line is the title, the
//! first paragraph says what the page is about. A link to another page is `TOPIC.md#heading`. A picture is a file here
//! that `src/api/docs/mod.rs` lists.

pub mod render;
pub mod topic;

pub use render::render;
pub use topic::{TOPICS, Topic, index_for_programs, topic};
