//! A graph as a file: GraphML (<http://graphml.graphdrawing.org/>) and STIX 2.1 bundles
//! (<https://docs.oasis-open.org/cti/stix/v2.1/>).
//!
//! | node | STIX object |
//! |---|---|
//! | account, username | `user-account` |
//! | email | `email-addr` |
//! | domain | `domain-name` |
//! | url, archive | `url` |
//! | IP address | `ipv4-addr`, `ipv6-addr` |
//! | person_name | `identity` |
//! | other kinds | none |
//!
//! An edge is a `relationship`, the results about an observable are an `observed-data`, and the coverage of a run is a
//! `note` about its query. All ids are UUIDs of version 5, so that the same entities give the same ids.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use askama::Template;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::base::clock::{rfc3339_millis, to_the_second};
use crate::base::ids::named_uuid;
use crate::model::entity::identified::web_address;
use crate::model::run::RunSummary;
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::runs::graph::{Edge, Graph, Node, label};
use crate::runs::record::RunRecord;

/// The namespace of the ids of observables (STIX 2.1, section 2.9).
const OBSERVABLES: Uuid = Uuid::from_u128(0x00ab_edb4_aa42_466c_9c01_fed2_3315_a9b7);
/// The namespace of the ids of other objects. It never changes.
const OBJECTS: Uuid = Uuid::from_u128(0x2c8e_51d7_94b3_4e0f_a6c2_7b1f_0d38_e95a);

/// A graph as GraphML, with what is known of `run` if it is that of one run.
#[derive(Template)]
#[template(path = "graph.graphml", config = "src/report/html/askama.toml")]
pub(super) struct GraphMl<'g> {
    pub(super) graph: &'g Graph,
    pub(super) run: Option<&'g RunRecord>,
}

/// Returns the start of a run, and its end or the time of this state.
fn time(run: &RunRecord) -> (Timestamp, Timestamp) {
    (run.summary.created_at, run.summary.completed_at.unwrap_or(run.as_of))
}

/// Returns which run it is, and whether its results are complete and real.
fn head(run: &RunRecord) -> String {
    let RunSummary { search_type, query, id, status, simulated, .. } = &run.summary;
    let (from, to) = (to_the_second(time(run).0), to_the_second(time(run).1));
    let web = if *simulated { " Simulated: nothing in it is real." } else { "" };
    format!("{search_type} search for {query}, {from} to {to}, run {id}, {}.{web}", status.as_str())
}

/// Returns how many modules gave an answer, and which gave none.
fn coverage(run: &RunRecord) -> String {
    let coverage = &run.summary.coverage;
    let mut text = format!("{}.{}", coverage.answers_text(), coverage.unknown_text());
    if let Some(cuts) = coverage.cuts_text() {
        text += &format!(" {cuts}.");
    }
    for outcome in Outcome::ALL.into_iter().filter(|outcome| !outcome.is_conclusive()) {
        let modules = run.modules_that(outcome).into_iter().map(|module| match module.reason {
            Some(reason) => format!("{} ({})", module.platform, reason.as_phrase()),
            None => module.platform.clone(),
        });
        let modules: Vec<String> = modules.collect();
        if !modules.is_empty() {
            text += &format!(" {}: {}.", outcome.title(), modules.join(", "));
        }
    }
    text
}

/// Returns the STIX bundle of a graph, with a note about `run` if it is that of one run.
pub(super) fn stix(graph: &Graph, run: Option<&RunRecord>) -> Value {
    let mut objects = Vec::new();
    // The ids of the nodes' objects. Nodes of one observable have the same.
    let mut ids: HashMap<Uuid, String> = HashMap::new();
    let mut seen = HashSet::new();
    for node in &graph.nodes {
        let Some(object) = object(node) else { continue };
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        if seen.insert(id.clone()) {
            objects.push(object);
        }
        objects.extend(observation(node, &id));
        ids.insert(node.id, id);
    }
    let confidences: HashMap<Uuid, f64> = graph.nodes.iter().map(|node| (node.id, node.confidence)).collect();
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (ids.get(&edge.from), ids.get(&edge.to)) {
            objects.push(relationship(edge, from, to, confidences[&edge.to]));
        }
    }
    let query = graph.nodes.iter().find(|node| node.query_type.is_some());
    if let (Some(run), Some(id)) = (run, query.and_then(|query| ids.get(&query.id))) {
        objects.push(note(run, id));
    }
    let all: String = objects.iter().filter_map(|object| object["id"].as_str()).collect();
    json!({ "type": "bundle", "id": object_id("bundle", &all), "objects": objects })
}

