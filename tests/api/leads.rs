//! Leads and graphs of runs.

use std::fs;

use serde_json::Value;

use crate::support::databases::databases;
use crate::support::folder::Folder;
use crate::support::python::venv;
use crate::support::server::{Server, Setup};

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
fn leads_and_graphs_are_the_same_after_a_restart() {
    for database in databases() {
        let server = Setup::new().all_modules().database(&database.url).start();
        let run = server.search("username", "everybody");
        server.finished(&run);
        let (leads_before, graph_before) = (leads(&server, &run), graph(&server, &run));
        let all = leads_before["leads"].as_array().unwrap();
        assert!(all.len() > 5, "{leads_before}");
        assert_eq!(leads_before["count"], all.len());
        assert!(all.iter().all(|lead| !lead["sources"].as_array().unwrap().is_empty()));
        let nodes = graph_before["nodes"].as_array().unwrap();
        assert_eq!((&nodes[0]["kind"], &nodes[0]["value"]), (&"query".into(), &"everybody".into()));
        let server = server.restart(&[]);
        assert_eq!(leads(&server, &run), leads_before, "{}", database.name);
        assert_eq!(graph(&server, &run), graph_before, "{}", database.name);
    }
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
fn other_formats_are_refused() {
    let server = Setup::new().start();
    let run = server.search("username", "nobody");
    server.finished(&run);
    let refused = server.get(&format!("/v1/searches/{run}/graph?format=xml"));
    assert_eq!(refused.status, 400, "{refused}");
    assert!(refused.to_string().contains("graphml"), "{refused}");
    assert_eq!(leads(&server, &run)["leads"], Value::Array(Vec::new()));
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
                    assert_eq!(
                        (answer.status, answer.header("content-type")),
                        (200, Some(media)),
                        "{answer}"
                    );
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
