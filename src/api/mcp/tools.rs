//! The tools. Each is a function from its arguments, a type that derives `Deserialize`, to its answer, a type that derives
//! `Serialize`. The schemas are made from both types.

use std::ops::Range;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::answers::{self, Answer, Balance, Changes, Modules, Run, Stated};
use super::exchange::{Client, Exchange};
use super::message::{INVALID_PARAMS, Params, RpcError, text};
use crate::api::capabilities::Credits;
use crate::api::decode::{self, SearchBody, SearchRequest};
use crate::api::openapi::schemas::{Schemas, named, tidied, without_null};
use crate::api::results::{self, PeopleList};
use crate::api::{modules, request};
use crate::model::refusal::Refusal;
use crate::model::run::RunSummary;
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;

/// The results in the first answer about a search.
const FIRST: Range<usize> = 0..50;

pub(super) struct Tool {
    name: &'static str,
    /// The definition, as clients get it.
    pub(super) definition: Value,
    /// Whether a call starts a search, which is charged and counts as one.
    pub(super) starts_search: bool,
    function: Box<Function>,
}

/// The answer to a call, or `None` if the client is gone.
type Called<T> = Result<Option<Answer<T>>, Refusal>;
type Function = dyn Fn(&Exchange, &mut Client<'_>) -> Result<Option<Value>, Refusal> + Send + Sync;
/// A tool as a function of its arguments.
type Typed<A, T> = fn(&Exchange, &mut Client<'_>, &A) -> Called<T>;

/// Describes a tool. `input` is the schema of its arguments, whose description is that of the tool.
fn tool<A, T>(
    name: &'static str,
    title: &str,
    starts_search: bool,
    mut input: Value,
    function: Typed<A, T>,
) -> Tool
where
    A: DeserializeOwned + 'static,
    T: Serialize + ToSchema + 'static,
{
    let function = Box::new(move |exchange: &Exchange, client: &mut Client<'_>| {
        let arguments = request::read(exchange.arguments())?;
        Ok(function(exchange, client, &arguments)?.map(|answer| answer.document()))
    });
    let description = input.as_object_mut().and_then(|members| members.shift_remove("description"));
    let definition = json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": input,
        "outputSchema": schema_of::<Answer<T>>(),
        "annotations": {
            "readOnlyHint": !starts_search,
            "destructiveHint": false,
            "idempotentHint": !starts_search,
            "openWorldHint": starts_search,
        },
    });
    Tool { name, definition, starts_search, function }
}

impl Tool {
    /// Returns the tool that the parameters of a call name.
    pub(super) fn of_call(params: &Params) -> Option<&'static Self> {
        let name = params.get("name").and_then(Value::as_str)?;
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// Returns whether a call with these arguments waits for the end of a run.
    pub(super) fn waits(&self, arguments: &Value) -> bool {
        let default =
            self.definition.pointer("/inputSchema/properties/wait/default").and_then(Value::as_bool);
        default.is_some_and(|default| arguments["wait"].as_bool().unwrap_or(default))
    }

    /// Refuses arguments that the tool does not have: a model that invents one would believe that it has an effect.
    fn check_names(&self, arguments: &Params) -> Result<(), Refusal> {
        let known = self.definition["inputSchema"]["properties"].as_object();
        let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
        let Some(unknown) = arguments.keys().filter(|name| !is_known(name)).min() else { return Ok(()) };
        let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let shown: String = unknown.chars().take(64).collect();
        Err(Refusal::invalid_request(&shown, "unknown argument", names))
    }
}

