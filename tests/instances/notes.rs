//! Notes that are made through an instance that does not drive the run.

use super::*;

#[test]
fn a_note_made_at_one_instance_is_shown_by_all() {
    let cluster = Cluster::start(2, 3, &[]);
    cluster.site.open_all();
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let path = format!("/v1/searches/{run}");
    // The run is in the memory of the first instance, and in the cache of the second one.
    for server in [one, two] {
        server.finished(&run);
        assert_eq!(server.get(&path).json().get("note"), None);
    }
    let patch = |path: &str, body: serde_json::Value| {
        let answer = two.request("PATCH", path).key(&two.key).json(&body).send();
        assert_eq!(answer.status, 200, "{answer}");
    };
    patch(&path, json!({"note": "seen", "tags": ["case-7"]}));
    patch(&format!("{path}/results/1/annotation"), json!({"not_this_person": true}));
    for server in [one, two] {
        eventually("it is shown", || {
            let shown = server.get(&path).json();
            let mark = &shown["results"][0]["annotation"]["not_this_person"];
            (&shown["note"], &shown["tags"], mark) == (&json!("seen"), &json!(["case-7"]), &json!(true))
        });
    }
}
