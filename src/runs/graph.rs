//! [`Graph`]: the entities that runs have found, and what joins them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::leads::links::{Subjects, links};
use super::record::{Findings, ResultRef};
use crate::base::ids::RunId;
use crate::base::words::words;
use crate::model::entity::identified::Entity;
use crate::model::follow::Class;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::SearchType;

/// Returns the text that names an entity to people.
pub fn label(platform: Option<&str>, value: &str) -> String {
    platform.map_or_else(|| value.to_owned(), |platform| format!("{platform}: {value}"))
}

/// The kind of a node that a search asked for.
const QUERY: &str = "query";

/// An entity.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Node {
    /// Identifies the entity: the same entity has the same id in every graph.
    #[schema(examples("0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"))]
    pub id: Uuid,
    /// `query` for what a search asked for; else `account`, `email`, `username`, `domain`, `url`, `person_name` or
    /// another type of result.
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub kind: &'static str,
    /// Present only with the kind `query`: the type of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub query_type: Option<SearchType>,
    /// Primary value, such as a username or an address.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name of the platform of an account; null for other kinds.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<String>,
    /// Name that the account shows; null where there is none.
    #[schema(required, examples("The Octocat"))]
    pub display_name: Option<String>,
    /// The highest confidence of its results, from 0.0 to 1.0. For an entity that is only named, it is that of the
    /// results that name it; for a query it is 1.
    #[schema(minimum = 0, maximum = 1, examples(0.95))]
    pub confidence: f64,
    /// The runs that have found or named it, in the order of their ids.
    #[schema(value_type = Vec<Uuid>, examples(json!(["018f4a7e-5c1d-7b3a-9e2f-0123456789ab"])))]
    pub runs: Vec<RunId>,
    /// The results about it.
    pub results: Vec<ResultRef>,
    /// The type of result that it is.
    #[serde(skip)]
    pub entity_kind: ResultType,
    /// The times of its first and last result.
    #[serde(skip)]
    pub seen: Option<(Timestamp, Timestamp)>,
}

words! {
    /// Why two nodes are joined: `verified` and `stated` as for leads, `found` (a search for an email address or a
    /// domain found it) or `same_name` (a search for a username found an account of that name, whose owner may be
    /// anybody).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = EdgeClass)]
    pub enum EdgeClass {
        /// The platform has checked the link, or both ends point at each other.
        Verified = "verified",
        /// The profile says so.
        Stated = "stated",
        /// The search for this email address or domain found it.
        Found = "found",
        /// The search found an account of this name.
        SameName = "same_name",
    }
}

/// What joins two nodes, as one result shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct Edge {
    /// The node that was searched, or that names the other one.
    #[schema(examples("0b3c1c1e-7f0f-5b0e-8f5e-1d2c3b4a5968"))]
    pub from: Uuid,
    /// The node that was found or is named.
    #[schema(examples("7d1f668a-c40b-5106-9b13-0c496fecb1b2"))]
    pub to: Uuid,
    /// Why they are joined.
    pub class: EdgeClass,
    /// The member of the result's `metadata` that names the other node, or `value` if the result itself does; null for
    /// what a search found.
    #[schema(required, examples("website"))]
    pub field: Option<String>,
    /// The run of the result.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1, examples(3))]
    pub result_id: u32,
    /// The time of the result.
    #[serde(skip)]
    pub at: Timestamp,
}

/// The entities of runs and what joins them. The same runs give the same graph, in whatever order their results came.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Graph {
    /// The entities: queries first, then by kind, platform and value.
    pub nodes: Vec<Node>,
    /// What joins them.
    pub edges: Vec<Edge>,
    /// The number of links that are left out, because one result or run had too many.
    #[schema(examples(0))]
    pub links_omitted: usize,
}

impl Graph {
    /// Makes the graph of runs.
    pub fn of(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Self {
        let mut nodes = Nodes::default();
        let mut edges: Vec<Edge> = Vec::new();
        let subjects: Vec<Subjects<'_>> = runs.iter().map(|run| Subjects::of(run, profiles)).collect();
        for subjects in &subjects {
            let (run, asked) = (subjects.run, &subjects.asked);
            let node = nodes.entry(asked, run.run_id);
            (node.kind, node.query_type, node.confidence) = (QUERY, Some(run.query.search_type()), 1.0);
            let class = match run.query.search_type() {
                SearchType::Username => EdgeClass::SameName,
                SearchType::Email | SearchType::Domain => EdgeClass::Found,
            };
            for (record, entity) in subjects.results() {
                nodes.add_result(entity, run.run_id, record);
                let is_own = subjects.owners(record, entity).contains(entity);
                if is_own && entity != asked {
                    edges.push(Edge {
                        from: asked.id,
                        to: entity.id,
                        class,
                        field: None,
                        run_id: run.run_id,
                        result_id: record.id,
                        at: record.created_at,
                    });
                }
            }
        }
        let links = links(&subjects);
        for link in &links.all {
            for named in [&link.from, &link.to] {
                let node = nodes.entry(named, link.run_id);
                if node.results.is_empty() {
                    node.confidence = node.confidence.max(link.confidence);
                }
            }
            edges.push(Edge {
                from: link.from.id,
                to: link.to.id,
                class: match link.class {
                    Class::Verified => EdgeClass::Verified,
                    Class::Stated => EdgeClass::Stated,
                },
                field: Some(link.field.clone()),
                run_id: link.run_id,
                result_id: link.result_id,
                at: link.at,
            });
        }
        edges.sort();
        edges.dedup();
        Self { nodes: nodes.into_sorted(), edges, links_omitted: links.omitted }
    }
}

#[derive(Default)]
struct Nodes(BTreeMap<Uuid, Node>);

impl Nodes {
    fn entry(&mut self, entity: &Entity, run_id: RunId) -> &mut Node {
        let node = self.0.entry(entity.id).or_insert_with(|| Node {
            id: entity.id,
            kind: entity.kind.as_str(),
            query_type: None,
            value: entity.value.clone(),
            platform: entity.platform.clone(),
            display_name: None,
            confidence: 0.0,
            runs: Vec::new(),
            results: Vec::new(),
            entity_kind: entity.kind,
            seen: None,
        });
        if let Err(at) = node.runs.binary_search(&run_id) {
            node.runs.insert(at, run_id);
        }
        node
    }

    fn add_result(&mut self, entity: &Entity, run_id: RunId, record: &ResultRecord) {
        let node = self.entry(entity, run_id);
        node.results.push(ResultRef { run_id, result_id: record.id });
        node.confidence = node.confidence.max(record.confidence);
        let (first, last) = node.seen.unwrap_or((record.created_at, record.created_at));
        node.seen = Some((first.min(record.created_at), last.max(record.created_at)));
        let name = record.metadata.get("display_name").and_then(Value::as_str);
        // The least of several names, so that the order of results does not matter.
        let names = node.display_name.take().into_iter().chain(name.map(str::to_owned));
        node.display_name = names.min();
    }

    fn into_sorted(self) -> Vec<Node> {
        let mut all: Vec<Node> = self.0.into_values().collect();
        for node in &mut all {
            node.results.sort();
            node.results.dedup();
        }
        all.sort_by_cached_key(|node| {
            let Node { id, kind, value, platform, entity_kind, .. } = node;
            (*kind != QUERY, entity_kind.as_str(), platform.clone(), value.to_lowercase(), *id)
        });
        all
    }
}