/// Calls a tool. Returns `None` if the client is gone.
///
/// # Errors
/// Returns the error for an unknown tool or invalid parameters. A failed call is a result.
pub(super) fn call(exchange: &Exchange, client: &mut Client<'_>) -> Result<Option<Value>, RpcError> {
    text(&exchange.params, "name")?;
    let tool = Tool::of_call(&exchange.params).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        RpcError::new(INVALID_PARAMS, format!("unknown tool: expected one of {}", names.join(", ")))
    })?;
    let Value::Object(arguments) = exchange.arguments() else {
        return Err(RpcError::new(INVALID_PARAMS, "invalid arguments: expected an object"));
    };
    match tool.check_names(arguments).and_then(|()| (tool.function)(exchange, client)) {
        Ok(answer) => Ok(answer.as_ref().map(success)),
        Err(error) => {
            // Logs a failure of the service, as for any other request.
            let response = error.into_response(&exchange.request_id);
            let text = String::from_utf8_lossy(&response.body);
            Ok(Some(json!({"content": [{"type": "text", "text": text}], "isError": true})))
        }
    }
}

fn success(answer: &Value) -> Value {
    // What the service states comes first and apart, so that text of third parties cannot be taken for it.
    let statement = answer.pointer("/coverage/statement").cloned();
    let texts = statement.into_iter().chain([Value::from(answer.to_string())]);
    let content: Vec<Value> = texts.map(|text| json!({"type": "text", "text": text})).collect();
    json!({"content": content, "structuredContent": answer, "isError": false})
}

/// All tools, in the order in which they are listed.
pub(super) static TOOLS: LazyLock<[Tool; 7]> = LazyLock::new(|| {
    [
        tool("search", "Search", true, search_arguments(), search),
        tool("get_run", "Read a search", false, arguments_of::<RunArguments>(), get_run),
        tool("follow_lead", "Follow a lead", true, arguments_of::<LeadArguments>(), follow_lead),
        tool("people", "People", false, arguments_of::<PeopleArguments>(), people_of),
        tool("diff", "What changed", false, arguments_of::<DiffArguments>(), compare),
        tool("list_modules", "Modules", false, arguments_of::<ModuleArguments>(), list_modules),
        tool("get_credits", "Credits", false, arguments_of::<NoArguments>(), get_credits),
    ]
});

/// Looks up a username, an email address or a domain across many public sources, live. Costs 1 credit, or 2 with `premium`.
/// Read `coverage.statement` first: a source that blocked the search or gave no answer is unknown, not absent.
/// `list_modules` has the ids of modules and their categories.
// The members of the API are read beside it.
#[derive(Deserialize, ToSchema)]
struct SearchOptions {
    /// Wait for the end of the search, for as long as the service allows. Otherwise, or if the search takes longer, read it
    /// with `get_run`.
    #[schema(default = true)]
    wait: Option<bool>,
    /// Makes it safe to repeat a call whose answer was lost: 1 to 255 printable ASCII characters. The same key with the same
    /// arguments gives the same search, without a second charge.
    idempotency_key: Option<String>,
}

/// Returns the schema of a search: that of the API, with the options of the tool and without streams.
fn search_arguments() -> Value {
    let (mut schema, mut own) = (arguments_of::<SearchRequest>(), arguments_of::<SearchOptions>());
    schema["description"] = own["description"].take();
    if let (Value::Object(members), Value::Object(own)) =
        (&mut schema["properties"], own["properties"].take())
    {
        members.shift_remove("stream");
        members.extend(own);
    }
    schema
}

fn search(exchange: &Exchange, client: &mut Client<'_>, options: &SearchOptions) -> Called<Run> {
    let key = options.idempotency_key.clone();
    if key.as_deref().is_some_and(|key| !decode::is_idempotency_key(key)) {
        let allowed = "1 to 255 printable ASCII characters";
        return Err(Refusal::invalid_request("idempotency_key", "invalid idempotency_key", allowed));
    }
    let body = SearchBody::read(exchange.arguments())?;
    let (services, caller) = (&exchange.api.services, &exchange.caller);
    services.check(caller, &body.query, &body.search, key.is_some())?;
    let idempotency = services.idempotency(key, &body.search);
    let found = services.start(caller, body.search, idempotency, exchange.origin())?;
    exchange.read(client, found, options.wait.unwrap_or(true), FIRST)
}

