//! The pages of batches over HTTP.

use super::person::{Person, field_of, text};
use crate::support::databases::databases;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Setup};

const PAGE: &str = "/app/batches";
const NAME: &str = "<b>two</b> sites";

/// Sends the form with domains, and with `start` if the list was checked.
fn send(person: &Person<'_>, once: &str, list: &str, start: Option<&str>) -> Answer {
    let mut fields = vec![("name", NAME), ("type", "domain"), ("list", list), ("once", once)];
    fields.extend(start.map(|start| ("start", start)));
    person.post(PAGE, PAGE, &fields)
}

/// Returns the address of the page to which the answer redirects.
fn place(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer}");
    answer.header("location").unwrap().to_owned()
}

/// Waits until a batch shows this text. The part for the script is not limited per minute.
fn shows(person: &Person<'_>, batch: &str, wanted: &str) -> String {
    person.shows(&format!("{batch}/state"), |part| part.contains(wanted))
}

#[test]
fn a_list_is_checked_started_once_and_followed_to_its_end() {
    for database in databases() {
        let server = Setup::new().all_modules().database(&database.url).start();
        let person = Person::signed_in(&server, "person@example.org", "free");
        let empty = person.get(PAGE);
        assert!(text(&empty).contains("There is no batch yet."), "{empty}");
        let once = field_of(&empty, "once");
        mistakes_are_told(&person, &once);
        let batch = one_form_is_one_batch(&person, &once);
        let part = shows(&person, &batch, ">Completed</span> <strong>2 of 2</strong> done");
        assert!(!part.contains("data-open") && !part.contains("Stop…"), "{part}");
        // What the scripts of open pages request takes no notice from the next page.
        // This is the number of the notice of a key that was revoked.
        person.set_cookie("sightline-notice", "5");
        for (path, accept) in [(format!("{batch}/state"), "text/html"), (batch.clone(), "*/*")] {
            person.fetch(&path, accept);
        }
        assert!(text(&person.get(PAGE)).contains("revoked"));
        assert!(!text(&person.get(PAGE)).contains("revoked"));
        let page = text(&person.get(&batch));
        assert!(page.contains("&#60;b&#62;two") && !page.contains("<b>two"), "{page}");
        let run = page.split("href=\"").find(|rest| rest.starts_with("/app/searches/")).unwrap();
        let run = text(&person.get(run.split('"').next().unwrap()));
        assert!(run.contains(&format!("href=\"{batch}\"")), "{run}");
        // The others are links of the manual and the list.
        assert!(text(&person.get(PAGE)).contains("2 of 2"));
        the_matrix_shows_platforms_with_hits(&person, &batch);
        // The API has the same files.
        let answer = person.get(&format!("{batch}/export?format=csv"));
        assert!(answer.header("content-disposition").unwrap().ends_with("-simulated.csv\""), "{answer}");
        assert!(text(&answer).contains("example.org"), "{answer}");
        assert_eq!(person.get(&format!("{batch}/export?format=html")).status, 400);
    }
}

/// A list with mistakes is told with its lines, costs nothing and cannot be started.
fn mistakes_are_told(person: &Person<'_>, once: &str) {
    let list = "type,query\ndomain,example.com\ndomain,EXAMPLE.com\n\nemail,</textarea><script>alert(1)\n";
    let answer = send(person, once, list, None);
    assert_eq!(answer.status, 200, "{answer}");
    let page = text(&answer);
    for told in [
        "<strong>1 search is not valid.</strong>",
        ">Line 5</th>",
        "Search 2 is the same as search 1.",
        "<dd>1</dd>",
        "5 of 5 credits are left",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("name=\"start\"") && !page.contains("<script>alert"), "{page}");
    for list in ["", "a,b\n1,2\n", &"example.com\n".repeat(1001)] {
        let answer = send(person, once, list, None);
        assert_eq!(answer.status, 422, "{answer}");
        assert!(text(&answer).contains("id=\"list-wrong\""), "{answer}");
    }
    let answer = person.post(PAGE, PAGE, &[("name", &"x".repeat(101)), ("list", "a")]);
    assert!(answer.status == 422 && text(&answer).contains("id=\"name-wrong\""), "{answer}");
}

