use std::rc::Rc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn texts(html: &str, selector: &str) -> Vec<String> {
    let page = Page::read(html);
    page.select(&Selector::parse(selector).unwrap())
        .into_iter()
        .map(|element| page.text_of(element))
        .collect()
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
fn the_error_of_an_invalid_selector_says_what_is_allowed() {
    for (selector, want) in [
        ("", "ends too early"),
        ("a,,b", "is not supported from `,b` on"),
        ("a:hover", "is not supported from `:hover` on"),
        ("a + b", "is not supported from `+ b` on"),
        ("a[b='c]", "is not supported from `[b='c]` on"),
        ("a[b!=c]", "is not supported from `[b!=c]` on"),
        ("a.", "is not supported from `.` on"),
    ] {
        let error = Selector::parse(selector).unwrap_err();
        assert!(error.contains(want) && error.contains("allowed are"), "{selector}: {error}");
    }
}

#[test]
fn title_meta_and_json_ld_are_read_only_in_valid_places() {
    let page = Page::read(
        r#"<title> A &amp; <b>B</b>
        </title><script>"<meta name='fake' content='x'>"</script>
        <META Property="og:title" CONTENT="T&eacute;"><meta name=d content>
        <script type="application/LD+json; charset=utf-8">{"a": "</b>"}</script><svg><title>icon</title></svg>"#,
    );
    assert_eq!(page.title.as_deref(), Some("A & <b>B</b>"));
    assert_eq!(page.metas("og:title").collect::<Vec<_>>(), ["Té"]);
    assert_eq!(page.metas("d").collect::<Vec<_>>(), [""]);
    assert_eq!(page.metas("fake").count(), 0);
    let scripts: Vec<_> = page.scripts().collect();
    assert_eq!(scripts[1], (ScriptKind::LinkedData, "{\"a\": \"</b>\"}"));
    assert_eq!((scripts.len(), scripts[0].0), (2, ScriptKind::Code));
}

#[test]
fn a_script_in_any_depth_is_read() {
    let page = Page::read(&format!("{}<script>one</script><p>text<script>two", "<div>".repeat(600)));
    assert_eq!(page.scripts().map(|(_, text)| text).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(page.visible_text(), "text");
}

#[test]
fn what_is_kept_of_a_page_is_limited() {
    let pages =
        ["<a>".repeat(410_000), "<a b=c d e f>".repeat(210_000), format!("<a{}>", " b".repeat(610_000))];
    for page in pages.map(|html| Page::read(&html)) {
        assert!(page.is_full && page.elements.len() <= 400_000 && page.attributes.len() <= 600_000);
    }
    // The content of an element is kept once, also if the element has many names.
    let names: String = (0..600).map(|name| format!(" w{name}")).collect();
    let page = Page::read(&format!("<meta name=first content><meta itemprop='{names}' content=x>"));
    let (_, content) = page.metas.last().unwrap();
    assert_eq!((page.metas.len(), Rc::strong_count(content)), (300, 299));
    let page = Page::read(&format!("<meta property='{}' content=x>", "a B b ".repeat(1_000)));
    assert_eq!(page.metas.len(), 2);
    // A page of 1 MiB is kept whole, and takes little more than twenty times its size.
    for html in ["<a>".repeat(349_525), format!("<a{}>", " b".repeat(524_286))] {
        let page = Page::read(&html);
        let bytes = size_of_val(page.elements.as_slice()) + size_of_val(page.attributes.as_slice());
        assert!(!page.is_full && bytes < 14 << 20, "{bytes}");
    }
}

#[test]
fn only_block_elements_separate_words() {
    assert_eq!(fragment_text("<div>a</div><div>b<br>c</div><i>d</i>e&nbsp;f &lt;3"), "a b c de f <3");
}

#[test]
fn a_page_of_any_shape_is_parsed_in_linear_time() {
    let selector = Selector::parse("div div div span, a b c, div.a span").unwrap();
    let shapes = [
        "<div class=a>".repeat(80_000),
        format!("{}{}", "<div>".repeat(90_000), "</div>".repeat(90_000)),
        "<p><li><td><b>".repeat(70_000),
        "<".repeat(1 << 20),
        "<a b".repeat(250_000),
        format!("<a {}>", "b=c ".repeat(250_000)),
        "</div>".repeat(170_000),
        "<!--".repeat(250_000),
        "&".repeat(1 << 20),
        "\0".repeat(1 << 20),
        "<script>".repeat(130_000),
        "<svg><title>".repeat(80_000),
        "<![CDATA[".repeat(100_000),
        "<!a[".repeat(250_000),
        "<a/b=".repeat(200_000),
    ];
    for shape in shapes {
        let started = Instant::now();
        assert!(Page::read(&shape).select(&selector).len() <= 1_000);
        // An algorithm with quadratic time would take hours on such a page.
        assert!(started.elapsed() < Duration::from_secs(120), "{}", &shape[..20]);
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(html in "(<[a-z/!]{0,3}[ a-z=\"'>]{0,6}|[ a-zé&;]{0,4}|</?(div|p|li|svg|title|script|td)/?>){0,40}") {
        for selector in ["div p", "li", "td, p p", "script", "title"] {
            texts(&html, selector);
        }
    }

    #[test]
    fn nesting_of_well_formed_pages_is_exact(path in prop::collection::vec(prop::sample::select(vec!["div", "span", "em", "section"]), 1..8)) {
        let open: String = path.iter().map(|tag| format!("<{tag}>")).collect();
        let close: String = path.iter().rev().map(|tag| format!("</{tag}>")).collect();
        let html = format!("{open}x{close}");
        prop_assert_eq!(texts(&html, &path.join(" ")), vec!["x"]);
        let reversed: Vec<_> = path.iter().rev().copied().collect();
        let is_same = reversed == path;
        prop_assert_eq!(texts(&html, &reversed.join(" ")).is_empty(), !is_same);
    }
}