/// Starts a search for a lead of an earlier search. Costs 1 credit; a lead that has a search already gives that search,
/// without a charge.
#[derive(Deserialize, ToSchema)]
struct LeadArguments {
    /// The search with the lead: a `run_id` of an earlier answer.
    run_id: String,
    /// The `lead_id` of one of its leads.
    lead_id: String,
    /// Wait for the end of the search, for as long as the service allows. Otherwise, or if the search takes longer, read it
    /// with `get_run`.
    #[schema(default = true)]
    wait: Option<bool>,
}

fn follow_lead(exchange: &Exchange, client: &mut Client<'_>, arguments: &LeadArguments) -> Called<Run> {
    let run = exchange.find(&arguments.run_id)?;
    let lead = Uuid::try_parse(&arguments.lead_id).map_err(|_| Refusal::no_such("lead"))?;
    let found = exchange.api.services.follow(&exchange.caller, &run, lead, exchange.origin())?;
    exchange.read(client, found, arguments.wait.unwrap_or(true), FIRST)
}

/// Reads a search with its coverage, results and leads. Free. A long list of results is read in parts.
#[derive(Deserialize, ToSchema)]
struct RunArguments {
    /// The search: a `run_id` of an earlier answer.
    run_id: String,
    /// Wait for the end of the search, for as long as the service allows.
    #[schema(default = false)]
    wait: Option<bool>,
    /// Results to skip at the beginning.
    #[serde(default, deserialize_with = "request::whole::<_, _, 0, 1_000_000>")]
    #[schema(minimum = 0, maximum = 1_000_000, default = 0)]
    offset: Option<usize>,
    /// The most results in the answer.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1, 200>")]
    #[schema(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
}

fn get_run(exchange: &Exchange, client: &mut Client<'_>, arguments: &RunArguments) -> Called<Run> {
    let part = part(arguments.offset, arguments.limit.unwrap_or(FIRST.end));
    let found = exchange.find(&arguments.run_id)?;
    exchange.read(client, found, arguments.wait.unwrap_or(false), part)
}

/// Groups the accounts of a search by who they probably belong to, with the evidence. The same username alone joins nothing.
/// Free.
#[derive(Deserialize, ToSchema)]
struct PeopleArguments {
    /// The search: a `run_id` of an earlier answer.
    run_id: String,
}

fn people_of(exchange: &Exchange, _: &mut Client<'_>, arguments: &PeopleArguments) -> Called<PeopleList> {
    let record = exchange.record(&arguments.run_id)?;
    let coverage = Some(Stated::of(&record.summary));
    let content = results::people_of(&exchange.api, record, true)?;
    Ok(Some(Answer { coverage, content, untrusted: &["people", "unattributed"] }))
}

/// Compares two searches with the same type and query. What one of them could not decide is unknown: neither added nor
/// removed. Free.
#[derive(Deserialize, ToSchema)]
struct DiffArguments {
    /// The earlier search: a `run_id` of an earlier answer.
    before: String,
    /// The later search: a `run_id` of an earlier answer.
    after: String,
}

fn compare(exchange: &Exchange, _: &mut Client<'_>, arguments: &DiffArguments) -> Called<Changes> {
    let (before, after) = (exchange.record(&arguments.before)?, exchange.record(&arguments.after)?);
    let diff = exchange.api.services.diff(&before, &after)?;
    Ok(Some(answers::diff(&before.summary, &after.summary, diff)))
}

/// Lists the sources that searches ask, with their recent health. Free.
#[derive(Deserialize, ToSchema)]
struct ModuleArguments {
    /// Only modules for this type of query.
    #[serde(rename = "type")]
    search_type: Option<SearchType>,
    /// Only modules of this category.
    category: Option<String>,
    /// Modules to skip at the beginning.
    #[serde(default, deserialize_with = "request::whole::<_, _, 0, 1_000_000>")]
    #[schema(minimum = 0, maximum = 1_000_000, default = 0)]
    offset: Option<usize>,
    /// The most modules in the answer.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1, 200>")]
    #[schema(minimum = 1, maximum = 200, default = 100)]
    limit: Option<usize>,
}

