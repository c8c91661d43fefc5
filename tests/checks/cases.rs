//! Checks as lines of a text: a module, the answers of its sites, and what comes of it. `cases.txt` explains the lines.

use sightline::modules::import::report::NoteKind;
use sightline::modules::import::take_over;
use sightline::modules::outcome::{Direction, OpenCircuit};
use sightline::modules::terms::ModuleTrial;

use super::*;
use crate::catalog::import;

/// The answer to a request whose address or body contains the part.
#[derive(Clone)]
struct Answer {
    part: String,
    given: Result<Response, ProbeError>,
    has_address: bool,
}

/// Returns the first word of a line, which may be a JSON value, and the rest.
fn word(line: &str) -> (String, &str) {
    if line.starts_with(['"', '{']) {
        let mut values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
        let value = values.next().unwrap().unwrap_or_else(|error| panic!("{error}: {line}"));
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return (text, line[values.byte_offset()..].trim_start());
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (word.to_owned(), rest)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn header(text: &str) -> (String, String) {
    let (name, value) = text.split_once(':').unwrap();
    (name.to_owned(), value.trim().to_owned())
}

impl Answer {
    fn parse(line: &str, truncated: bool) -> Self {
        let (part, mut rest) = word(line);
        let (mut status, mut kind, mut headers) = (200, None, Vec::new());
        while !rest.starts_with(['{', '[', '"']) {
            let (word, after) = rest.split_once(' ').unwrap_or_else(|| panic!("no body: {line}"));
            match word.parse() {
                Ok(number) => status = number,
                _ if word.contains(':') => headers.push(header(word)),
                _ => kind = Some(word),
            }
            rest = after;
        }
        let (default, body) = match parsed(rest) {
            Value::String(text) => ("text/plain", text),
            document => ("application/json", document.to_string()),
        };
        let kind = kind.unwrap_or(default);
        let charset = if kind.starts_with("text/") { "; charset=utf-8" } else { "" };
        headers.extend((kind != "-").then(|| ("content-type".to_owned(), format!("{kind}{charset}"))));
        Self::of(&part, Ok(Response { truncated, headers, ..respond(status, &[], body) }))
    }

    fn of(part: &str, given: Result<Response, ProbeError>) -> Self {
        Self { part: part.trim_start_matches('*').to_owned(), given, has_address: false }
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
        Self::of(&part, Ok(respond(200, &[("content-type", "application/dns-json")], body.to_string())))
    }

    fn of_fault(line: &str) -> Self {
        let (part, name) = word(line);
        let why = "a test".to_owned();
        let error = match name {
            "connect" => Reason::Connect.because(why),
            "dns" => Reason::Dns.because(why),
            "tls" => Reason::Tls.because(why),
            "first_byte" => ProbeError::late(Reason::TimeoutFirstByte),
            "late_body" => ProbeError::late(Reason::TimeoutBody),
            "forbidden" => ProbeError::forbidden(),
            "protocol" => Reason::Protocol.because(why),
            "redirect" => Reason::Redirect.because(why),
            "body" => Reason::Body.because(why),
            "unavailable" => Reason::Unavailable.because(why),
            "resources" => Reason::LocalResources.because(why),
            "network" => Reason::NoNetwork.because(why),
            "resolver" => Reason::NoResolver.because(why),
            other => panic!("{other}"),
        };
        Self::of(&part, Err(error))
    }

    fn is_for(&self, text: &str) -> bool {
        self.part.split('|').any(|part| text.contains(part))
    }

    fn to(&self, request: &Request) -> Result<Response, ProbeError> {
        let mut response = self.given.clone()?;
        if !self.has_address {
            response.final_url = request.url.clone();
        }
        let body = String::from_utf8(response.body).unwrap().replace("{{long}}", &"long ".repeat(5_000));
        let body = body.split_once("{{many}}").map_or(body.clone(), |(part, rest)| part.repeat(2_000) + rest);
        response.body = body.replace("{{query}}", &request.trace.query).into();
        Ok(response)
    }
}

/// Returns the bytes of the answer that the lines of a text have for a path, in which {{query}} is the path's last part and
/// {{count}} a number.
pub(crate) fn served(text: &'static str, path: &str, count: usize) -> Vec<u8> {
    let mut answers = text.lines().filter_map(|line| Some(Answer::parse(line.strip_prefix("< ")?, false)));
    let answer = answers.find(|answer| answer.is_for(path)).unwrap_or_else(|| panic!("{path}"));
    let Response { status, headers, body, .. } = answer.given.unwrap();
    let query = path.rsplit('/').next().unwrap_or_default();
    let filled = |text: &str| text.replace("{{query}}", query).replace("{{count}}", &count.to_string());
    let body = filled(std::str::from_utf8(&body).unwrap());
    let headers = headers.iter().map(|(name, value)| format!("{name}: {}\r\n", filled(value)));
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} Said\r\n{}Content-Length: {length}\r\n", headers.collect::<String>());
    format!("{head}Connection: close\r\n\r\n{body}").into_bytes()
}

struct Paused(Vec<String>);

impl HostAccess for Paused {
    fn access(&self, host: &str) -> Access {
        if self.0.iter().any(|it| it == host) { Access::Denied(Denial::Pause) } else { Access::Granted }
    }
}

/// What is beside a check in a section: answers, and what is expected.
#[derive(Default)]
struct Lines {
    answers: Vec<Answer>,
    expected: Vec<(&'static str, &'static str)>,
}

impl Lines {
    fn add(&mut self, first: &'static str, rest: &'static str) {
        let last = self.answers.last_mut();
        match first {
            "<" | "<cut" => self.answers.push(Answer::parse(rest, first == "<cut")),
            "<dns" => self.answers.push(Answer::of_resolver(rest)),
            "<!" => self.answers.push(Answer::of_fault(rest)),
            "<+" => last.unwrap().given.as_mut().unwrap().headers.push(header(rest)),
            "<@" => {
                let last = last.unwrap();
                last.given.as_mut().unwrap().final_url = rest.parse().unwrap();
                last.has_address = true;
            }
            _ => self.expected.push((first, rest)),
        }
    }
}

/// The words that begin a line about the check before.
const ABOUT: &str = "< <cut <dns <! <+ <@ > @ + ? by from asked sent unsent cut pause paused trial controls";

/// A check: its modules or the change of the section's entry, its query, and how it ends.
struct Case {
    subject: String,
    /// It is made by the checker of the case before.
    follows: bool,
    query: &'static str,
    end: &'static str,
    lines: Lines,
}

/// Makes the checks of a text, and returns their number.
pub(crate) fn play(text: &'static str) -> usize {
    let (mut count, mut wrong) = (0, Vec::new());
    for section in text.split("\n# ").skip(1) {
        let mut section = Section::parse(section);
        section.import(&mut wrong);
        section.play(&mut count, &mut wrong);
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    count
}

/// What a check that follows another one goes on with.
struct Playing {
    bench: Bench,
    module: Arc<Module>,
    answers: Arc<Mutex<Vec<Answer>>>,
}

#[derive(Default)]
struct Section {
    title: &'static str,
    entry: Value,
    /// The list of another tool whose modules are checked, and what is expected of it.
    list: Value,
    of_list: Vec<(&'static str, &'static str)>,
    listed: Vec<Arc<Module>>,
    keys: Vec<(&'static str, &'static str)>,
    cases: Vec<Case>,
}

impl Section {
    fn parse(text: &'static str) -> Self {
        let (title, lines) = text.split_once('\n').unwrap();
        let mut section = Self { title, entry: json!({}), ..Self::default() };
        let mut shared = Lines::default();
        for line in lines.lines().filter(|line| !line.is_empty()) {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            match first {
                "//" => {}
                "entry" => section.entry = parsed(rest),
                "list" => section.list = import::empty(rest),
                "listed" => {
                    let (name, entry) = word(rest);
                    import::add(&mut section.list, &name, &parsed(entry));
                }
                "engines" => section.list["engines"] = parsed(rest),
                "left" | "changed" | "counts" | "made" | "whole" => section.of_list.push((first, rest)),
                "key" => section.keys.push(rest.split_once(' ').unwrap()),
                _ if ABOUT.split(' ').any(|word| word == first) => {
                    section.cases.last_mut().map_or(&mut shared, |case| &mut case.lines).add(first, rest);
                }
                _ => {
                    let (subject, rest) = word(if first == "with" { rest } else { line });
                    let follows = ["then", "with"].contains(&first);
                    let (query, end) = rest.split_once(" = ").unwrap_or((rest, "hit"));
                    section.cases.push(Case { subject, follows, query, end, lines: Lines::default() });
                }
            }
        }
        assert!(!section.cases.is_empty() || !section.list.is_null(), "{title}");
        for case in &mut section.cases {
            let answers = if case.follows { &[][..] } else { &shared.answers };
            case.lines.answers.extend_from_slice(answers);
            case.lines.expected.extend_from_slice(&shared.expected);
        }
        section
    }

    /// Imports the list, and compares what came of it.
    fn import(&mut self, wrong: &mut Vec<String>) {
        if self.list.is_null() {
            return;
        }
        let taken = take_over("list.json", &self.list.to_string()).unwrap();
        let notes = |kind| {
            let notes = taken.report.notes.iter().filter(move |note| note.outcome == kind);
            notes.map(|note| json!(format!("{}: {}", note.name, note.reason))).collect::<Value>()
        };
        let of = |kind| self.of_list.iter().filter(move |line| line.0 == kind).map(|line| line.1);
        let entry = |id: &str| {
            let module = taken.modules.iter().find(|module| &**module.id() == id);
            module.map_or(Value::Null, |module| json!(module.entry()))
        };
        let mut pairs = vec![
            (notes(NoteKind::LeftOut), of("left").collect()),
            (notes(NoteKind::Changed), of("changed").collect()),
        ];
        pairs.extend(
            of("counts").map(|counts| {
                (json!(format!("{} {}", taken.modules.len(), taken.report.off)), json!(counts))
            }),
        );
        let split = |line: &'static str| line.split_once(' ').map(|(id, wanted)| (id, parsed(wanted)));
        pairs.extend(of("made").filter_map(split).map(|(id, wanted)| (part(&entry(id), &wanted), wanted)));
        pairs.extend(of("whole").filter_map(split).map(|(id, wanted)| (entry(id), wanted)));
        let mistakes = pairs.into_iter().filter(|(found, wanted)| found != wanted);
        wrong.extend(mistakes.map(|(found, wanted)| format!("{}: {found}, not {wanted}", self.title)));
        self.listed = taken.modules.into_iter().map(Arc::new).collect();
    }

    /// Makes the checks, and adds what is wrong with them.
    fn play(&self, count: &mut usize, wrong: &mut Vec<String>) {
        let mut playing: Option<Playing> = None;
        for case in &self.cases {
            let ids: Vec<&str> = match case.subject.starts_with('{') {
                true => vec![&case.subject],
                false => case.subject.split(',').collect(),
            };
            for id in ids {
                *count += 1;
                if !case.follows {
                    playing = Some(self.start(id, case));
                }
                let playing = playing.as_mut().unwrap();
                if case.follows {
                    playing.answers.lock().splice(0..0, case.lines.answers.iter().cloned());
                }
                if case.follows && id != "then" {
                    playing.module = self.module(id);
                }
                let mistakes = case.mistakes(&playing.bench, &playing.module).into_iter();
                let of = |what| format!("{}: {} {}: {what}", self.title, case.subject, case.query);
                wrong.extend(mistakes.map(of));
            }
        }
    }

    fn module(&self, id: &str) -> Arc<Module> {
        match id {
            "site" => module(&self.entry),
            _ if id.starts_with('{') => module(&with(self.entry.clone(), &parsed(id))),
            _ => self
                .listed
                .iter()
                .find(|module| &**module.id() == id)
                .cloned()
                .unwrap_or_else(|| built_in(id)),
        }
    }

    fn start(&self, id: &str, case: &Case) -> Playing {
        let module = self.module(id);
        let is_about_a_domain = module.search_type() == SearchType::Domain && builtin().get(id).is_some();
        let needs = module.entry().needs.iter().map(|need| (need.trim_start_matches("config."), "k"));
        let keys: Vec<_> = if builtin().get(id).is_some() { needs.collect() } else { self.keys.clone() };
        let answers = Arc::new(Mutex::new(case.lines.answers.clone()));
        let listed = Arc::clone(&answers);
        let bench = Bench::with_keys(&keys, move |request| {
            let body =
                request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body)).unwrap_or_default();
            let mut request = request.clone();
            loop {
                let text = format!("{} {body}", request.url);
                let response = match listed.lock().iter().find(|answer| answer.is_for(&text)) {
                    None if is_about_a_domain => return Err(Reason::Connect.because("refused")),
                    None => Answer::parse("* 404 \"nothing here\"", false).to(&request)?,
                    Some(answer) => answer.to(&request)?,
                };
                match response.header("location") {
                    Some(to) if request.max_redirects > 0 => request.url = request.url.join(to).unwrap(),
                    _ => return Ok(response),
                }
                request.max_redirects -= 1;
            }
        });
        Playing { bench, module, answers }
    }
}

