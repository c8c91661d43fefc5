//! What the built-in modules make of answers as their sources write them: `answers.txt`, which explains its form. The
//! simulated web makes its answers from a module's own rules, so it cannot see a wrong pointer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sightline::modules::checker::Checker;
use sightline::modules::definition::Entry;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Finding, Report};
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::query::Query;
use sightline::modules::reason::Reason;

use super::*;

/// The answer to a request whose address or body contains the part.
#[derive(Clone)]
struct Answer {
    part: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Returns the first word of a line, which may be a JSON string, and the rest.
fn word(line: &str) -> (String, &str) {
    if line.starts_with('"') {
        let mut words = serde_json::Deserializer::from_str(line).into_iter::<String>();
        let word = words.next().unwrap().unwrap();
        return (word, line[words.byte_offset()..].trim_start());
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (word.to_owned(), rest)
}

impl Answer {
    fn parse(line: &str) -> Self {
        let (part, mut rest) = word(line);
        let mut status = 200;
        if let Some((number, after)) =
            rest.split_once(' ').filter(|(number, _)| number.parse::<u16>().is_ok())
        {
            (status, rest) = (number.parse().unwrap(), after);
        }
        let mut kind = None;
        if !rest.starts_with(['{', '[', '"'])
            && let Some((text, after)) = rest.split_once(' ')
        {
            (kind, rest) = (Some(text), after);
        }
        let (default, body) =
            match serde_json::from_str(rest).unwrap_or_else(|error| panic!("{error}: {line}")) {
                Value::String(text) => ("text/plain", text),
                document => ("application/json", document.to_string()),
            };
        let kind = kind.unwrap_or(default);
        let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.to_owned() };
        Self { part, status, headers: vec![("content-type".to_owned(), kind)], body: body.into_bytes() }
    }

    fn of_resolver(line: &str) -> Self {
        let (part, rest) = word(line);
        let (status, records) = rest.split_once(' ').unwrap();
        let records: Vec<(String, u16, String)> = serde_json::from_str(records).unwrap();
        let record = |(name, kind, data): &_| json!({"name": name, "type": kind, "TTL": 300, "data": data});
        let kind = records.first().map_or(1, |(_, kind, _)| *kind);
        let mut body = json!({"Status": status.parse::<u8>().unwrap(), "TC": false, "RD": true, "RA": true, "AD": true,
            "CD": false, "Question": [{"name": "example.com.", "type": kind}]});
        if !records.is_empty() {
            body["Answer"] = records.iter().map(record).collect();
        }
        let headers = vec![("content-type".to_owned(), "application/dns-json".to_owned())];
        Self { part, status: 200, headers, body: body.to_string().into_bytes() }
    }
}

/// Answers from a list.
struct Listed {
    answers: Vec<Answer>,
    refuses_others: bool,
    asked: Mutex<Vec<String>>,
}

impl Prober for Listed {
    fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let body = request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body)).unwrap_or_default();
        let text = format!("{} {body}", request.url);
        self.asked.lock().push(request.url.to_string());
        let answer = match self.answers.iter().find(|answer| text.contains(&answer.part)) {
            None if self.refuses_others => return Err(ProbeError::Connect("refused".into())),
            None => Answer::parse("other 404 \"nothing here\""),
            Some(answer) => answer.clone(),
        };
        let Answer { status, headers, body, .. } = answer;
        Ok(Response { status, final_url: request.url.clone(), headers, body, truncated: false })
    }
}

/// Returns the report of a check, and the addresses that it asked.
fn play(id: &str, query: &str, answers: &[Answer]) -> (Report, Vec<String>) {
    let module = builtin().get(id).unwrap_or_else(|| panic!("there is no {id}"));
    let is_domain = module.search_type() == SearchType::Domain;
    let mut entry = module.entry().clone();
    if is_domain {
        // The answers are about one domain, so misses are not confirmed with a known one.
        entry = Entry { known: Vec::new(), ..entry };
    }
    let module = Module::compile(entry).unwrap();
    let needs = module.entry().needs.iter();
    let keys = needs.map(|need| (need.trim_start_matches("config.").into(), "k".into()));
    let listed = Listed { answers: answers.to_vec(), refuses_others: is_domain, asked: Mutex::default() };
    let prober = Arc::new(listed);
    let checker = Checker::new(prober.clone(), OperatorKeys::new(keys), "tests", Duration::ZERO);
    let query = Query::parse(module.search_type(), query).unwrap();
    let report = checker.check(&module, &query, Instant::now() + Duration::from_secs(60));
    (*report, std::mem::take(&mut *prober.asked.lock()))
}

/// A check and what is expected of it.
struct Case {
    title: String,
    ids: &'static str,
    query: &'static str,
    outcome: &'static str,
    answers: Vec<Answer>,
    expected: Vec<(&'static str, &'static str)>,
}

