//! The page of a run over HTTP: notes and marks, leads and people, and what changed since another run.

use super::person::{Person, between, page_of, text};
use crate::support::server::Setup;

const EMAIL: &str = "someone@example.com";

/// Returns the row of a result on the page of its run.
fn row(page: &str, result: u32) -> String {
    let start = format!("id=\"result-{result}\"");
    let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {start} in {page}"));
    let opening = before.rsplit('<').next().unwrap();
    format!("{opening} {}", rest.split("</tr>").next().unwrap())
}

/// Returns the sources of the overview.
fn sources(page: &str) -> &str {
    between(page, "class=\"said\"", "</dl>")
}

#[test]
fn results_get_notes_and_marks() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "unlimited");
    let page = person.ended(&person.search("everybody", &[]));
    let first = text(&person.get(&page));
    // A result of which the overview has something, and any other one.
    let id = between(sources(&first), "href=\"#result-", "\"").parse::<u32>().unwrap();
    let other = if id == 1 { 2 } else { 1 };
    let (own, annotation) = (format!("href=\"#result-{id}\""), format!("{page}/results/{id}/annotation"));
    let button = format!("formaction=\"{annotation}\" name=\"not_this_person\" value=\"yes\"");
    assert!(row(&first, id).contains(&button), "{first}");
    let answer = person.post(&page, &annotation, &[("not_this_person", "yes")]);
    assert_eq!(answer.header("location"), Some(&*format!("{page}#result-{id}")), "{answer}");
    let form = text(&person.get(&format!("{page}?note={id}")));
    assert!(form.contains(&format!("action=\"{annotation}\"")) && form.contains("autofocus"), "{form}");
    person.post_and_go(&page, &annotation, &[("note", "<b>x</b> \u{202e}\r\nsecond line")]);
    let shown = text(&person.get(&page));
    let noted = row(&shown, id);
    assert!(noted.starts_with("tr class=\"result other\""), "{noted}");
    assert!(noted.contains("&#60;b&#62;x&#60;/b&#62; \u{fffd}\nsecond line"), "{noted}");
    assert!(noted.contains("Undo “not this person”") && noted.contains("Edit note"), "{noted}");
    assert!(!row(&shown, other).contains(" other\""), "{shown}");
    // The overview speaks of the person who is searched.
    assert!(sources(&first).contains(&own) && !sources(&shown).contains(&own), "{shown}");

    // What the API has in its cache is renewed, and a note is no change of a result.
    let key = server.cli(&["key", "create", "--account", EMAIL]);
    let path = page.replace("/app", "/v1");
    let note = || {
        let run = server.request("GET", &path).key(key.trim()).send().json();
        run["results"][id as usize - 1]["annotation"]["note"].clone()
    };
    assert_ne!(note(), "y");
    person.post_and_go(&page, &annotation, &[("note", "y")]);
    assert_eq!(note(), "y");
    let again = person.ended(&person.search("everybody", &[]));
    let diff = text(&person.get(&format!("{page}/diff/{}", again.rsplit('/').next().unwrap())));
    assert!(diff.contains("Nothing has changed."), "{diff}");

    person.post_and_go(&page, &annotation, &[("not_this_person", "no"), ("note", " ")]);
    assert_eq!(row(&text(&person.get(&page)), id), row(&first, id), "as if nothing had been noted");
    assert_eq!(person.post(&page, &annotation, &[("note", &"x".repeat(1001))]).status, 400);
    for unknown in ["0", "99999", "x"] {
        let address = format!("{page}/results/{unknown}/annotation");
        assert_eq!(person.post(&page, &address, &[("note", "x")]).status, 404, "{unknown}");
    }
    assert_ne!(person.form_token(&page), person.form_token("/app"), "each page has another mask");
}