fn list_modules(exchange: &Exchange, _: &mut Client<'_>, arguments: &ModuleArguments) -> Called<Modules> {
    let catalog = exchange.api.runs.catalog();
    let mut fitting = modules::described(&exchange.api, &catalog);
    fitting.retain(|module| {
        arguments.search_type.is_none_or(|wanted| module.search_type == wanted)
            && arguments.category.as_ref().is_none_or(|category| module.category == category)
    });
    let part = part(arguments.offset, arguments.limit.unwrap_or(100));
    Ok(Some(answers::module_list(&fitting, part)))
}

/// Shows the credits of the account. Free.
#[derive(Deserialize, ToSchema)]
struct NoArguments {}

fn get_credits(exchange: &Exchange, _: &mut Client<'_>, _: &NoArguments) -> Called<Balance> {
    let Exchange { api, caller, .. } = exchange;
    let content = Balance { credits: Credits::new(&caller.plan.name, &api.accounts.balance(caller)?) };
    Ok(Some(Answer { coverage: None, content, untrusted: &[] }))
}

impl Exchange {
    fn find(&self, run_id: &str) -> Result<RunSummary, Refusal> {
        self.api.find_run(&self.caller, run_id.parse().map_err(|_| Refusal::no_such("run"))?)
    }

    fn record(&self, run_id: &str) -> Result<RunRecord, Refusal> {
        Ok(self.api.runs.record(self.find(run_id)?)?)
    }

    /// Reads a run, at its end if the call waits for it. An error names the run: a client that repeated the call would pay
    /// for another one.
    fn read(
        &self,
        client: &mut Client<'_>,
        found: RunSummary,
        waits: bool,
        part: Range<usize>,
    ) -> Called<Run> {
        let (id, api) = (found.id, &self.api);
        let read = || {
            let found = if waits { self.wait(found, client)? } else { Some(found) };
            let Some(found) = found else { return Ok(None) };
            answers::run(api, api.runs.record(found)?, part).map(Some)
        };
        read().map_err(|error: Refusal| error.of_run(id))
    }
}

/// Returns the part of a list that arguments ask for.
fn part(offset: Option<usize>, limit: usize) -> Range<usize> {
    let offset = offset.unwrap_or(0);
    offset..offset + limit
}

/// Returns the schema of a type. What it refers to is put into its place, since some clients follow no references.
fn schema_of<T: ToSchema>() -> Value {
    let mut all = Schemas::new();
    named::<T>(&mut all);
    let all = tidied(all);
    let mut schema = all.get(T::name().as_ref()).cloned().unwrap_or_default();
    inline(&mut schema, &all);
    // Also where it is made of parts.
    schema["type"] = "object".into();
    schema
}

/// Returns the schema of arguments: an object with no other members, of which those that are optional can be omitted.
/// Null, which means a missing member, is not described.
fn arguments_of<T: ToSchema>() -> Value {
    let mut schema = schema_of::<T>();
    without_null(&mut schema);
    schema["additionalProperties"] = false.into();
    schema
}

fn inline(value: &mut Value, all: &Map<String, Value>) {
    match value {
        Value::Object(members) => {
            // Models would read them without need.
            members.shift_remove("examples");
            let reference = members.shift_remove("$ref");
            let name = reference.as_ref().and_then(|reference| reference.as_str()?.rsplit('/').next());
            if let Some(Value::Object(named)) = name.and_then(|name| all.get(name)) {
                let own = std::mem::replace(members, named.clone());
                members.extend(own);
            }
            members.values_mut().for_each(|member| inline(member, all));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| inline(item, all)),
        _ => {}
    }
}
