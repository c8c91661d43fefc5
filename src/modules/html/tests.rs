use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn texts(html: &str, selector: &str) -> Vec<String> {
    let mut selectors = Selectors::default();
    let id = selectors.add(selector, None).unwrap();
    let page = Page::read(html, &selectors);
    page.elements(id).iter().map(|element| page.text_of(element)).collect()
}

#[test]
fn selectors_match_as_in_css() {
    let html = r#"<div id=main class="a b"><p class=x>one <b>two</b></p><ul><li>l1<li>l2</ul>
        <A HREF='/u/Bob' data-n="x-y">Bob</A></div><p>out</p><script id=s>var a="<b>no</b>"</script>"#;
    for (selector, want) in [
        ("p", vec!["one two", "out"]),
        ("#main p", vec!["one two"]),
        ("div p.x", vec!["one two"]),
        ("div b, p:not", vec![]),
        ("li", vec!["l1", "l2"]),
        ("div.a.b ul li", vec!["l1", "l2"]),
        ("a[href^='/u/'][data-n]", vec!["Bob"]),
        ("[class~=b] a[href*=\"u\"]", vec!["Bob"]),
        ("script#s", vec!["var a=\"<b>no</b>\""]),
        ("b", vec!["two"]),
        ("p, p.x", vec!["one two", "out"]),
        ("*[id=main] * li", vec!["l1", "l2"]),
    ] {
        if selector.contains(":not") {
            assert!(Selectors::default().add(selector, None).is_err());
        } else {
            assert_eq!(texts(html, selector), want, "{selector}");
        }
    }
}

#[test]
fn the_error_of_an_invalid_selector_says_what_is_allowed() {
    for (selector, want) in [
        ("", "ends too early"),
        ("a,,b", "ends too early"),
        ("a:hover", "contains `:`, which is not supported"),
        ("a + b", "contains `+`, which is not supported"),
        ("a > b", "contains `>`, which is not supported"),
        ("a[b=c", "has a `[` without its `]`"),
        ("a[b='c]", "has a quote that is not closed"),
        ("a[b!=c]", "compares an attribute with something else than"),
        ("a.", "lacks a name"),
    ] {
        let error = Selectors::default().add(selector, None).unwrap_err();
        assert!(error.contains(want) && error.contains("allowed are"), "{selector}: {error}");
    }
    let many = vec!["a"; 129].join(" ");
    assert!(Selectors::default().add(&many, None).unwrap_err().contains("more than 128"));
}

#[test]
fn title_meta_and_json_ld_are_read_only_in_valid_places() {
    let page = Page::read(
        r#"<title> A &amp; <b>B</b>
        </title><script>"<meta name='fake' content='x'>"</script>
        <META Property="og:title" CONTENT="T&eacute;"><meta name=d content>
        <script type="application/LD+json; charset=utf-8">{"a": "</b>"}</script><svg><title>icon</title></svg>"#,
        &Selectors::default(),
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
fn attributes_are_read_only_if_a_selector_needs_them() {
    let mut selectors = Selectors::default();
    let id = selectors.add("a", Some("HREF")).unwrap();
    let page = Page::read("<a href=1 href=2 class=x>t</a><a>u</a>", &selectors);
    let hrefs: Vec<_> = page.elements(id).iter().map(|element| element.attribute("href")).collect();
    assert_eq!(hrefs, [Some("1"), None]);
    assert_eq!(page.elements(id)[0].attribute("class"), None);
}

#[test]
fn only_block_elements_separate_words() {
    assert_eq!(fragment_text("<div>a</div><div>b<br>c</div><i>d</i>e&nbsp;f &lt;3"), "a b c de f <3");
}

#[test]
fn a_page_of_any_shape_is_parsed_in_linear_time() {
    let mut selectors = Selectors::default();
    let id = selectors.add("div div div span, a b c", Some("href")).unwrap();
    let _ = selectors.add("div", Some("class")).unwrap();
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
        let page = Page::read(&shape, &selectors);
        assert!(page.elements(id).len() <= 1_000);
        // An algorithm with quadratic time would take hours on such a page.
        assert!(started.elapsed() < Duration::from_secs(120), "{}", &shape[..20]);
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_panic(html in "(<[a-z/!]{0,3}[ a-z=\"'>]{0,6}|[ a-zé&;]{0,4}|</?(div|p|li|svg|title|script|td)/?>){0,40}") {
        let mut selectors = Selectors::default();
        for selector in ["div p", "li", "td, p p", "script", "title"] {
            let id = selectors.add(selector, Some("a")).unwrap();
            let page = Page::read(&html, &selectors);
            for element in page.elements(id) {
                let _ = page.text_of(element);
            }
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