#[test]
fn runs_get_tags_and_a_note_and_are_found_by_a_tag() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "unlimited");
    let [page, other] = ["everybody", "everybody2"].map(|name| person.ended(&person.search(name, &[])));
    let notes = format!("{page}/notes");
    let fields = [("tags", "Case-7, open  prüfung"), ("note", "<i>first</i>\r\nsecond")];
    let answer = person.post(&page, &notes, &fields);
    assert_eq!(answer.header("location"), Some(&*format!("{page}#notes")), "{answer}");
    let shown = text(&person.get(&page));
    assert!(shown.contains("&#60;i&#62;first&#60;/i&#62;\nsecond"), "{shown}");
    assert!(shown.contains("maxlength=\"500\" value=\"case-7 open prüfung\""), "{shown}");
    let link = "/app/searches?tag=pr%C3%BCfung";
    assert!(shown.contains(&format!("href=\"{link}\"")), "{shown}");
    for (filter, is_there) in [
        ("?tag=pr%C3%BCfung", true),
        ("?tag=CASE-7&text=every", true),
        ("?tag=case", false),
        ("?tag=open&type=email", false),
    ] {
        let list = text(&person.get(&format!("/app/searches{filter}")));
        assert_eq!(list.contains(&format!("href=\"{page}\"")), is_there, "{filter}: {list}");
        assert!(!list.contains(&format!("href=\"{other}\"")), "{filter}: {list}");
    }
    let all = text(&person.get("/app/searches"));
    assert!(all.contains(&format!("href=\"{link}\"")) && all.contains(&format!("href=\"{other}\"")), "{all}");
    for bad in [[("tags", "a\"b"), ("note", "")], [("tags", ""), ("note", "a\u{1}b")]] {
        assert_eq!(person.post(&page, &notes, &bad).status, 400, "{bad:?}");
    }
    person.post_and_go(&page, &notes, &[("tags", ""), ("note", "")]);
    assert!(!text(&person.get("/app/searches")).contains(link));
}

#[test]
fn a_run_is_compared_with_any_other_for_the_same_query() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "unlimited");
    let queries = ["everybody", "everybody2", "@everybody", "everybody", "nobody"];
    let pages = queries.map(|query| person.ended(&person.search(query, &[])));
    let leads_to_changes = |page: &String| text(&person.get(page)).contains("What changed");
    assert_eq!(pages.each_ref().map(leads_to_changes), [false, false, true, true, false]);
    let id = |at: usize| pages[at].rsplit('/').next().unwrap();
    let diff = |before: usize, after: usize| format!("{}/diff/{}", pages[before], id(after));
    let list = text(&person.get("/app/searches"));
    assert!(pages.iter().all(|page| list.contains(&format!("href=\"{page}/compare\""))), "{list}");
    let choice = text(&person.get(&format!("{}/compare", pages[2])));
    for (before, after) in [(0, 2), (2, 3)] {
        assert!(choice.contains(&format!("href=\"{}\"", diff(before, after))), "{choice}");
    }
    assert!(!choice.contains(id(1)), "{choice}");
    let alone = text(&person.get(&format!("{}/compare", pages[1])));
    assert!(alone.contains("No other search for this query has ended."), "{alone}");
    assert!(text(&person.get(&pages[2])).contains(&format!("href=\"{}\"", diff(0, 2))));
    let page = text(&person.get(&diff(0, 2)));
    assert!(page.contains("What changed for <bdi>@everybody</bdi>"), "{page}");
    assert!(page.contains("Nothing has changed."), "{page}");
    let other = person.get(&diff(0, 4));
    assert!(other.status == 409 && text(&other).contains("cannot be compared"), "{other}");
    assert_eq!(person.get(&format!("{}/diff/x", pages[0])).status, 404);
}

