//! Graphs that hold together, and which links are leads. `runs.txt` has what clients do with both.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::support::folder::Folder;
use crate::support::modules::own_flags;
use crate::support::python::venv;
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, ok};

fn leads(server: &Server, run: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{run}/leads"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

fn graph(server: &Server, run: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{run}/graph"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

#[test]
fn every_edge_joins_two_nodes_and_every_lead_is_one() {
    let server = Setup::new().start();
    for (kind, query) in
        [("username", "everybody"), ("email", "everybody@example.com"), ("domain", "everybody.com")]
    {
        let run = server.search(kind, query);
        server.finished(&run);
        let graph = graph(&server, &run);
        let ids: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["id"]).collect();
        for edge in graph["edges"].as_array().unwrap() {
            assert!(ids.contains(&&edge["from"]) && ids.contains(&&edge["to"]), "{edge}");
        }
        for lead in leads(&server, &run)["leads"].as_array().unwrap() {
            // The name of an account is a lead of its own, which no result has shown.
            assert!(lead["type"] == "username" || ids.contains(&&lead["lead_id"]), "{lead}");
        }
    }
}

#[test]
fn pages_and_hosts_of_sites_are_no_usernames_and_no_domains() {
    let lines = include_str!("links.txt").lines().skip_while(|line| !line.is_empty()).skip(1);
    let (links, wanted): (Vec<&str>, Vec<&str>) =
        lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).unzip();
    let body = json!({"user": {"name": "alice", "links": links, "vk": "id777", "youtube": "UC_x5XG1OV2P6uZZ5FqM9Ttw"}});
    let site = Site::saying(ok(&body.to_string()));
    // The built-in modules say which addresses are profiles. They are not asked.
    let sites = concat!(env!("CARGO_MANIFEST_DIR"), "/src/modules/catalog/sites");
    let all = fs::read_dir(sites).unwrap().map(|file| file.unwrap().path());
    let all = all.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("username-"));
    let mut modules: Vec<Value> = all
        .flat_map(|path| serde_json::from_slice::<Vec<Value>>(&fs::read(path).unwrap()).unwrap())
        .collect();
    modules.push(json!({
        "id": "linky", "platform": "Linky", "type": "username", "category": "misc", "control": false,
        "probes": [{"url": site.url("/{query}")}],
        "hit": [{"status": [200], "json": [{"at": "/user/name", "equals_query": true}]}],
        "miss": [{"status": [404]}],
        "result": {"type": "profile", "metadata": {
            "links": {"from": ["json:/user/links/*"], "all": true, "limit": 50},
            "vk": "json:/user/vk", "youtube": "json:/user/youtube"
        }}
    }));
    let folder = Folder::new();
    let server = Setup::real().flags(&own_flags(&folder, &modules)).start();
    let start = json!({"type": "username", "query": "alice", "modules": ["linky"], "wait": true});
    let run = server.post(&start).json()["run_id"].as_str().unwrap().to_owned();
    let leads = leads(&server, &run);
    let leads = leads["leads"].as_array().unwrap().iter().filter(|lead| lead["type"] != "url");
    let text = |lead: &Value, name: &str| lead[name].as_str().unwrap().to_owned();
    let found: BTreeSet<String> = leads.map(|lead| text(lead, "type") + " " + &text(lead, "value")).collect();
    let wanted =
        wanted.iter().flat_map(|leads| leads.split_whitespace()).map(|lead| lead.replacen(':', " ", 1));
    let wanted: BTreeSet<String> = wanted.chain(["account id777".to_owned()]).collect();
    let of_youtube = |lead: &String| lead.contains("UC_x5XG1OV2P6uZZ5FqM9Ttw") && lead.starts_with("account");
    let found: BTreeSet<String> = found.into_iter().filter(|lead| !of_youtube(lead)).collect();
    assert_eq!(found, wanted);
}

mod campaigns {
    use super::*;

    /// Other programs read the files: NetworkX the GraphML, the validator of OASIS the STIX bundle.
    #[test]
    fn graphs_are_valid_for_other_programs() {
        let server = Setup::new().start();
        let folder = Folder::new();
        let tools = venv(&["networkx==3.6.1", "stix2-validator==3.3.2"]);
        for (kind, query) in
            [("username", "everybody"), ("email", "everybody@example.com"), ("domain", "everybody.com")]
        {
            let run = server.search(kind, query);
            server.finished(&run);
            let counts = graph(&server, &run);
            let count = |name: &str| counts[name].as_array().unwrap().len();
            // An export also says which run it shows, and its coverage.
            for path in ["graph", "export"] {
                for (format, media) in
                    [("graphml", "application/xml"), ("stix", "application/stix+json;version=2.1")]
                {
                    let answer = server.get(&format!("/v1/searches/{run}/{path}?format={format}"));
                    assert_eq!(answer.status, 200, "{answer}");
                    assert_eq!(answer.header("content-type"), Some(media), "{answer}");
                    fs::write(folder.path(&format!("{format}.json")), &answer.body).unwrap();
                }
                let script = "import sys, networkx; g = networkx.read_graphml(sys.argv[1], force_multigraph=True); \
                          print(g.number_of_nodes(), g.number_of_edges())";
                let read = tools
                    .command("python")
                    .args(["-c", script])
                    .arg(folder.path("graphml.json"))
                    .output()
                    .unwrap();
                let shown = String::from_utf8_lossy(&read.stdout);
                assert_eq!(shown.trim(), format!("{} {}", count("nodes"), count("edges")), "{read:?}");
                let validated =
                    tools.command("stix2_validator").arg(folder.path("stix.json")).output().unwrap();
                assert!(validated.status.success(), "{}", String::from_utf8_lossy(&validated.stdout));
            }
        }
    }
}