/// A form that is sent again leads to the same batch. A list that was changed after its check is not started.
fn one_form_is_one_batch(person: &Person<'_>, once: &str) -> String {
    let list = "example.com\r\nexample.org\r\n";
    let checked = send(person, once, list, None);
    let (start, kept) = (field_of(&checked, "start"), field_of(&checked, "once"));
    assert_eq!(kept, once);
    let changed = send(person, once, "example.net\n", Some(&start));
    assert!(changed.status == 200 && field_of(&changed, "start") != start, "{changed}");
    assert!(text(&person.get(PAGE)).contains("There is no batch yet."));
    let batch = place(&send(person, once, list, Some(&start)));
    assert!(batch.starts_with("/app/batches/"), "{batch}");
    assert_eq!(place(&send(person, once, list, Some(&start))), batch);
    let other = send(person, once, "example.net\n", Some(&field_of(&changed, "start")));
    assert!(other.status == 409 && text(&other).contains("another batch already"), "{other}");
    assert_ne!(field_of(&other, "once"), once);
    let page = text(&person.get(PAGE));
    assert_eq!(page.matches("href=\"/app/batches/").count(), 1, "{page}");
    batch
}

fn the_matrix_shows_platforms_with_hits(person: &Person<'_>, batch: &str) {
    let [hits, all] = ["", "?all=yes"].map(|query| text(&person.get(&format!("{batch}/matrix{query}"))));
    let columns = |page: &str| page.matches("<th scope=\"col\">").count();
    assert!(columns(&hits) > 2 && columns(&all) > columns(&hits), "{hits}");
    assert!(hits.contains("<td class=\"hit\">Hit</td>") && all.contains(">Miss</td>"), "{hits}");
    assert!(hits.contains("?after=0&amp;all=yes") && hits.contains("Searches 1 to 2 of 2"), "{hits}");
    let later = text(&person.get(&format!("{batch}/matrix?after=2")));
    assert!(later.contains("There is no search here."), "{later}");
}

#[test]
fn a_list_that_came_too_soon_can_be_sent_again() {
    let server = Setup::new().flag("--rate-limits=search=1").start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let once = field_of(&person.get(PAGE), "once");
    assert_eq!(send(&person, &once, "example.com", None).status, 200);
    let soon = send(&person, &once, "example.com\nexample.net", None);
    assert!(soon.status == 429 && text(&soon).contains(">Send again<"), "{soon}");
    assert_eq!(field_of(&soon, "list"), "example.com\nexample.net");
    assert_eq!(
        (field_of(&soon, "once"), field_of(&soon, "name")),
        (once, NAME.replace('<', "&#60;").replace('>', "&#62;"))
    );
}

#[test]
fn a_batch_is_stopped_after_a_confirmation() {
    let site = GatedSite::start();
    let server = Setup::real().flags(&site.flags(0, 1)).flag("--max-runs=16").start();
    let person = Person::signed_in(&server, "person@example.org", "free");
    let once = field_of(&person.get(PAGE), "once");
    // More searches than credits: the batch would wait for more.
    let list = "alice\nbob\ncarol\ndave\nerin\nfrank\n";
    let fields = [("type", "username"), ("list", list), ("once", once.as_str())];
    let checked = person.post(PAGE, PAGE, &fields);
    assert!(text(&checked).contains("Not enough credits."), "{checked}");
    let start = field_of(&checked, "start");
    let batch = place(&person.post(PAGE, PAGE, &[&fields[..], &[("start", start.as_str())]].concat()));
    shows(&person, &batch, "running</dt><dd>1</dd>");
    let page = text(&person.get(&batch));
    assert!(page.contains("http-equiv=\"refresh\"") && page.contains("data-open"), "{page}");
    assert!(page.contains("5 searches have not begun"), "{page}");
    assert_eq!(place(&person.post(&batch, &format!("{batch}/stop"), &[])), batch);
    let page = text(&person.get(&batch));
    assert!(page.contains(">Stopped</span>") && page.contains("skipped</dt><dd>5</dd>"), "{page}");
    assert!(!page.contains("Stop…"), "{page}");
    site.open();
    let part = shows(&person, &batch, "completed</dt><dd>1</dd>");
    assert!(part.contains(">Stopped</span>"), "{part}");
    let ended = person.shows(&format!("{batch}/state"), |part| !part.contains("data-open"));
    assert!(ended.contains(">Skipped</span>"), "{ended}");
}
