//! Calls of tools: from their arguments to the use cases of the API, and back.

use serde_json::{Map, Value, json};

use super::answers::{self, Part};
use super::client::Client;
use super::message::{INVALID_PARAMS, Params, RpcError, meta, text};
use super::session::Session;
use super::tools::{MAX_OFFSET, MODULES, RESULTS, TOOLS, Tool, tool};
use super::{resources, waiting};
use crate::api::accounts::Credits;
use crate::api::decode::{self, SearchBody};
use crate::api::error::ApiError;
use crate::api::members::Members;
use crate::api::searches::Order;
use crate::api::{diff, follow, modules, people};
use crate::base::ids::RunId;
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;
use crate::runs::service::Found;

/// The longest `idempotency_key`.
const MAX_KEY: usize = 255;

/// The answer to a call.
struct Answer {
    structured: Value,
    /// The run that the answer is about, as a link to its resource.
    run: Option<RunId>,
}

/// Calls a tool. Returns `None` if the client is gone.
///
/// # Errors
/// Returns the error for an unknown tool or invalid parameters. A failed call is a result.
pub(super) fn call(
    session: &Session<'_>,
    params: &Params,
    client: &mut dyn Client,
) -> Result<Option<Value>, RpcError> {
    let name = text(params, "name")?;
    let tool = tool(name).ok_or_else(|| {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        RpcError::new(INVALID_PARAMS, format!("unknown tool: {} are allowed", names.join(", ")))
    })?;
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::new(INVALID_PARAMS, "invalid arguments: an object is allowed")),
    };
    let call =
        Call { session, tool, waits: tool.waits(Some(&arguments)), token: meta(params, "progressToken") };
    match call.answer(Members(arguments.into_iter().collect()), client) {
        Ok(answer) => Ok(answer.map(|answer| success(&answer))),
        Err(error) => Ok(Some(failure(session, error))),
    }
}

fn success(answer: &Answer) -> Value {
    let mut content = Vec::new();
    // What the service states comes first and apart, so that text of third parties cannot be taken for it.
    if let Some(statement) = answer.structured.pointer("/coverage/statement") {
        content.push(json!({"type": "text", "text": statement}));
    }
    content.push(json!({"type": "text", "text": answer.structured.to_string()}));
    if let Some(run) = answer.run {
        content.push(json!({"type": "resource_link", "uri": resources::uri(run), "name": "search", "mimeType": "application/json"}));
    }
    json!({"content": content, "structuredContent": answer.structured, "isError": false})
}

fn failure(session: &Session<'_>, error: ApiError) -> Value {
    // Logs a failure of the service, as for any other request.
    let response = error.into_response(session.request_id);
    let text = String::from_utf8_lossy(&response.body);
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// A call in progress.
struct Call<'a> {
    session: &'a Session<'a>,
    tool: &'static Tool,
    waits: bool,
    token: Option<&'a Value>,
}