#[test]
fn the_leads_of_a_search_have_a_page_and_files() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let run = person.ended(&person.search("everybody", &[("type", "username")]));
    let page = text(&person.get(&run));
    assert!(page.contains("twitter of GitHub: everybody"), "{page}");
    assert!(page.contains("id=\"people\"") && page.contains("Accounts, and why</summary>"), "{page}");
    let page = text(&person.get(&format!("{run}/graph")));
    // Each link of the list leads to an entity of it.
    let parts = |start| page.split(start).skip(1).map(|rest| rest.split('"').next().unwrap());
    let entities: Vec<&str> = parts("<li id=\"e-").collect();
    assert!(entities.len() > 10 && parts("href=\"#e-").all(|id| entities.contains(&id)), "{page}");
    let graph = person.get(&format!("{run}/graph?format=json")).json();
    assert!(graph["nodes"].as_array().unwrap().len() > entities.len());
    let markup = person.get(&format!("{run}/graph?format=graphml"));
    assert_eq!(markup.header("content-disposition"), Some("attachment; filename=\"graph.graphml\""));
    assert_eq!(person.get(&format!("{run}/graph?format=svg")).status, 400);
}

/// Returns the path of the first search of a tree.
fn first_of_tree(page: &str) -> String {
    between(between(page, "id=\"searches\"", "</section>"), "<a href=\"", "\"").to_owned()
}

#[test]
fn leads_are_followed_by_a_search_or_one_by_one() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let fields = [("type", "username"), ("follow", "3"), ("purpose", "ticket 4711")];
    let root = person.ended(&person.search("person8", &fields));
    let page = text(&person.get(&root));
    let tree = between(&page, "id=\"searches\"", "</section>");
    let started = tree.matches("/app/searches/").count();
    assert!((3..=10).contains(&started), "{tree}");
    // The third search was started for a lead of the first one.
    assert!(tree.contains("class=\"level-1\"") && tree.contains("class=\"level-2\""), "{tree}");
    assert!(server.cli(&["audit"]).contains("ticket 4711"));
    let child = first_of_tree(&page);
    assert!(text(&person.get(&child)).contains(&format!("for a lead of <a href=\"{root}\">")));
    // A lead of a search that follows none has a button.
    let run = person.ended(&person.search("person8", &[("type", "username")]));
    let page = text(&person.get(&run));
    assert!(between(&page, "data-part=\"family\"", ">").contains("hidden"), "{page}");
    let leads = between(&page, "id=\"leads\"", "</section>");
    assert!(between(leads, "<button", "</button>").contains(", 1 credit<span"), "{leads}");
    let action = between(leads, "formaction=\"", "\"");
    let action = &action[action.find("/app/").unwrap()..];
    let followed = page_of(&person.post(&run, action, &[]));
    assert_eq!(page_of(&person.post(&run, action, &[])), followed);
    let page = text(&person.get(&person.ended(&run)));
    assert!(page.contains(&format!("{followed}\">searched<")) && !page.contains(action), "{page}");
    assert!(!between(&page, "data-part=\"family\"", ">").contains("hidden"), "{page}");
    person.has_left(&format!("{} of 100 credits are", 100 - started - 3));
    // A root is deleted with its family.
    let page = text(&person.get(&root));
    assert!(page.contains(&format!("Also delete the {started} searches")), "{page}");
    assert_eq!(person.post(&root, &format!("{root}/delete"), &[("family", "yes")]).status, 303);
    assert_eq!([&root, &child].map(|path| person.get(path).status), [404, 404]);
}

#[test]
fn people_have_pictures() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    for (avatars, has_pictures) in [(&[("avatars", "yes")][..], true), (&[], false)] {
        let fields = [&[("type", "username")], avatars].concat();
        let page = text(&person.get(&person.ended(&person.search("person1", &fields))));
        let people = between(&page, "id=\"people\"", "</section>");
        let faces = people.matches("<span class=\"face\"").count();
        assert!(faces >= 4, "one for the person and for each account: {people}");
        let pictures = people.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert_eq!(pictures.clone().next().is_some(), has_pictures, "{people}");
        for picture in pictures {
            let answer = person.get(picture);
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/png")), "{picture}");
        }
    }
}