fn section(text: &'static str) -> Vec<Case> {
    let (title, lines) = text.split_once('\n').unwrap();
    let (mut cases, mut shared): (Vec<Case>, Vec<Answer>) = (Vec::new(), Vec::new());
    for (first, rest) in lines.lines().filter_map(|line| line.split_once(' ')) {
        let answers = cases.last_mut().map_or(&mut shared, |case| &mut case.answers);
        match first {
            "//" => {}
            "<" => answers.push(Answer::parse(rest)),
            "<dns" => answers.push(Answer::of_resolver(rest)),
            "<+" => {
                let (name, value) = rest.split_once(": ").unwrap();
                answers.last_mut().unwrap().headers.push((name.to_owned(), value.to_owned()));
            }
            ">" | "@" | "+" | "?" => cases.last_mut().unwrap().expected.push((first, rest)),
            ids => {
                let (query, outcome) = rest.split_once(" = ").unwrap_or((rest, "hit"));
                let title = title.to_owned();
                cases.push(Case { title, ids, query, outcome, answers: Vec::new(), expected: Vec::new() });
            }
        }
    }
    cases.iter_mut().for_each(|case| case.answers.extend_from_slice(&shared));
    cases
}

fn cases() -> Vec<Case> {
    include_str!("answers.txt").split("\n# ").skip(1).flat_map(section).collect()
}

fn of_type<'a>(report: &'a Report, wanted: &str) -> impl Iterator<Item = &'a Finding> {
    report.findings.iter().filter(move |finding| finding.result_type.as_str() == wanted)
}

/// Returns what a report has in place of an expectation, and what it should have.
fn compared(kind: &str, expected: &str, report: &Report, requests: usize) -> (Value, Value) {
    let json =
        |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let (first, rest) = word(expected);
    match kind {
        ">" => {
            let found = match first.split_once('.') {
                None => of_type(report, &first).map(|finding| json!(finding.value)).collect(),
                Some((of, member)) => of_type(report, of).map(|it| json!(it.metadata.get(member))).collect(),
            };
            (found, json(rest))
        }
        "@" => {
            let found = report.findings.iter().find(|finding| finding.value.as_ref() == Some(&first));
            let wanted = json(rest);
            let members = wanted.as_object().unwrap().keys();
            let of = |name: &String| found.and_then(|finding| finding.metadata.get(name));
            (members.map(|name| (name.clone(), json!(of(name)))).collect(), wanted)
        }
        _ => (json!(requests), json(expected)),
    }
}

impl Case {
    fn mistakes(&self, id: &str) -> Vec<String> {
        let (report, asked) = play(id, self.query, &self.answers);
        let (outcome, reason) = self.outcome.split_once(' ').unwrap_or((self.outcome, ""));
        let told = report.reason.map_or("", Reason::as_str);
        if report.outcome.as_str() != outcome || !reason.is_empty() && told != reason {
            return vec![format!("{} {told} {:?} {asked:?}", report.outcome, report.evidence.matcher)];
        }
        let of_kind = |wanted| self.expected.iter().filter(move |(kind, _)| *kind == wanted);
        let mut pairs: Vec<(Value, Value)> = self
            .expected
            .iter()
            .filter(|(kind, _)| *kind != "+")
            .map(|(kind, expected)| compared(kind, expected, &report, asked.len()))
            .collect();
        if of_kind("+").count() > 0 {
            let whole = |it: &Finding| {
                format!("{} {} {}", it.result_type.as_str(), json!(it.value), json!(it.metadata))
            };
            let found = report.findings.iter().map(whole).collect();
            pairs.push((found, of_kind("+").map(|(_, expected)| json!(expected)).collect()));
        }
        let wrong = pairs.into_iter().filter(|(found, wanted)| found != wanted);
        wrong.map(|(found, wanted)| format!("{found}, not {wanted}")).collect()
    }
}

#[test]
fn modules_understand_the_answers_of_their_sources() {
    let (mut count, mut wrong) = (0, Vec::new());
    for case in cases() {
        for id in case.ids.split(',') {
            count += 1;
            let mistakes = case.mistakes(id).into_iter();
            wrong.extend(mistakes.map(|what| format!("{}: {id} {}: {what}", case.title, case.query)));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 350, "{count}");
}

#[test]
fn modules_about_the_domain_do_not_send_the_name() {
    let ids = "disify kickbox_disposable debounce_disposable mail_domain_mx mail_domain_spf mail_domain_dmarc \
               mail_domain_ispdb mail_domain_microsoft_realm mail_domain_rdap";
    for id in ids.split_whitespace() {
        let (_, asked) = play(id, "some.body@example.com", &[]);
        // A control check may ask for the domain of a known address after that.
        assert!(asked[0].contains("example.com"), "{id}: {asked:?}");
        assert!(asked.iter().all(|url| !url.contains("body")), "{id}: {asked:?}");
    }
}
