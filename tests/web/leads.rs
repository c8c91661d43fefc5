//! Leads, families and people in the web app.

use super::person::{Person, between, text};
use super::searches::{has_left, page_of, search};
use crate::support::awaited;
use crate::support::server::Setup;

#[test]
fn the_leads_of_a_search_have_a_page_and_files() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let run = page_of(&search(&person, "everybody", &[("type", "username")]));
    awaited("the end of the search", || {
        let page = text(&person.get(&run));
        if page.contains(">Completed<") { Ok(()) } else { Err(page) }
    });
    let page = text(&person.get(&run));
    assert!(page.contains("twitter of GitHub: everybody"), "{page}");
    assert!(page.contains("id=\"people\"") && page.contains("Accounts, and why</summary>"), "{page}");
    let page = text(&person.get(&format!("{run}/graph")));
    // Each link of the list leads to an entity of it.
    let entities: Vec<&str> =
        page.split("<li id=\"e-").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(entities.len() > 10, "{page}");
    let mut links = page.split("href=\"#e-").skip(1).map(|rest| rest.split('"').next().unwrap());
    assert!(links.all(|id| entities.contains(&id)), "{page}");
    let graph = person.get(&format!("{run}/graph?format=json")).json();
    assert!(graph["nodes"].as_array().unwrap().len() > entities.len());
    let markup = person.get(&format!("{run}/graph?format=graphml"));
    assert_eq!(markup.header("content-disposition"), Some("attachment; filename=\"graph.graphml\""));
    assert_eq!(person.get(&format!("{run}/graph?format=svg")).status, 400);
}

/// Waits until a page tells the end of all searches.
fn ended(person: &Person<'_>, page: &str) -> String {
    awaited("the end of all searches", || {
        let shown = text(&person.get(page));
        if shown.contains("data-open") || shown.contains(">Running<") { Err(shown) } else { Ok(shown) }
    })
}

/// Returns the path that the first button of a lead posts to.
fn action_of(page: &str) -> String {
    let action = between(page, "formaction=\"", "\"");
    action[action.find("/app/").unwrap()..].to_owned()
}

#[test]
fn leads_are_followed_by_a_search_or_one_by_one() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let fields = [("type", "username"), ("follow", "3"), ("purpose", "ticket 4711")];
    let root = page_of(&search(&person, "person8", &fields));
    let page = ended(&person, &root);
    let tree = between(&page, "id=\"searches\"", "</section>");
    let started = tree.matches("/app/searches/").count();
    assert!((3..=10).contains(&started), "{tree}");
    // The third search was started for a lead of the first one.
    assert!(tree.contains("class=\"level-1\"") && tree.contains("class=\"level-2\""), "{tree}");
    assert!(server.cli(&["audit"]).contains("ticket 4711"));
    let child = text(&person.get(&first_of_tree(&page)));
    assert!(child.contains(&format!("for a lead of <a href=\"{root}\">")), "{child}");
    // A lead of a search that follows none has a button.
    let run = page_of(&search(&person, "person8", &[("type", "username")]));
    let page = ended(&person, &run);
    assert!(between(&page, "data-part=\"family\"", ">").contains("hidden"), "{page}");
    let leads = between(&page, "id=\"leads\"", "</section>");
    let button = between(leads, "<button", "</button>");
    assert!(button.contains(", 1 credit<span"), "{button}");
    let action = action_of(leads);
    let child = page_of(&person.post(&run, &action, &[]));
    assert_eq!(page_of(&person.post(&run, &action, &[])), child);
    let page = ended(&person, &run);
    assert!(page.contains(&format!("{child}\">searched<")) && !page.contains(&action), "{page}");
    assert!(!between(&page, "data-part=\"family\"", ">").contains("hidden"), "{page}");
    has_left(&person, &format!("{} of 100 credits are", 100 - started - 3));
    a_root_is_deleted_with_its_family(&person, &root, started);
}

fn a_root_is_deleted_with_its_family(person: &Person<'_>, root: &str, started: usize) {
    let confirm = format!("{root}/delete");
    let page = text(&person.get(root));
    assert!(page.contains(&format!("Also delete the {started} searches")), "{page}");
    let child = first_of_tree(&text(&person.get(root)));
    assert_eq!(person.post(root, &confirm, &[("family", "yes")]).status, 303);
    assert_eq!([root, &child].map(|path| person.get(path).status), [404, 404]);
}

/// Returns the path of the first search of a tree.
fn first_of_tree(page: &str) -> String {
    between(between(page, "id=\"searches\"", "</section>"), "<a href=\"", "\"").to_owned()
}

#[test]
fn people_have_pictures() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    for (avatars, has_pictures) in
        [(&[("type", "username"), ("avatars", "yes")][..], true), (&[("type", "username")], false)]
    {
        let run = page_of(&search(&person, "person1", avatars));
        ended(&person, &run);
        let page = text(&person.get(&run));
        let people = between(&page, "id=\"people\"", "</section>");
        let faces = people.matches("<span class=\"face\"").count();
        assert!(faces >= 4, "one for the person and for each account: {people}");
        let pictures: Vec<&str> =
            people.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(!pictures.is_empty(), has_pictures, "{people}");
        for picture in pictures {
            let answer = person.get(picture);
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/png")), "{picture}");
        }
    }
}