impl Call<'_> {
    fn answer(&self, mut arguments: Members, client: &mut dyn Client) -> Result<Option<Answer>, ApiError> {
        self.check_names(&arguments)?;
        let (api, caller) = (self.session.api, self.session.caller);
        let found = match self.tool.name {
            "search" => self.search(&mut arguments)?,
            "follow_lead" => {
                let found = self.find(&arguments, "run_id")?;
                let lead = arguments.text("lead_id")?;
                follow::follow(api, caller, &found, lead, self.session.request_id)?
            }
            "get_run" => self.find(&arguments, "run_id")?,
            "people" => {
                let record = self.record(&arguments, "run_id")?;
                let (summary, run) = (record.summary.clone(), record.summary.id);
                let people = people::people_of(api, record, true)?;
                return Ok(Some(Answer { structured: answers::people(&summary, &people)?, run: Some(run) }));
            }
            "diff" => {
                let (before, after) = (self.record(&arguments, "before")?, self.record(&arguments, "after")?);
                let diff = diff::between(api, &before, &after)?;
                let structured = answers::diff(&before.summary, &after.summary, &diff)?;
                return Ok(Some(Answer { structured, run: None }));
            }
            "list_modules" => return Ok(Some(Answer { structured: self.modules(&arguments)?, run: None })),
            _ => {
                let balance = api.accounts.balance(caller)?;
                let credits = answers::to_json(&Credits::new(&caller.plan.name, &balance))?;
                return Ok(Some(Answer { structured: json!({"credits": credits}), run: None }));
            }
        };
        let part = Part {
            offset: number(&arguments, "offset", (0, MAX_OFFSET, 0))?,
            limit: number(&arguments, "limit", RESULTS)?,
        };
        // From here on the run exists, and a client that repeated the call would pay for another one.
        let id = found.id();
        self.finish(found, part, client).map_err(|error| error.of_run(id))
    }

    fn finish(&self, found: Found, part: Part, client: &mut dyn Client) -> Result<Option<Answer>, ApiError> {
        let api = self.session.api;
        let ended = if self.waits { waiting::wait(api, found, self.token, client)? } else { Some(found) };
        let Some(found) = ended else { return Ok(None) };
        let structured = answers::run(api, api.runs.reader.record(&found)?, part)?;
        Ok(Some(Answer { structured, run: Some(found.id()) }))
    }

    /// Refuses arguments that the tool does not have: a model that invents one would believe that it has an effect.
    fn check_names(&self, arguments: &Members) -> Result<(), ApiError> {
        let known = self.tool.input["properties"].as_object();
        let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
        let Some(unknown) = arguments.0.keys().filter(|name| !is_known(name)).min() else { return Ok(()) };
        let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let shown: String = unknown.chars().take(64).collect();
        Err(ApiError::invalid_request(&shown, "unknown argument", &names[..]))
    }

    fn search(&self, arguments: &mut Members) -> Result<Found, ApiError> {
        let key = arguments.0.remove("idempotency_key").filter(|key| !key.is_null());
        let body = SearchBody::from_members(arguments)?;
        let Session { api, caller, request_id, .. } = self.session;
        Order::prepare(api, caller, body, || idempotency_key(key), request_id)?.start_run()
    }

    fn find(&self, arguments: &Members, name: &str) -> Result<Found, ApiError> {
        let id: RunId = arguments.text(name)?.parse().map_err(|_| ApiError::no_such("run"))?;
        let found = self.session.api.runs.reader.find(id, self.session.caller.account.id)?;
        found.ok_or_else(|| ApiError::no_such("run"))
    }

    fn record(&self, arguments: &Members, name: &str) -> Result<RunRecord, ApiError> {
        Ok(self.session.api.runs.reader.record(&self.find(arguments, name)?)?)
    }

    fn modules(&self, arguments: &Members) -> Result<Value, ApiError> {
        let wanted = arguments.optional("type", |arguments, _| decode::search_type(arguments))?;
        let category = arguments.optional("category", Members::text)?;
        let offset = number(arguments, "offset", (0, MAX_OFFSET, 0))?;
        let limit = number(arguments, "limit", MODULES)?;
        let api = self.session.api;
        let catalog = api.runs.catalog();
        let all = modules::described(api, &catalog);
        let fits = |module: &&modules::Module<'_>| {
            wanted.is_none_or(|wanted: SearchType| module.search_type == wanted)
                && category.is_none_or(|category| module.category == category)
        };
        let fitting: Vec<_> = all.iter().filter(fits).collect();
        let off = fitting.iter().filter(|module| !module.enabled).count();
        let statement = format!(
            "{} modules fit, {off} of them are disabled and never asked. A search asks those that accept its query. Sites \
             without a module are never asked: nothing can be said about them.",
            fitting.len()
        );
        let shown = fitting.iter().skip(offset).take(limit).map(|module| answers::to_json(*module));
        let shown = shown.collect::<Result<Vec<_>, _>>()?;
        Ok(json!({
            "coverage": {"statement": statement, "is_complete": false},
            "count": fitting.len(),
            "modules_omitted": fitting.len() - shown.len(),
            "modules": shown,
        }))
    }
}

fn idempotency_key(key: Option<Value>) -> Result<Option<String>, ApiError> {
    let Some(key) = key else { return Ok(None) };
    let fits = |text: &&str| {
        (1..=MAX_KEY).contains(&text.len()) && text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
    };
    let text = key.as_str().filter(fits).map(str::to_owned);
    text.map(Some).ok_or_else(|| {
        let allowed = format!("1 to {MAX_KEY} printable ASCII characters");
        ApiError::invalid_request("idempotency_key", "invalid idempotency_key", allowed)
    })
}

fn number(
    arguments: &Members,
    name: &str,
    (least, most, default): (usize, usize, usize),
) -> Result<usize, ApiError> {
    let Some(value) = arguments.given(name) else { return Ok(default) };
    // JSON Schema counts 50.0 as an integer, and some clients write whole numbers so.
    let text = value.to_string();
    let number = text.strip_suffix(".0").unwrap_or(&text).parse::<usize>().ok();
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let allowed = format!("a whole number from {least} to {most}");
        ApiError::invalid_request(name, format!("{name} is not {allowed}"), allowed)
    })
}