/// Returns the object of a node, or `None` if STIX has none for its kind.
fn object(node: &Node) -> Option<Value> {
    let value = node.value.as_str();
    let kind = match node.entity_kind {
        ResultType::Account | ResultType::Profile | ResultType::Username => return Some(user_account(node)),
        ResultType::PersonName => {
            let name = json!({ "name": value, "identity_class": "individual" });
            return Some(domain_object("identity", &node.id.to_string(), node.seen?, node.confidence, name));
        }
        ResultType::Email if value.contains('@') => "email-addr",
        ResultType::Domain if Query::parse(SearchType::Domain, value).is_ok() => "domain-name",
        ResultType::Url | ResultType::Archive if web_address(value).is_some() => "url",
        ResultType::IpAddress => match value.parse().ok()? {
            IpAddr::V4(_) => "ipv4-addr",
            IpAddr::V6(_) => "ipv6-addr",
        },
        _ => return None,
    };
    Some(observable(kind, json!({ "value": value })))
}

fn user_account(node: &Node) -> Value {
    let mut properties = json!({ "account_login": node.value });
    if let Some(platform) = &node.platform {
        properties["account_type"] = account_type(platform).into();
    }
    let mut object = observable("user-account", properties);
    if let Some(name) = &node.display_name {
        object["display_name"] = name.as_str().into();
    }
    object
}

/// Returns the name of a platform as STIX writes types of accounts: `stack-overflow`.
fn account_type(platform: &str) -> String {
    let words = platform.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Returns an observable. Its id is made from the given properties as canonical JSON (RFC 8785), which sorts them by name.
fn observable(kind: &str, mut properties: Value) -> Value {
    properties.sort_all_objects();
    let id = format!("{kind}--{}", named_uuid(&OBSERVABLES, properties.to_string().as_bytes()));
    with(json!({ "type": kind, "spec_version": "2.1", "id": id }), properties)
}

/// Returns the observation of an observable, or `None` if no result is about it.
fn observation(node: &Node, id: &str) -> Option<Value> {
    let seen = node.seen.filter(|_| !id.starts_with("identity--"))?;
    let [first_observed, last_observed] = [seen.0, seen.1].map(rfc3339_millis);
    let more = json!({
        "first_observed": first_observed, "last_observed": last_observed, "number_observed": node.results.len(),
        "object_refs": [id],
    });
    Some(domain_object("observed-data", id, seen, node.confidence, more))
}

fn relationship(edge: &Edge, from: &str, to: &str, confidence: f64) -> Value {
    let (class, field) = (edge.class.as_str(), edge.field.as_deref().unwrap_or_default());
    let name = format!("{from} {to} {class} {field} {} {}", edge.run_id, edge.result_id);
    let description = if field.is_empty() { class.to_owned() } else { format!("{class} in {field}") };
    let more = json!({
        "relationship_type": "related-to", "description": description, "source_ref": from, "target_ref": to,
    });
    domain_object("relationship", &name, (edge.at, edge.at), confidence, more)
}

/// Returns the note about the query of a run.
fn note(run: &RunRecord, query: &str) -> Value {
    let [created, modified] = <[Timestamp; 2]>::from(time(run)).map(rfc3339_millis);
    json!({
        "type": "note", "spec_version": "2.1", "id": object_id("note", &format!("{} {modified}", run.summary.id)),
        "created": created, "modified": modified, "abstract": head(run), "content": coverage(run),
        "object_refs": [query],
    })
}

fn domain_object(
    kind: &str,
    name: &str,
    seen: (Timestamp, Timestamp),
    confidence: f64,
    more: Value,
) -> Value {
    let [created, modified] = [seen.0, seen.1].map(rfc3339_millis);
    let head = json!({
        "type": kind, "spec_version": "2.1", "id": object_id(kind, name), "created": created, "modified": modified,
        "confidence": (confidence.clamp(0.0, 1.0) * 100.0).round() as u8,
    });
    with(head, more)
}

/// Returns an object with the members of both.
fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

fn object_id(kind: &str, name: &str) -> String {
    format!("{kind}--{}", named_uuid(&OBJECTS, format!("{kind} {name}").as_bytes()))
}