/// Returns a built-in module. Where the answers are about one domain, misses are not confirmed with a known one.
fn built_in(id: &str) -> Arc<Module> {
    let module = builtin().get(id).unwrap_or_else(|| panic!("there is no {id}"));
    let mut entry = module.entry().clone();
    if module.search_type() == SearchType::Domain {
        entry.known.clear();
    }
    Arc::new(Module::compile(entry).unwrap())
}

/// Returns the members of an object that are wanted.
fn part(found: &Value, wanted: &Value) -> Value {
    let names = wanted.as_object().unwrap().keys();
    names.map(|name| (name.clone(), found.get(name).cloned().unwrap_or_default())).collect()
}

/// Returns a request as an object: its headers, and what else it has.
fn shown(request: &Request, cookie: Option<&String>) -> Value {
    let mut shown: Value = request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let (kind, body) = request.body.clone().unwrap_or_default();
    let body = String::from_utf8(body).unwrap();
    shown["method"] = json!(request.method.as_str());
    shown["url"] = json!(request.url.as_str());
    shown["cookie"] = json!(cookie);
    shown["limit"] = json!(request.body_limit);
    shown["control"] = json!(request.trace.control);
    shown["body"] = if kind == "application/json" { parsed(&body) } else { json!(body) };
    shown
}

