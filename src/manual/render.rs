//! Markdown as HTML.
//!
//! Raw HTML in a page is omitted, so that a page never contains a script. Links between pages lose `.md`: a page
//! is at the same address without it. Headings get the ids that GitHub gives them, so that a link to a heading
//! works in both places.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Returns a page, or a part of it, as HTML. `page` is the address of the page relative to where the HTML is shown, such
/// as `manual/api`, and empty on the page itself. `picture_address` returns the address of the picture with this name.
pub fn render(markdown: &str, page: &str, picture_address: impl Fn(&str) -> String) -> String {
    let mut ids = Ids::default();
    let mut rendered: Vec<Event<'_>> = Vec::new();
    // The place of the open heading in `rendered`, and its text so far.
    let mut heading: Option<(usize, String)> = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => {}
            Event::Start(Tag::Heading { .. }) => {
                heading = Some((rendered.len(), String::new()));
                rendered.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((at, text)) = heading.take()
                    && let Event::Start(Tag::Heading { id, .. }) = &mut rendered[at]
                {
                    *id = Some(ids.next(&text).into());
                }
                rendered.push(event);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = link_address(&dest_url, page).map_or(dest_url, CowStr::from);
                rendered.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = picture_address(&dest_url).into();
                rendered.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            // A wide table scrolls in its own box, also with the keyboard.
            Event::Start(Tag::Table(_)) => {
                rendered.push(Event::Html("<div class=\"table\" tabindex=\"0\">".into()));
                rendered.push(event);
            }
            Event::End(TagEnd::Table) => {
                rendered.push(event);
                rendered.push(Event::Html("</div>\n".into()));
            }
            Event::Start(Tag::CodeBlock(_)) => {
                rendered.push(Event::Html("<pre tabindex=\"0\"><code>".into()));
            }
            Event::End(TagEnd::CodeBlock) => rendered.push(Event::Html("</code></pre>\n".into())),
            Event::Text(ref text) | Event::Code(ref text) => {
                if let Some((_, title)) = &mut heading {
                    title.push_str(text);
                }
                rendered.push(event);
            }
            _ => rendered.push(event),
        }
    }
    let mut shown = String::new();
    html::push_html(&mut shown, rendered.into_iter());
    shown
}

/// Returns the address of a page of the manual, or of a heading, that a link on `page` leads to, or `None` for another
/// link.
fn link_address(link: &str, page: &str) -> Option<String> {
    let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
    let address = if file.is_empty() {
        page.to_owned()
    } else {
        let name = file.strip_suffix(".md").filter(|name| !name.contains(['/', ':']))?;
        let folder = page.rfind('/').map_or("", |slash| &page[..=slash]);
        format!("{folder}{name}")
    };
    Some(if fragment.is_empty() { address } else { format!("{address}#{fragment}") })
}

/// The ids of the headings of one page: the second heading with the same text gets `-1`, and so on.
#[derive(Debug, Default)]
struct Ids(Vec<String>);

impl Ids {
    fn next(&mut self, heading: &str) -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let id: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let earlier = self.0.iter().filter(|other| **other == id).count();
        self.0.push(id.clone());
        if earlier == 0 { id } else { format!("{id}-{earlier}") }
    }
}
