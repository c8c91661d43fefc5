//! [`Graph`]: the entities that runs have found, and what joins them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::leads::links::{RunLinks, Subjects, links};
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
    pub id: Uuid,
    /// `query` for what a search asked for; else `account`, `email`, `username`, `domain`, `url`, `person_name` or
    /// another type of result.
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub kind: &'static str,
    /// Present only with the kind `query`: the type of the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_type: Option<SearchType>,
    /// Primary value, such as a username or an address.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name of the platform of an account; null for other kinds.
    #[schema(examples("GitHub"))]
    pub platform: Option<String>,
    /// Name that the account shows; null where there is none.
    #[schema(examples("The Octocat"))]
    pub display_name: Option<String>,
    /// The highest confidence of its results, from 0.0 to 1.0. For an entity that is only named, it is that of the
    /// results that name it; for a query it is 1.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The runs that have found or named it, in the order of their ids.
    pub runs: BTreeSet<RunId>,
    /// The results about it.
    pub results: BTreeSet<ResultRef>,
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
    pub from: Uuid,
    /// The node that was found or is named.
    pub to: Uuid,
    /// Why they are joined.
    pub class: EdgeClass,
    /// The member of the result's `metadata` that names the other node, or `value` if the result itself does; null for
    /// what a search found.
    #[schema(examples("website"))]
    pub field: Option<String>,
    /// The run of the result.
    pub run_id: RunId,
    /// The number of the result in its run.
    #[schema(minimum = 1)]
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
    pub links_omitted: usize,
}

impl Graph {
    /// Makes the graph of runs.
    pub fn of(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Self {
        let mut nodes: BTreeMap<Uuid, Node> = BTreeMap::new();
        let mut edges: BTreeSet<Edge> = BTreeSet::new();
        let subjects: Vec<Subjects<'_>> = runs.iter().map(|run| Subjects::of(run, profiles)).collect();
        for subjects in &subjects {
            let (Findings { run_id, query, .. }, asked) = (subjects.run, &subjects.asked);
            let node = self::node(&mut nodes, asked, *run_id);
            (node.kind, node.query_type, node.confidence) = (QUERY, Some(query.search_type()), 1.0);
            let class = match query.search_type() {
                SearchType::Username => EdgeClass::SameName,
                SearchType::Email | SearchType::Domain => EdgeClass::Found,
            };
            for (record, entity) in subjects.results() {
                self::node(&mut nodes, entity, *run_id).add(*run_id, record);
                let is_own = subjects.owners(record, entity).iter().any(|owner| owner.id == entity.id);
                if is_own && entity.id != asked.id {
                    let (run_id, result_id, at) = (*run_id, record.id, record.created_at);
                    let (from, to, field) = (asked.id, entity.id, None);
                    edges.insert(Edge { from, to, class, field, run_id, result_id, at });
                }
            }
        }
        let (links, links_omitted) = links(subjects.iter().map(RunLinks::of));
        for link in links {
            let ResultRef { run_id, result_id } = link.source;
            for named in [&link.from, &link.to] {
                let node = self::node(&mut nodes, named, run_id);
                if node.results.is_empty() {
                    node.confidence = node.confidence.max(link.confidence);
                }
            }
            let class = match link.class {
                Class::Verified => EdgeClass::Verified,
                Class::Stated => EdgeClass::Stated,
            };
            let (from, to, field, at) = (link.from.id, link.to.id, Some(link.field), link.at);
            edges.insert(Edge { from, to, class, field, run_id, result_id, at });
        }
        let mut nodes: Vec<Node> = nodes.into_values().collect();
        nodes.sort_by_cached_key(|it| {
            (it.kind != QUERY, it.entity_kind.as_str(), it.platform.clone(), it.value.to_lowercase(), it.id)
        });
        Self { nodes, edges: edges.into_iter().collect(), links_omitted }
    }
}

/// Returns the node of an entity that a run has found or named.
fn node<'n>(nodes: &'n mut BTreeMap<Uuid, Node>, entity: &Entity, run_id: RunId) -> &'n mut Node {
    let node = nodes.entry(entity.id).or_insert_with(|| Node {
        id: entity.id,
        kind: entity.kind.as_str(),
        query_type: None,
        value: entity.value.clone(),
        platform: entity.platform.clone(),
        display_name: None,
        confidence: 0.0,
        runs: BTreeSet::new(),
        results: BTreeSet::new(),
        entity_kind: entity.kind,
        seen: None,
    });
    node.runs.insert(run_id);
    node
}

impl Node {
    /// Adds a result about the entity.
    fn add(&mut self, run_id: RunId, record: &ResultRecord) {
        self.results.insert(ResultRef { run_id, result_id: record.id });
        self.confidence = self.confidence.max(record.confidence);
        let (first, last) = self.seen.unwrap_or((record.created_at, record.created_at));
        self.seen = Some((first.min(record.created_at), last.max(record.created_at)));
        let name = record.metadata.get("display_name").and_then(Value::as_str);
        // The least of several names, so that the order of results does not matter.
        self.display_name = self.display_name.take().into_iter().chain(name.map(str::to_owned)).min();
    }
}
