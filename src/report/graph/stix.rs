//! STIX 2.1 bundles (<https://docs.oasis-open.org/cti/stix/v2.1/>).
//!
//! | node | object |
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

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::about::About;
use crate::base::clock::rfc3339_millis;
use crate::model::entity::identified::web_address;
use crate::modules::definition::ResultType;
use crate::modules::query::{Query, SearchType};
use crate::runs::graph::{Edge, Graph, Node};

/// The namespace of the ids of observables (STIX 2.1, section 2.9).
const OBSERVABLES: Uuid = Uuid::from_u128(0x00ab_edb4_aa42_466c_9c01_fed2_3315_a9b7);
/// The namespace of the ids of other objects. It never changes.
const OBJECTS: Uuid = Uuid::from_u128(0x2c8e_51d7_94b3_4e0f_a6c2_7b1f_0d38_e95a);

/// Returns the bundle of a graph, with what `about` says of the run.
pub(super) fn bundle(graph: &Graph, about: Option<&About>) -> Value {
    let mut objects = Vec::new();
    let mut ids: HashMap<Uuid, String> = HashMap::new();
    let mut told: HashSet<String> = HashSet::new();
    for node in &graph.nodes {
        let Some(object) = object(node) else { continue };
        let id = object["id"].as_str().unwrap_or_default().to_owned();
        if told.insert(id.clone()) {
            objects.push(object);
        }
        objects.extend(observation(node, &id));
        ids.insert(node.id, id);
    }
    let confidences: HashMap<Uuid, f64> = graph.nodes.iter().map(|node| (node.id, node.confidence)).collect();
    for edge in &graph.edges {
        if let (Some(from), Some(to)) = (ids.get(&edge.from), ids.get(&edge.to)) {
            let confidence = confidences.get(&edge.to).copied().unwrap_or_default();
            objects.push(relationship(edge, from, to, confidence));
        }
    }
    let query = graph.nodes.iter().find(|node| node.query_type.is_some());
    if let (Some(about), Some(id)) = (about, query.and_then(|query| ids.get(&query.id))) {
        objects.push(note(about, id));
    }
    let all: String = objects.iter().filter_map(|object| object["id"].as_str()).collect();
    json!({ "type": "bundle", "id": object_id("bundle", &all), "objects": objects })
}

/// Returns the object of a node, or `None` if STIX has none for its kind.
fn object(node: &Node) -> Option<Value> {
    let value = node.value.as_str();
    Some(match node.entity_kind {
        ResultType::Account | ResultType::Profile | ResultType::Username => user_account(node),
        ResultType::Email if value.contains('@') => observable("email-addr", &[("value", value)]),
        ResultType::Domain if Query::parse(SearchType::Domain, value).is_ok() => {
            observable("domain-name", &[("value", value)])
        }
        ResultType::Url | ResultType::Archive if web_address(value).is_some() => {
            observable("url", &[("value", value)])
        }
        ResultType::IpAddress => match value.parse().ok()? {
            IpAddr::V4(_) => observable("ipv4-addr", &[("value", value)]),
            IpAddr::V6(_) => observable("ipv6-addr", &[("value", value)]),
        },
        ResultType::PersonName => identity(node)?,
        _ => return None,
    })
}

fn user_account(node: &Node) -> Value {
    let kind = node.platform.as_deref().map(account_type);
    let mut named = vec![("account_login", node.value.as_str())];
    if let Some(kind) = &kind {
        named.insert(0, ("account_type", kind));
    }
    let mut object = observable("user-account", &named);
    if let Some(name) = &node.display_name {
        object["display_name"] = Value::from(name.as_str());
    }
    object
}

/// Returns the name of a platform as STIX writes types of accounts: `stack-overflow`.
fn account_type(platform: &str) -> String {
    let words = platform.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

/// Returns an observable. Its id is made from the given properties, which must be sorted by name.
fn observable(kind: &str, properties: &[(&str, &str)]) -> Value {
    let named: Map<String, Value> =
        properties.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
    let contributing = Value::from(named.clone()).to_string();
    let id = format!("{kind}--{}", Uuid::new_v5(&OBSERVABLES, contributing.as_bytes()));
    let mut object = Map::new();
    object.insert("type".into(), Value::from(kind));
    object.insert("spec_version".into(), Value::from("2.1"));
    object.insert("id".into(), Value::from(id));
    object.extend(named);
    Value::Object(object)
}

fn identity(node: &Node) -> Option<Value> {
    let (first, last) = node.seen?;
    let mut object = domain_object("identity", &node.id.to_string(), first, last, node.confidence);
    object["name"] = Value::from(node.value.as_str());
    object["identity_class"] = Value::from("individual");
    Some(object)
}

/// Returns the observation of an observable, or `None` if no result is about it.
fn observation(node: &Node, id: &str) -> Option<Value> {
    let (first, last) = node.seen.filter(|_| !id.starts_with("identity--"))?;
    let mut object = domain_object("observed-data", id, first, last, node.confidence);
    object["first_observed"] = Value::from(rfc3339_millis(first));
    object["last_observed"] = Value::from(rfc3339_millis(last));
    object["number_observed"] = Value::from(node.results.len());
    object["object_refs"] = json!([id]);
    Some(object)
}

fn relationship(edge: &Edge, from: &str, to: &str, confidence: f64) -> Value {
    let field = edge.field.as_deref().unwrap_or_default();
    let name = format!("{from} {to} {} {field} {} {}", edge.class.as_str(), edge.run_id, edge.result_id);
    let mut object = domain_object("relationship", &name, edge.at, edge.at, confidence);
    object["relationship_type"] = Value::from("related-to");
    object["description"] = match &edge.field {
        Some(field) => format!("{} in {field}", edge.class.as_str()).into(),
        None => edge.class.as_str().into(),
    };
    object["source_ref"] = Value::from(from);
    object["target_ref"] = Value::from(to);
    object
}

/// Returns the note about the query of a run.
fn note(about: &About, query: &str) -> Value {
    let (first, last) = about.time;
    json!({
        "type": "note",
        "spec_version": "2.1",
        "id": object_id("note", &format!("{} {}", about.run, rfc3339_millis(last))),
        "created": rfc3339_millis(first),
        "modified": rfc3339_millis(last),
        "abstract": about.head,
        "content": about.coverage,
        "object_refs": [query],
    })
}

fn domain_object(kind: &str, name: &str, created: Timestamp, modified: Timestamp, confidence: f64) -> Value {
    json!({
        "type": kind,
        "spec_version": "2.1",
        "id": object_id(kind, name),
        "created": rfc3339_millis(created),
        "modified": rfc3339_millis(modified),
        "confidence": percent(confidence),
    })
}

fn object_id(kind: &str, name: &str) -> String {
    format!("{kind}--{}", Uuid::new_v5(&OBJECTS, format!("{kind} {name}").as_bytes()))
}

/// Returns a confidence as a whole number from 0 to 100.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is from 0 to 100")]
fn percent(confidence: f64) -> u8 {
    (confidence.clamp(0.0, 1.0) * 100.0).round() as u8
}
