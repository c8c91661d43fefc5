//! Tags, notes and marks in the web app, without scripts.

use super::person::{Person, between, field_of, text};
use super::searches::{page_of, search};
use crate::support::eventually;
use crate::support::server::Setup;

/// Runs a search to its end and returns the address of its page.
fn ended(person: &Person<'_>, query: &str) -> String {
    let page = page_of(&search(person, query, &[]));
    eventually("the end of a search", || text(&person.get(&page)).contains(">Completed<"));
    page
}

/// Returns the row of a result on the page of its run.
fn row(page: &str, result: u32) -> String {
    let start = format!("id=\"result-{result}\"");
    let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {start} in {page}"));
    let opening = before.rsplit('<').next().unwrap();
    format!("{opening} {}", rest.split("</tr>").next().unwrap())
}

#[test]
fn results_get_notes_and_marks() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let page = ended(&person, "everybody");
    let first = text(&person.get(&page));
    assert!(first.contains("data-part=\"overview\""), "{first}");
    let sources =
        |page: &str| page.split("class=\"said\"").nth(1).unwrap().split("</dl>").next().unwrap().to_owned();
    // A result of which the overview has something, and any other one.
    let id = between(&sources(&first), "href=\"#result-", "\"").parse::<u32>().unwrap();
    let other = if id == 1 { 2 } else { 1 };
    let own = format!("href=\"#result-{id}\"");
    let annotation = format!("{page}/results/{id}/annotation");
    assert!(
        row(&first, id)
            .contains(&format!("formaction=\"{annotation}\" name=\"not_this_person\" value=\"yes\""))
    );

    let answer = person.post(&page, &annotation, &[("not_this_person", "yes")]);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some(&*format!("{page}#result-{id}"))),
        "{answer}"
    );
    let form = text(&person.get(&format!("{page}?note={id}")));
    assert!(form.contains(&format!("action=\"{annotation}\"")) && form.contains("autofocus"), "{form}");
    let note = "<b>x</b> \u{202e}\r\nsecond line";
    person.post_and_go(&page, &annotation, &[("note", note)]);
    let shown = text(&person.get(&page));
    let noted = row(&shown, id);
    assert!(noted.starts_with("tr class=\"result other\""), "{noted}");
    assert!(noted.contains("&#60;b&#62;x&#60;/b&#62; \u{fffd}\nsecond line"), "{noted}");
    assert!(noted.contains("Undo “not this person”") && noted.contains("Edit note"), "{noted}");
    assert!(!row(&shown, other).contains(" other\""), "{shown}");
    // The overview speaks of the person who is searched.
    assert!(sources(&first).contains(&own), "{}", sources(&first));
    assert!(!sources(&shown).contains(&own), "{}", sources(&shown));

    person.post_and_go(&page, &annotation, &[("not_this_person", "no"), ("note", " ")]);
    assert_eq!(row(&text(&person.get(&page)), id), row(&first, id), "as if nothing had been noted");
    assert_eq!(person.post(&page, &annotation, &[("note", &"x".repeat(1001))]).status, 400);
    assert_eq!(person.post_as(&annotation, &[("note", "x")], &[]).status, 403, "without its token");
    for unknown in ["0", "99999", "x"] {
        let address = format!("{page}/results/{unknown}/annotation");
        assert_eq!(person.post(&page, &address, &[("note", "x")]).status, 404, "{unknown}");
    }
    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    assert_eq!(stranger.post("/app", &annotation, &[("note", "x")]).status, 404);
}

#[test]
fn runs_get_tags_and_a_note_and_are_found_by_a_tag() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let (page, other) = (ended(&person, "everybody"), ended(&person, "everybody2"));
    let notes = format!("{page}/notes");
    let fields = [("tags", "Case-7, open  prüfung"), ("note", "<i>first</i>\r\nsecond")];
    let answer = person.post(&page, &notes, &fields);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some(&*format!("{page}#notes"))),
        "{answer}"
    );
    let shown = text(&person.get(&page));
    assert!(shown.contains("&#60;i&#62;first&#60;/i&#62;\nsecond"), "{shown}");
    assert!(
        shown.contains("name=\"tags\" type=\"text\" maxlength=\"500\" value=\"case-7 open prüfung\""),
        "{shown}"
    );
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
        let refused = person.post(&page, &notes, &bad);
        assert_eq!(refused.status, 400, "{refused}");
    }
    person.post_and_go(&page, &notes, &[("tags", ""), ("note", "")]);
    assert!(!text(&person.get("/app/searches")).contains(link));
    assert_eq!(person.post_as(&notes, &fields, &[]).status, 403, "without its token");
    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    assert_eq!(stranger.post("/app", &notes, &fields).status, 404);
}

#[test]
fn notes_are_no_change_of_a_result() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let (first, second) = (ended(&person, "everybody"), ended(&person, "everybody"));
    let annotation = format!("{first}/results/1/annotation");
    person.post_and_go(&first, &annotation, &[("note", "x"), ("not_this_person", "yes")]);
    let diff = text(&person.get(&format!("{first}/diff/{}", second.rsplit('/').next().unwrap())));
    assert!(diff.contains("Nothing has changed."), "{diff}");
    // What the API has in its cache is renewed, too.
    let key = server.cli(&["key", "create", "--account", "someone@example.com"]);
    let path = first.replace("/app", "/v1");
    let ask =
        || server.request("GET", &path).key(key.trim()).send().json()["results"][0]["annotation"].clone();
    assert_eq!(ask()["note"], "x");
    person.post_and_go(&first, &annotation, &[("note", "y")]);
    assert_eq!(ask()["note"], "y");
    assert_ne!(
        field_of(&person.get(&first), "csrf"),
        person.form_token("/app"),
        "each page has another mask"
    );
}
