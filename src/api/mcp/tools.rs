//! The tools: names, descriptions, schemas, and whether they start a search or wait.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::message::Params;
use super::schemas::{self, arguments, flag, names, number, search_type, text};
use crate::model::follow::{Class, MAX_DEPTH, MAX_SEARCHES};
use crate::model::run::TimeBudget;

/// The bounds and the default of the number of results in an answer.
pub(super) const RESULTS: (usize, usize, usize) = (1, 200, 50);
/// The bounds and the default of the number of modules in an answer.
pub(super) const MODULES: (usize, usize, usize) = (1, 200, 100);
/// The highest offset.
pub(super) const MAX_OFFSET: usize = 1_000_000;

/// A tool.
pub(super) struct Tool {
    /// Its name.
    pub(super) name: &'static str,
    title: &'static str,
    text: &'static str,
    /// The schema of its arguments.
    pub(super) input: Value,
    output: Value,
    /// Whether a call starts a search, which is charged and counts as one.
    pub(super) starts_search: bool,
    /// The default of the argument `wait`, if it has one.
    waits: Option<bool>,
}

impl Tool {
    /// Returns whether a call with these arguments waits for the end of a run.
    pub(super) fn waits(&self, arguments: Option<&Params>) -> bool {
        let given = arguments.and_then(|arguments| arguments.get("wait")).and_then(Value::as_bool);
        self.waits.is_some_and(|default| given.unwrap_or(default))
    }

    /// Returns the definition, as clients get it.
    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.text,
            "inputSchema": self.input,
            "outputSchema": self.output,
            "annotations": {
                "readOnlyHint": !self.starts_search,
                "destructiveHint": false,
                "idempotentHint": !self.starts_search,
                "openWorldHint": self.starts_search,
            },
        })
    }
}

/// Returns the tool with this name.
pub(super) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

fn run_id(words: &str) -> Value {
    text(&format!("{words} A `run_id` of an earlier answer."))
}

fn wait(default: bool) -> Value {
    flag(
        "Wait for the end of the search, for as long as the service allows. Otherwise, or if the search takes longer, read it with `get_run`.",
        default,
    )
}

/// All tools, in the order in which they are listed.
pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let read = |name, title, text, members: &[(&str, Value)], output| Tool {
        name,
        title,
        text,
        input: arguments(members),
        output,
        starts_search: false,
        waits: None,
    };
    vec![
        search(),
        Tool {
            waits: Some(false),
            ..read(
                "get_run",
                "Read a search",
                "Reads a search with its coverage, results and leads. Free. A long list of results is read in parts.",
                &[
                    ("run_id", run_id("The search.")),
                    ("wait?", wait(false)),
                    ("offset?", number("Results that are left out at the beginning.", (0, MAX_OFFSET, 0))),
                    ("limit?", number("The most results in the answer.", RESULTS)),
                ],
                schemas::run(),
            )
        },
        follow_lead(),
        read(
            "people",
            "People",
            "Groups the accounts of a search by who they probably belong to, with the evidence. The same username alone joins nothing. Free.",
            &[("run_id", run_id("The search."))],
            schemas::people(),
        ),
        read(
            "diff",
            "What changed",
            "Compares two searches with the same type and query. What one of them could not decide is unknown: neither added nor removed. Free.",
            &[("before", run_id("The earlier search.")), ("after", run_id("The later search."))],
            schemas::diff(),
        ),
        read(
            "list_modules",
            "Modules",
            "Lists the sources that searches ask, with their recent health. Free.",
            &[
                ("type?", search_type("Only modules for this type of query.")),
                ("category?", text("Only modules of this category.")),
                ("offset?", number("Modules that are left out at the beginning.", (0, MAX_OFFSET, 0))),
                ("limit?", number("The most modules in the answer.", MODULES)),
            ],
            schemas::modules(),
        ),
        read("get_credits", "Credits", "Shows the credits of the account. Free.", &[], schemas::credits()),
    ]
});

fn search() -> Tool {
    let follow = json!({"type": "object", "additionalProperties": false, "properties": {
        "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
        "max_searches": {"type": "integer", "minimum": 0, "maximum": MAX_SEARCHES},
        "links": {"type": "string", "enum": Class::ALL.map(Class::as_str)},
    }, "description": "Follow the leads of the results. Each search that a lead starts costs 1 credit."});
    Tool {
        name: "search",
        title: "Search",
        text: "Looks up a username, an email address or a domain across many public sources, live. Costs 1 credit, or 2 with `premium`. \
               Read `coverage.statement` first: a source that blocked the search or gave no answer is unknown, not absent.",
        input: arguments(&[
            ("type", search_type("Kind of the query.")),
            ("query", text("The username, email address or domain.")),
            ("wait?", wait(true)),
            ("premium?", flag("Also ask modules that need a browser (usernames only): 2 credits.", false)),
            ("modules?", names("Ask only these modules, by id: see `list_modules`.")),
            ("exclude_modules?", names("Do not ask these modules, by id.")),
            ("categories?", names("Ask only modules of these categories.")),
            ("nsfw?", flag("Also ask adult sites.", false)),
            (
                "passive?",
                flag("Ask only third parties, so that nothing reaches the searched domain itself.", false),
            ),
            (
                "time_budget?",
                json!({"type": "integer", "minimum": 1, "maximum": TimeBudget::MAX_SECS,
                "description": "Seconds after which the search ends with the answers that it has."}),
            ),
            ("follow?", follow),
            ("purpose?", text("Why you search, for the audit log of the operator.")),
            (
                "idempotency_key?",
                text(
                    "Makes it safe to repeat a call whose answer was lost: 1 to 255 printable ASCII characters. The same key with the same arguments gives the same search, without a second charge.",
                ),
            ),
        ]),
        output: schemas::run(),
        starts_search: true,
        waits: Some(true),
    }
}

fn follow_lead() -> Tool {
    Tool {
        name: "follow_lead",
        title: "Follow a lead",
        text: "Starts a search for a lead of an earlier search. Costs 1 credit; a lead that has a search already gives that search, without a charge.",
        input: arguments(&[
            ("run_id", run_id("The search with the lead.")),
            ("lead_id", text("The `lead_id` of one of its leads.")),
            ("wait?", wait(true)),
        ]),
        output: schemas::run(),
        starts_search: true,
        waits: Some(true),
    }
}
