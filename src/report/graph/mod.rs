//! A graph as a file and as a drawing.
//!
//! | format | content | left out |
//! |---|---|---|
//! | `json` | nodes and edges | nothing |
//! | `graphml` | the same for Gephi, yEd, Neo4j and NetworkX | the numbers of results |
//! | `stix` | a STIX 2.1 bundle for threat intelligence platforms | kinds that STIX has no object for |

pub(super) mod about;
pub mod drawing;
mod graphml;
mod stix;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::text::write_json;
use crate::base::words::words;
use crate::runs::graph::Graph;
use about::About;

words! {
    /// A format of a graph: `json`, `graphml` (for Gephi, yEd and Neo4j) or `stix` (a STIX 2.1 bundle).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum GraphFormat {
        /// Nodes and edges.
        Json = "json",
        /// GraphML.
        Graphml = "graphml",
        /// A STIX 2.1 bundle.
        Stix = "stix",
    }
}

impl GraphFormat {
    /// Returns the `Content-Type`: for GraphML the one of XML, since it has none of its own.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Graphml => "application/xml",
            Self::Stix => "application/stix+json;version=2.1",
        }
    }

    /// Writes the graph.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write(self, out: &mut dyn Write, graph: &Graph) -> io::Result<()> {
        self.write_about(out, graph, None)
    }

    /// Writes the graph of a run. The JSON form has no place for what `about` says.
    pub(super) fn write_about(
        self,
        out: &mut dyn Write,
        graph: &Graph,
        about: Option<&About>,
    ) -> io::Result<()> {
        match self {
            Self::Json => write_json(out, graph),
            Self::Graphml => graphml::write(out, graph, about),
            Self::Stix => write_json(out, &stix::bundle(graph, about)),
        }
    }
}