/// Returns what came of a check in place of an expectation, and what should have come.
fn compared(kind: &str, expected: &str, report: &Report, sent: &[Value]) -> (Value, Value) {
    let (first, rest) = word(expected);
    match kind {
        ">" => {
            let (of, member) = first.split_once('.').map_or((&*first, None), |(of, it)| (of, Some(it)));
            let findings = report.findings.iter().filter(|finding| finding.result_type.as_str() == of);
            let found = |it: &Finding| match member {
                None => json!(it.value),
                Some(member) => json!(it.metadata.get(member)),
            };
            (findings.map(found).collect(), parsed(rest))
        }
        "@" => {
            let found = report.findings.iter().find(|finding| finding.value == first);
            let found = found.map_or(Value::Null, |finding| json!(finding.metadata));
            (part(&found, &parsed(rest)), parsed(rest))
        }
        "by" => {
            let matcher = report.evidence.matcher.as_deref().unwrap_or_default();
            (json!(matcher.get(..expected.len()).unwrap_or(matcher)), json!(expected))
        }
        "from" => {
            let Evidence { final_host, http_status, .. } = &report.evidence;
            (json!([final_host, http_status]), json!([first, parsed(rest)]))
        }
        "asked" => {
            let urls = sent.iter().map(|request| request["url"].clone());
            (urls.collect(), expected.split_whitespace().collect())
        }
        "unsent" => {
            let mut urls = sent.iter().map(|request| request["url"].to_string());
            (json!(!sent.is_empty() && !urls.any(|url| url.contains(expected))), json!(true))
        }
        "sent" => (part(&sent[first.parse::<usize>().unwrap() - 1], &parsed(rest)), parsed(rest)),
        "controls" => {
            let controls = report.evidence.controls.iter();
            let verdicts = controls.map(|control| format!("{:?}", control.verdict).to_lowercase());
            (verdicts.collect(), expected.split(' ').filter(|verdict| *verdict != "none").collect())
        }
        "cut" => (json!(report.evidence.partial), parsed(expected)),
        "pause" => {
            let pauses = report.pauses.iter().map(|pause| format!("{} {}", pause.host, pause.secs));
            let wanted = expected.split(", ").filter(|pause| *pause != "none");
            (pauses.collect(), wanted.collect())
        }
        _ => (json!(sent.len()), parsed(expected)),
    }
}

