//! The browser of the tests: it sees the page's content and misses no event.

use serde_json::json;

use crate::support::browser::Browser;
use crate::support::folder::Folder;
use crate::support::server::Setup;

#[test]
fn the_checker_sees_the_requests_of_a_page() {
    let server = Setup::new().start();
    let origin = format!("http://{}", server.address);
    let browser = Browser::start();
    browser.open(&format!("{origin}/"));
    assert_eq!((browser.url(), browser.title()), (format!("{origin}/"), "Sightline".to_owned()));
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    assert!(browser.requests_outside(&origin).is_empty());
    let page = browser.requests().into_iter().find(|request| request.url == format!("{origin}/")).unwrap();
    assert_eq!((page.method.as_str(), page.status, page.failure), ("GET", Some(200), None));

    // Clicks and keystrokes work as they do for a person.
    let script = "const button = document.createElement('button');
        button.textContent = arguments[0]; button.id = 'more'; button.className = 'x y';
        button.onclick = () => { const box = document.createElement('input'); box.id = 'box'; button.after(box); };
        setTimeout(() => document.querySelector('main').append(button), 50);";
    browser.run(script, &[json!("More")]);
    assert_eq!(browser.find("#more").text(), "More");
    assert_eq!(browser.find("#more").attribute("class").as_deref(), Some("x y"));
    browser.find("#more").click();
    browser.type_into("#box", "abc");
    assert_eq!(browser.find("#box").property("value"), "abc");
    browser.find("#box").clear();
    browser.type_into("#box", "d");
    browser.wait_until("document.querySelector('#box').value === 'd'");
    let list = &browser.find_all("ul")[0];
    let links: Vec<String> = list.find_all("a").iter().filter_map(|link| link.attribute("href")).collect();
    assert_eq!(links, ["manual", "docs", "redoc", "openapi.json"]);
    assert!(list.is_shown());
    browser.run("arguments[0].hidden = true", &[list.as_argument()]);
    assert!(!list.is_shown());
    let answer = browser.run_async("return given[0] + await Promise.resolve(1)", &[json!(41)]);
    assert_eq!(answer, 42);

    browser.resize(400, 700);
    browser.prefer_dark(true);
    browser.wait_until("innerWidth === 400 && matchMedia('(prefers-color-scheme: dark)').matches");
    let folder = Folder::new();
    let picture = folder.path("page.png");
    browser.screenshot(picture.as_ref());
    let bytes = std::fs::read(picture).unwrap();
    // The width follows the PNG's signature and the name of its first chunk.
    assert_eq!((&bytes[1..4], &bytes[16..20]), (b"PNG".as_slice(), 400u32.to_be_bytes().as_slice()));

    browser.click("a[href='v1/health']");
    browser.wait("the way to another page", || browser.url().ends_with("/v1/health").then_some(()));
}

#[test]
fn the_checker_misses_no_external_request_and_no_error() {
    let server = Setup::new().start();
    let origin = format!("http://{}", server.address);
    let browser = Browser::start();
    // A JSON answer has no policy that would prevent the request.
    browser.open(&format!("{origin}/v1/health"));
    let ask = "try { await fetch(given[0]); return 'answered' } catch { return 'failed' }";
    assert_eq!(browser.run_async(ask, &[json!("http://elsewhere.example/a")]), "failed");
    let outside = browser.requests_outside(&origin);
    assert_eq!(outside.len(), 1, "{outside:?}");
    assert!(outside[0].url.ends_with("elsewhere.example/a") && outside[0].failure.is_some(), "{outside:?}");
    assert!(browser.complaints().iter().any(|message| message.text.contains("elsewhere.example")));
    // Another port is another origin.
    let other = Setup::new().start();
    browser.run_async(ask, &[json!(format!("http://{}/", other.address))]);
    assert_eq!(browser.requests_outside(&origin).len(), 2);

    browser.open(&format!("{origin}/docs"));
    let before = browser.complaints().len();
    browser.run(
        "const script = document.createElement('script'); script.textContent = 'window.ran = true';
         document.body.append(script)",
        &[],
    );
    assert_eq!(
        browser.run("return window.ran === undefined", &[]),
        true,
        "the page's policy lets a script in"
    );
    assert!(
        browser.complaints()[before..].iter().any(|message| message.text.contains("Content Security Policy"))
    );
    browser.run("setTimeout(() => { throw new Error('thrown in the page') })", &[]);
    browser.wait("the error in the console", || {
        browser.complaints().iter().any(|message| message.text.contains("thrown in the page")).then_some(())
    });
}
