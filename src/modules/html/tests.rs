use proptest::prelude::*;

use super::*;

fn texts(html: &str, selector: &str) -> Vec<String> {
    let page = Page::read(html);
    let found = page.select(&Selector::parse(selector).unwrap());
    found.into_iter().map(|element| page.value(element, None).unwrap()).collect()
}

#[test]
fn selectors_match_as_in_css() {
    let html = r#"<div id=main class="a b"><p class=x>one <b>two</b></p><ul><li>l1<li>l2</ul>
        <A HREF='/u/Bob' data-n="x-y">Bob</A></div><p>out</p><script id=s>var a="<b>no</b>"</script>"#;
    for (selector, want) in [
        ("p", vec!["one two", "out"]),
        ("#main p", vec!["one two"]),
        ("div p.x", vec!["one two"]),
        ("li", vec!["l1", "l2"]),
        ("div.a.b ul li", vec!["l1", "l2"]),
        ("a[href^='/u/'][data-n]", vec!["Bob"]),
        ("[class~=b] a[href*=\"u\"]", vec!["Bob"]),
        ("script#s", vec!["var a=\"<b>no</b>\""]),
        ("b", vec!["two"]),
        ("p, p.x", vec!["one two", "out"]),
        ("*[id=main] * li", vec!["l1", "l2"]),
    ] {
        assert_eq!(texts(html, selector), want, "{selector}");
    }
}

#[test]
fn a_script_in_any_depth_is_read() {
    let page = Page::read(&format!("{}<script>one</script><p>text<script>two", "<div>".repeat(600)));
    assert_eq!(page.scripts().map(|(_, text)| text).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(page.visible_text(), "text");
}

#[test]
fn a_title_that_is_closed_in_a_drawing_has_no_text() {
    let page = Page::read("<svg><title/><path/></svg><title>Bob</title><p>text");
    assert_eq!((page.title().as_deref(), page.visible_text().as_str()), (Some("Bob"), "text"));
}

#[test]
fn only_block_elements_separate_words() {
    assert_eq!(fragment_text("<div>a</div><div>b<br>c</div><i>d</i>e&nbsp;f &lt;3"), "a b c de f <3");
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(html in "(<[a-z/!]{0,3}[ a-z=\"'>]{0,6}|[ a-zé&;]{0,4}|</?(div|p|li|svg|title|script|td)/?>){0,40}") {
        for selector in ["div p", "li", "td, p p", "script", "title"] {
            texts(&html, selector);
        }
    }
}