impl Case {
    fn mistakes(&self, bench: &Bench, module: &Module) -> Vec<String> {
        let of_kind = |wanted| self.lines.expected.iter().filter(move |(kind, _)| *kind == wanted);
        let paused = of_kind("paused").flat_map(|(_, hosts)| hosts.split(' ')).map(str::to_owned).collect();
        let hosts = Paused(paused);
        let at = |text: &str| text.parse().unwrap();
        let times =
            OpenCircuit { open_since: at("2026-05-06T14:05:06Z"), next_try_at: at("2026-05-06T14:15:06Z") };
        let trial = of_kind("trial").next().map(|(_, direction)| match *direction {
            "known" => ModuleTrial { direction: Direction::Known, times },
            _ => ModuleTrial { direction: Direction::MadeUp, times },
        });
        let terms = Terms { hosts: &hosts, trial, ..Terms::from(Instant::now() + Duration::from_secs(60)) };
        let query = Query::parse(module.search_type(), self.query).unwrap();
        let report = *bench.checker.check(module, &query, terms);
        let asked = std::mem::take(&mut *bench.prober.asked.lock()).into_iter();
        let cookies = std::mem::take(&mut *bench.prober.cookies.lock());
        let sent: Vec<Value> =
            asked.zip(cookies).map(|(request, cookie)| shown(&request, cookie.as_ref())).collect();
        let reason = report.reason.map_or("", Reason::as_str);
        let (outcome, wanted) = self.end.split_once(' ').unwrap_or((self.end, ""));
        let is_right = report.outcome.as_str() == outcome || outcome == "any";
        if !is_right || !wanted.is_empty() && wanted != reason {
            let urls: Vec<&Value> = sent.iter().map(|request| &request["url"]).collect();
            return vec![format!("{} {reason} {:?} {urls:?}", report.outcome, report.evidence.matcher)];
        }
        let others = self.lines.expected.iter().filter(|(kind, _)| !["+", "paused", "trial"].contains(kind));
        let mut pairs: Vec<_> =
            others.map(|(kind, expected)| compared(kind, expected, &report, &sent)).collect();
        let is_told = trial.is_some() && report.outcome == Outcome::Unreliable;
        pairs.push((json!(report.evidence.circuit.is_some()), json!(is_told)));
        if of_kind("+").count() > 0 {
            let whole = |it: &Finding| json!([it.result_type.as_str(), it.value, it.metadata]);
            let wanted = |(_, line): &(_, &str)| {
                let (kind, rest) = line.split_once(' ').unwrap();
                let parts = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                std::iter::once(json!(kind)).chain(parts.map(Result::unwrap)).collect::<Value>()
            };
            pairs.push((report.findings.iter().map(whole).collect(), of_kind("+").map(wanted).collect()));
        }
        let wrong = pairs.into_iter().filter(|(found, wanted)| found != wanted);
        wrong.map(|(found, wanted)| format!("{found}, not {wanted}")).collect()
    }
}
