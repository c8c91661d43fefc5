//! The rules that hold for every route of the web app: its session, its token, its owner, its operator.

use sightline::web::routes::{Access, ROUTES};

use super::person::{Person, between, field_of, text};
use crate::support::databases::sqlite;
use crate::support::server::Answer;
use crate::webhooks::lab::lab;

/// Something of each kind that belongs to one person: the name of the parameter, the start of the path, and the id.
struct Own(Vec<(&'static str, &'static str, String)>);

impl Own {
    fn make(owner: &Person) -> Self {
        let run = owner.ended(&owner.search("everybody", &[]));
        let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
        let watch = [("query", "everybody"), ("every", "1d"), ("notify_on", "added")];
        let watch = owner.post("/app/watches", "/app/watches", &watch);
        let list = "example.com\n";
        let fields =
            [("type", "domain"), ("list", list), ("once", &field_of(&owner.get("/app/batches"), "once"))];
        let start = field_of(&owner.post("/app/batches", "/app/batches", &fields), "start");
        let batch = owner.post("/app/batches", "/app/batches", &[&fields[..], &[("start", &start)]].concat());
        let hook = [("url", "https://hooks.example.com/"), ("event", "run.failed")];
        owner.post_and_go("/app/webhooks", "/app/webhooks", &hook);
        let hooks = text(&owner.get("/app/webhooks"));
        let hook = between(&hooks, "href=\"/app/webhooks/", "\"").to_owned();
        let page = format!("/app/webhooks/{hook}");
        let tested = text(&owner.post_and_go(&page, &format!("{page}/test"), &[]));
        let keys = text(&owner.post_and_go("/app/keys", "/app/keys", &[("label", "mine")]));
        let account = text(&owner.get("/app/account"));
        let made = |answer: &Answer| id(answer.header("location").unwrap());
        Self(vec![
            ("{run_id}", "/app", id(&run)),
            ("{other}", "/app", id(&run)),
            ("{result_id}", "/app", "1".to_owned()),
            ("{lead_id}", "/app", "1".to_owned()),
            ("{batch_id}", "/app", made(&batch)),
            ("{watch_id}", "/app", made(&watch)),
            ("{delivery_id}", "/app", between(&tested, "/deliveries/", "/").to_owned()),
            ("{webhook_id}", "/app", hook),
            ("{id}", "/app/keys", between(&keys, "action=\"/app/keys/", "/revoke").to_owned()),
            ("{id}", "/app/account", between(&account, "/app/account/sessions/", "/revoke").to_owned()),
        ])
    }

    fn path(&self, path: &str) -> String {
        let own = self.0.iter().filter(|(_, start, _)| path.starts_with(start));
        own.fold(path.to_owned(), |path, (name, _, id)| path.replace(name, id))
    }
}

#[test]
fn every_route_needs_a_session_a_token_and_the_owner() {
    let database = sqlite();
    let server = lab(&database).start();
    let owner = Person::signed_in(&server, "owner@example.org", "unlimited");
    let stranger = Person::signed_in(&server, "stranger@example.org", "unlimited");
    let own = Own::make(&owner);
    server.cli(&["account", "set-role", "--email", "owner@example.org", "--role", "operator"]);
    for route in ROUTES {
        if matches!(route.endpoint.access, Access::File | Access::Anyone) {
            continue;
        }
        let (mut path, is_page) = (own.path(route.path), route.method == "GET");
        if is_page && path.ends_with("/export") {
            path.push_str("?format=json");
        }
        let once = field_of(&stranger.get("/app"), "once");
        let fields = [("once", once.as_str()), ("note", "x"), ("label", "x")];
        let nobody = Person::new(&server);
        let refused = if is_page { nobody.get(&path) } else { nobody.post_as(&path, &fields, &[]) };
        assert_eq!(refused.status, 303, "without a session: {refused}");
        assert!(refused.header("location").unwrap().starts_with("/app/sign-in"), "{refused}");
        if !is_page {
            let forged = owner.post_as(&path, &fields, &[]);
            assert_eq!(forged.status, 403, "without its token: {forged}");
            assert!(text(&forged).contains("Nothing was done"), "{forged}");
        }
        // Pages without an id show what belongs to the caller.
        let status = match (route.endpoint.access, route.path.contains('{')) {
            (Access::Operator, _) => 403,
            (_, true) => 404,
            (_, false) => continue,
        };
        let answer = if is_page { stranger.get(&path) } else { stranger.post("/app", &path, &fields) };
        assert_eq!(answer.status, status, "{answer}");
    }
    for path in ["/app/searches", "/app/batches", "/app/watches", "/app/webhooks", "/app/keys"] {
        let (of_owner, of_stranger) = (text(&owner.get(path)), text(&stranger.get(path)));
        assert!(
            of_owner.contains(&format!("{path}/0")) && !of_stranger.contains(&format!("{path}/0")),
            "{path}"
        );
    }
}
