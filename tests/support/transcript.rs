//! Tests as transcripts: what is sent to the program from outside, and what must come back. A transcript is a text of
//! sections. A section begins with `# TITLE` and is played on its own; where a line has {NAME}, it gets the text that was
//! kept under that name.
//!
//! A line that is not indented does something:
//! ```text
//! server WORDS              starts a server. `both`: the section is played on each database; `all`: with all modules;
//!                           `real`: without a simulated web; `realistic`: with its faults; `sites=FREE,GATED`: with
//!                           sites of the test, of which some wait; `family`: with sites that name leads; `modules`: with
//!                           those of the lines `module`; `hooks`: with webhooks to this machine; an option of `serve`
//! restart OPTIONS           stops it, and starts another one on the same database; `stop` only stops it
//! open                      lets the sites that wait answer; `asked NAME` counts requests for a name, or all, and shows all
//! module ID [CHANGES]       a module whose site waits, `down` one whose site refuses connections, both with changed members
//! answer STATUS             answers the request that has waited longest; `held COUNT` waits until so many wait;
//!                           `answers ID STATUS`: the site of a module answers at once
//! account NAME PLAN         creates the account NAME@example.com with a key, which the following requests use. The first
//!                           one is `root`
//! person NAME PLAN          creates an account NAME@example.org whose owner is signed in with a browser
//! stranger NAME             a browser that is not signed in
//! cookie NAME VALUE         gives the browser a cookie
//! as NAME                   goes on with an earlier account or browser
//! METHOD PATH [BODY]        a request. Its answer must have status 200, and be as the OpenAPI document says
//! form PATH NAME=VALUE …    sends a form of the last page that this browser got. The answer must be a redirect
//! search QUERY NAME=VALUE … sends the form for a search from its page; {page} is the page of the search
//! follow                    gets the page to which the last answer leads
//! ended PAGE, finish RUN    waits for the end of a search in the app, or of a run
//! $ ARGUMENTS               runs a command in the section's folder, {folder}. It must exit with 0. {db} is a database
//!                           in the folder; with a server, the command gets that one's. NAME=VALUE before the arguments
//!                           is a variable; `env NAME VALUE` sets one for all following commands. `< TEXT` is its input
//! file NAME CONTENT         writes a file; `read NAME` reads one, `mode NAME` its rights, `remove NAME` removes it
//! sql STATEMENT             changes the database; `number STATEMENT` queries a number of it
//! receiver [STATUS]         starts a site {receiver} that accepts messages, or has this status; `received` is the last one,
//!                           and its status their number
//! log                       the server's log; `figure NAME` is a number of its metrics
//! NAME := TEXT              keeps a text; `NAME := COUNT * TEXT` repeats it, with another number for each {n}
//! ```
//! At the end of a line, `=> STATUS` expects another status or exit code, `=> STATUS/STATUS` one of two,
//! `=> STATUS ERROR [FIELD]` an error of the API, and `=> STATUS ADDRESS` a redirect. `await` before a line repeats it until
//! all is as expected; `3 x` plays it three times.
//!
//! Indented lines are about the line above:
//! ```text
//! + NAME: VALUE             a header of the request; `-` leaves out a usual one
//! has TEXT, no TEXT         the body or the output has this text or not; `err TEXT`: standard error has it
//! 3 x TEXT, lines 3         how often it has a text, and how many lines it has
//! is TEXT, begins TEXT      the whole body, number or output, and how it begins
//! header NAME: VALUE        a header of the answer; `~ TEXT` is a part of its value, `! TEXT` is not; without a value, the
//!                           header is not there
//! files 3                   the number of files in the folder
//! /MEMBER VALUE             a member of the JSON document, by its pointer. In it, NAME=VALUE is the first element of a list
//!                           with that member; `*` and `*NAME=VALUE` are all of them, and what follows is a list of their
//!                           members. Instead of the value: nothing if it is there and not null, `-` if it is not there,
//!                           `# 3` for the length of a list, `~ TEXT` for a part of a text, `~ {…}` for some members of an
//!                           object, `= […]` for a list in any order, `> 3` for a least number, `! VALUE` for another
//!                           value. The whole document is `.`
//! keep NAME /MEMBER         keeps a member, or: `header NAME`, `field NAME` of a form, `body`, the only `line` of an
//!                           output, the `events NAME` of a stream, or what is between two texts, `BEFORE…AFTER`
//! within SOURCE             the following lines are about that part, which is named as for `keep`
//! for NAME | NAME           the line above is played for each of the following rows of values
//! - VALUE | VALUE           such a row. With one name, each value is a row
//! ```
//! Values with spaces around them are quoted.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::awaited;
use super::databases::{TestDatabase, databases};
use super::folder::Folder;
use super::held_site;
use super::modules::with;
use super::server::{Answer, Server, Setup};
use super::site::{Site, answer, with_headers};
use crate::api::openapi::truth::judge;
use crate::cli::sightline;
use crate::web::person::{Person, between};
use crate::webhooks::lab::key_flag;

/// Plays all sections of a file in `tests`. `SIGHTLINE_TEST_SECTION` chooses those with a text in their title.
pub(crate) fn play(file: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    let text = format!("\n{}", std::fs::read_to_string(path).unwrap());
    let wanted = std::env::var("SIGHTLINE_TEST_SECTION").unwrap_or_default();
    let mut wrong = Vec::new();
    for section in
        text.split("\n# ").skip(1).filter(|section| section.lines().next().unwrap().contains(&wanted))
    {
        let (title, text) = section.split_once('\n').unwrap();
        let steps = Step::all(text);
        let is_for_both = steps.iter().any(|step| step.line.starts_with("server both"));
        let databases = is_for_both.then(|| databases().map(Some)).into_iter().flatten();
        let databases = databases.chain((!is_for_both).then_some(None));
        for database in databases {
            let mut scene = Scene::new(database);
            let played = catch_unwind(AssertUnwindSafe(|| {
                for step in &steps {
                    scene
                        .play(step)
                        .unwrap_or_else(|mistake| panic!("{file}: {title}\n{}\n{mistake}", step.line));
                }
            }));
            wrong.extend(played.err().map(|_| title));
        }
    }
    assert!(wrong.is_empty(), "{file}: {wrong:#?}");
}

/// A line that does something, and the lines about it.
#[derive(Clone)]
struct Step {
    line: String,
    about: Vec<String>,
}

impl Step {
    fn all(text: &str) -> Vec<Self> {
        let mut steps: Vec<Self> = Vec::new();
        for line in
            text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"))
        {
            match line.strip_prefix("  ") {
                Some(about) => steps.last_mut().unwrap().about.push(about.trim_start().to_owned()),
                None => steps.push(Self { line: line.to_owned(), about: Vec::new() }),
            }
        }
        steps
    }

    /// Returns the step for each row of its table, or the step itself.
    fn rows(&self) -> Vec<Self> {
        let Some(at) = self.about.iter().position(|line| line.starts_with("for ")) else {
            return vec![self.clone()];
        };
        let names: Vec<&str> = self.about[at][4..].split(" | ").collect();
        let values = self.about[at + 1..].iter().flat_map(|row| {
            let row = row.strip_prefix('-').unwrap_or_else(|| panic!("not a row: {row}"));
            let values: Vec<String> = row.split(" | ").map(|value| unquoted(value.trim())).collect();
            values.chunks(names.len()).map(<[String]>::to_vec).collect::<Vec<_>>()
        });
        let with = |values: Vec<String>| {
            assert_eq!(values.len(), names.len(), "{values:?}");
            let fill = |line: &String| {
                let named = names.iter().zip(&values);
                named.fold(line.clone(), |line, (name, value)| line.replace(&format!("{{{name}}}"), value))
            };
            Self { line: fill(&self.line), about: self.about[..at].iter().map(fill).collect() }
        };
        values.map(with).collect()
    }
}

/// Returns a text without the quotes around it, in which `\n` and `\u{1b}` are characters.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(inner) = inner.filter(|inner| !inner.replace("\\\"", "").contains('"')) else {
        return text.to_owned();
    };
    let mut parts = inner.split("\\u{");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |text, part| {
        let (code, rest) = part.split_once('}').unwrap();
        format!("{text}{}{rest}", char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap())
    });
    text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t").replace("\\\"", "\"")
}

/// Splits a text at spaces outside of quotes.
fn words(text: &str) -> Vec<String> {
    static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"(?:[^ "]|"(?:\\.|[^"\\])*")+"#).unwrap());
    let plain = |word: &str| match word.split_once('"') {
        Some((before, rest)) => format!("{before}{}", unquoted(&format!("\"{rest}"))),
        None => word.to_owned(),
    };
    WORD.find_iter(text).map(|word| plain(word.as_str())).collect()
}

/// A client of the server.
enum Client {
    Key(String),
    Browser(Person),
}

/// What came back.
#[derive(Default)]
struct Seen {
    code: i32,
    text: String,
    error: String,
    answer: Option<Answer>,
}

impl From<Answer> for Seen {
    fn from(answer: Answer) -> Self {
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        Self { code: answer.status.into(), text, error: String::new(), answer: Some(answer) }
    }
}

impl Seen {
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    fn shown(&self) -> String {
        match &self.answer {
            Some(answer) => answer.to_string(),
            None => format!("exit code {}\n{}\n--- standard error\n{}", self.code, self.text, self.error),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    fn header(&self, name: &str) -> Vec<&str> {
        let headers = self.answer.iter().flat_map(|answer| &answer.headers);
        headers.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str()).collect()
    }

    /// Returns whether a line about it is true.
    fn is_so(&self, line: &str, folder: &Folder) -> bool {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = unquoted(rest);
        match verb {
            "has" => self.text.contains(&text),
            "no" => !self.text.contains(&text) && !self.error.contains(&text),
            "err" => self.error.contains(&text),
            "is" => self.text == text,
            "begins" => self.text.starts_with(&text),
            "lines" => self.text.lines().count().to_string() == rest,
            "files" => std::fs::read_dir(folder.path("")).unwrap().count().to_string() == rest,
            "header" => {
                let (name, wanted) = rest.split_once(':').unwrap();
                let (values, wanted) = (self.header(name), wanted.trim());
                match wanted.split_once(' ') {
                    Some(("~", part)) => values.iter().any(|value| value.contains(part)),
                    Some(("!", part)) => !values.iter().any(|value| value.contains(part)),
                    _ if wanted.is_empty() => values.is_empty(),
                    _ => values.contains(&wanted),
                }
            }
            "." => self.has_member("", rest),
            _ if verb.starts_with('/') => self.has_member(verb, rest),
            count => {
                let count: usize = count.parse().unwrap_or_else(|_| panic!("unknown: {line}"));
                self.text.matches(&unquoted(rest.strip_prefix("x ").unwrap())).count() == count
            }
        }
    }

    fn has_member(&self, pointer: &str, wanted: &str) -> bool {
        let (kind, rest) = wanted.split_once(' ').unwrap_or((wanted, ""));
        let Some(member) = member(&self.json(), pointer) else { return kind == "-" };
        match kind {
            "" => !member.is_null(),
            "-" => false,
            "#" => member.as_array().is_some_and(|list| list.len().to_string() == rest),
            "~" if rest.starts_with('{') => has_members(&member, &parsed(rest)),
            "~" => member.as_str().is_some_and(|text| text.contains(rest)),
            "=" => sorted(&member) == sorted(&parsed(rest)),
            ">" => member.as_f64() >= rest.parse().ok(),
            "!" => member != parsed(rest),
            _ => member == parsed(wanted),
        }
    }

    /// Returns what a `keep` names.
    fn kept(&self, source: &str) -> Option<String> {
        let field = |name: &str| format!("name=\"{name}\" value=\"");
        if let Some((before, after)) = source.split_once('…') {
            return Some(between(&self.text, &unquoted(before), &unquoted(after)).to_owned());
        }
        match source.split_once(' ').unwrap_or((source, "")) {
            ("body", "") => Some(self.text.clone()),
            ("line", "") => Some(self.text.trim().to_owned()),
            (".", "") => Some(self.json().to_string()),
            (pointer, "") if pointer.starts_with('/') => member(&self.json(), pointer).map(|it| plain(&it)),
            ("events", name) => Some(events(&self.text, name).to_string()),
            ("header", name) => self.header(name).first().map(|value| (*value).to_owned()),
            ("field", name) => Some(between(&self.text, &field(name), "\"").to_owned()),
            _ => panic!("unknown: keep {source}"),
        }
    }

    /// Returns what is wrong with the end of a step: a status or exit code, and an error of the API or an address.
    fn ends_with(&self, end: &str) -> Result<(), String> {
        let mut words = end.split(' ');
        let (code, then, field) = (words.next().unwrap(), words.next(), words.next());
        if !code.split('/').any(|code| code == self.code.to_string()) {
            return Err(format!("not {code}"));
        }
        match (then, &self.answer) {
            (Some(address), _) if address.starts_with(['/', 'h']) => {
                self.header("location").contains(&address).then_some(()).ok_or(format!("not to {address}"))
            }
            (Some(error), Some(answer)) => {
                let body = answer.is_error(answer.status, error);
                let is_right = field.is_none_or(|field| body["detail"]["field"] == field);
                let says_what_to_do = field.is_none() || !body["detail"]["allowed"].is_null();
                (is_right && says_what_to_do).then_some(()).ok_or(format!("not {end}"))
            }
            _ => Ok(()),
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns a member by its pointer, as the head of this file explains it.
fn member(document: &Value, pointer: &str) -> Option<Value> {
    let Some(pointer) = pointer.strip_prefix('/') else { return Some(document.clone()) };
    let (step, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
    let wanted = step.trim_start_matches('*').split('&').filter_map(|part| part.split_once('='));
    let is_wanted = |of: &&Value| wanted.clone().all(|(name, value)| plain(&of[name]) == value);
    if step.starts_with('*') {
        let wanted = document.as_array()?.iter().filter(is_wanted);
        return Some(wanted.filter_map(|element| member(element, rest)).collect());
    }
    let next = match step.contains('=') {
        true => document.as_array()?.iter().find(is_wanted),
        false => document.pointer(&format!("/{step}")),
    };
    member(next?, rest)
}

/// Returns whether a value has all members of another one, and those all of their members.
fn has_members(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(wanted) => wanted
            .iter()
            .all(|(name, wanted)| value.get(name).is_some_and(|value| has_members(value, wanted))),
        _ => value == wanted,
    }
}

fn sorted(list: &Value) -> Vec<String> {
    let mut texts: Vec<String> = list.as_array().into_iter().flatten().map(Value::to_string).collect();
    texts.sort_unstable();
    texts
}

/// Returns the data of all events of that name in the text of a stream.
fn events(text: &str, name: &str) -> Value {
    let head = format!("event: {name}\ndata: ");
    text.split("\n\n").filter_map(|frame| frame.strip_prefix(&head)).map(parsed).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What a section has started and kept.
struct Scene {
    server: Option<Server>,
    site: Option<held_site::Site>,
    modules: Vec<Value>,
    /// The flags of a server with modules of the test, which another one on its database needs too.
    flags: Vec<String>,
    receiver: Option<Site>,
    database: Option<TestDatabase>,
    clients: BTreeMap<String, Client>,
    current: String,
    texts: BTreeMap<String, String>,
    variables: Vec<(String, String)>,
    seen: Seen,
    folder: Folder,
}

impl Scene {
    fn new(database: Option<TestDatabase>) -> Self {
        let folder = Folder::new();
        let texts = [("folder", folder.path("").trim_end_matches('/').to_owned()), ("db", folder.database())];
        Self {
            server: None,
            site: None,
            modules: Vec::new(),
            flags: Vec::new(),
            receiver: None,
            database,
            clients: BTreeMap::new(),
            current: String::new(),
            texts: texts.map(|(name, text)| (name.to_owned(), text)).into(),
            variables: Vec::new(),
            seen: Seen::default(),
            folder,
        }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("a server")
    }

    fn site(&self) -> &held_site::Site {
        self.site.as_ref().expect("a site")
    }

    fn filled(&self, line: &str) -> String {
        self.texts
            .iter()
            .fold(line.to_owned(), |line, (name, text)| line.replace(&format!("{{{name}}}"), text))
    }

    fn play(&mut self, step: &Step) -> Result<(), String> {
        if let Some(rest) = step.line.strip_prefix("await ") {
            let step = Step { line: rest.to_owned(), ..step.clone() };
            awaited(rest, || self.play(&step));
            return Ok(());
        }
        if let Some((count, rest)) = step.line.split_once(" x ")
            && let Ok(count) = count.parse::<usize>()
        {
            let step = Step { line: rest.to_owned(), ..step.clone() };
            return (0..count).try_for_each(|_| self.play(&step));
        }
        step.rows().iter().try_for_each(|row| {
            self.play_once(row).map_err(|mistake| format!("{}\n{mistake}\n{}", row.line, self.seen.shown()))
        })
    }

    fn play_once(&mut self, step: &Step) -> Result<(), String> {
        if let Some((name, text)) = step.line.split_once(" := ") {
            let text = self.filled(text);
            let text = match text.split_once(" * ").map(|(count, text)| (count.parse::<usize>(), text)) {
                Some((Ok(count), text)) => {
                    (0..count).map(|n| unquoted(text).replace("{n}", &n.to_string())).collect()
                }
                _ => unquoted(&text),
            };
            self.texts.insert(name.to_owned(), text);
            return Ok(());
        }
        let line = self.filled(&step.line);
        let (what, end) = match line.rsplit_once(" => ") {
            Some((what, end)) => (what, Some(end)),
            None => (line.as_str(), None),
        };
        let headers = step.about.iter().filter_map(|line| line.strip_prefix("+ ")).map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            let value = self.filled(value);
            (name.to_owned(), if value.trim() == "\"\"" { String::new() } else { value.trim().to_owned() })
        });
        let headers: Vec<(String, String)> = headers.collect();
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let Some(usual) = self.act(verb, rest, &headers) else { return Ok(()) };
        self.seen.ends_with(end.unwrap_or(usual))?;
        for line in step.about.iter().filter(|line| !line.starts_with("+ ")) {
            let line = self.filled(line);
            match line.split_once(' ') {
                Some(("keep", rest)) => {
                    let (name, source) = rest.split_once(' ').unwrap();
                    let kept = self.seen.kept(source).ok_or_else(|| format!("no {source}"))?;
                    self.texts.insert(name.to_owned(), kept);
                }
                Some(("within", part)) => self.seen.text = self.seen.kept(part).unwrap(),
                _ if self.seen.is_so(&line, &self.folder) => {}
                _ => return Err(format!("not so: {line}")),
            }
        }
        Ok(())
    }

    /// Does what a line says. Returns the usual status or exit code of what comes back, if anything does.
    fn act(&mut self, verb: &str, rest: &str, headers: &[(String, String)]) -> Option<&'static str> {
        match verb {
            "server" => self.start(rest),
            "restart" => {
                let flags = [self.flags.clone(), words(rest)].concat();
                let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
                let server = self.server.take().unwrap().restart(&flags);
                for client in self.clients.values_mut() {
                    if let Client::Browser(person) = client {
                        person.goes_to(&server);
                    }
                }
                self.server = Some(server);
            }
            "stop" => drop(self.server.as_mut().unwrap().terminate()),
            "open" => self.site().open_all(),
            "module" | "down" => {
                let (id, changes) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let site = self.site.get_or_insert_with(held_site::Site::start);
                let host = self.modules.len();
                let module = match verb {
                    "module" => site.module(id, host),
                    _ => site.refusing_module(id, host),
                };
                self.modules.push(with(module, &parsed(changes)));
            }
            "answer" => self.site().answer_one(rest.parse().unwrap()),
            "answers" => {
                let (id, status) = rest.split_once(' ').unwrap();
                self.site().answer_at_once(id, status.parse().unwrap());
            }
            "held" => self.site().wait_for_held(rest.parse().unwrap()),
            "account" => {
                let (name, plan) = rest.split_once(' ').unwrap();
                let key = self.server().key_of(&format!("{name}@example.com"), plan);
                self.enter(name, Client::Key(key));
            }
            "person" => {
                let (name, plan) = rest.split_once(' ').unwrap();
                let person = Person::signed_in(self.server(), &format!("{name}@example.org"), plan);
                person.get("/app");
                self.enter(name, Client::Browser(person));
            }
            "stranger" => self.enter(rest, Client::Browser(Person::new(self.server()))),
            "as" => {
                assert!(self.clients.contains_key(rest), "nobody is called {rest}");
                rest.clone_into(&mut self.current);
            }
            "cookie" => {
                let (name, value) = rest.split_once(' ').unwrap();
                self.browser().set_cookie(name, value);
            }
            "receiver" => {
                let site = match rest {
                    "" => Site::saying(with_headers("X-Mark: <b>bold</b>\r\n", b"thanks")),
                    status => Site::saying(answer(status.parse().unwrap(), "text/plain", "")),
                };
                self.texts.insert("receiver".to_owned(), site.url("/in"));
                self.receiver = Some(site);
            }
            "file" => {
                let (name, content) = rest.split_once(' ').unwrap_or((rest, ""));
                self.folder.file(name, &unquoted(content));
            }
            "remove" => std::fs::remove_file(self.folder.path(rest)).unwrap(),
            "env" => {
                let (name, value) = rest.split_once(' ').unwrap();
                self.variables.push((name.to_owned(), value.to_owned()));
            }
            "sql" => self.database.as_ref().unwrap().execute(rest),
            _ => return Some(self.ask(verb, rest, headers)),
        }
        None
    }

    /// Does what a line says, and keeps what comes back. Returns its usual status or exit code.
    fn ask(&mut self, verb: &str, rest: &str, headers: &[(String, String)]) -> &'static str {
        let (seen, usual) = match verb {
            "received" => {
                let messages = self.receiver.as_ref().unwrap().received();
                let last = messages.last().map(|message| String::from_utf8_lossy(&message.body).into_owned());
                let code = messages.len().try_into().unwrap();
                (Seen { code, ..Seen::of(last.unwrap_or_default()) }, "1")
            }
            "asked" => {
                let code = self.site().asked_by(rest).try_into().unwrap();
                let all = self.site().asked().into_iter();
                let all: Value = all.map(|(module, name)| json!({"module": module, "name": name})).collect();
                (Seen { code, ..Seen::of(all.to_string()) }, "1")
            }
            "number" => (Seen::of(self.database.as_ref().unwrap().number(rest).to_string()), "0"),
            "read" => (Seen::of(std::fs::read_to_string(self.folder.path(rest)).unwrap()), "0"),
            "mode" => {
                let mode = std::fs::metadata(self.folder.path(rest)).unwrap().permissions().mode();
                (Seen::of(format!("{:o}", mode & 0o777)), "0")
            }
            "log" => (Seen::of(self.server().log()), "0"),
            "figure" => (Seen::of(self.server().figure(rest).to_string()), "0"),
            "finish" => (Seen::of(self.finished(rest).to_string()), "0"),
            "$" => (self.run(words(rest)), "0"),
            "form" => (self.form(words(rest), headers).into(), "303"),
            "search" => (self.search(words(rest)).into(), "303"),
            "ended" => {
                let page = self.browser().ended(rest);
                (self.browser().get(&page).into(), "200")
            }
            "follow" => {
                let address = self.seen.header("location").first().copied().unwrap().to_owned();
                (self.request("GET", &address, headers).into(), "200")
            }
            method => (self.request(method, rest, headers).into(), "200"),
        };
        self.seen = seen;
        usual
    }

    fn start(&mut self, options: &str) {
        let options = words(options);
        let is_real = |word: &String| {
            ["real", "family", "modules"].contains(&word.as_str()) || word.starts_with("sites=")
        };
        let mut setup = if options.iter().any(is_real) { Setup::real() } else { Setup::new() };
        if let Some(database) = &self.database {
            setup = setup.database(&database.url);
        }
        for word in &options {
            let sites = word.strip_prefix("sites=").map(|counts| counts.split_once(',').unwrap());
            setup = match (word.as_str(), sites) {
                ("both" | "real", _) => setup,
                ("all", _) => setup.all_modules(),
                ("realistic", _) => setup.realistic(),
                ("hooks", _) => setup.flag("--allow-private-targets").flag(&key_flag()),
                ("family", _) => setup.flags(&self.site.insert(held_site::Site::start()).family_flags()),
                ("modules", _) => {
                    let given: Vec<&str> = options.iter().map(String::as_str).collect();
                    let own = self.site().flags_of(&self.modules, &given);
                    self.flags = own.into_iter().filter(|flag| !options.contains(flag)).collect();
                    self.flags.push("--sandbox=off".to_owned());
                    setup.flags(&self.flags)
                }
                (_, Some((free, gated))) => {
                    let site = self.site.insert(held_site::Site::start());
                    setup.flags(&site.flags(free.parse().unwrap(), gated.parse().unwrap()))
                }
                (flag, _) => setup.flag(flag),
            };
        }
        let server = setup.start();
        let root = Client::Key(server.key.clone());
        self.server = Some(server);
        self.enter("root", root);
    }

    fn enter(&mut self, name: &str, client: Client) {
        if let Client::Key(key) = &client {
            self.texts.insert(format!("key of {name}"), key.clone());
        }
        name.clone_into(&mut self.current);
        self.clients.insert(name.to_owned(), client);
    }

    fn browser(&self) -> &Person {
        match &self.clients[&self.current] {
            Client::Browser(person) => person,
            Client::Key(_) => panic!("{} has no browser", self.current),
        }
    }

    fn request(&self, method: &str, rest: &str, headers: &[(String, String)]) -> Answer {
        assert!(method.bytes().all(|byte| byte.is_ascii_uppercase()), "unknown: {method}");
        let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let given: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let key = match &self.clients[&self.current] {
            Client::Browser(person) => return person.send(method, path, None, &given),
            Client::Key(key) => format!("Bearer {key}"),
        };
        let is_given = |name: &str| given.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let usual = [
            ("Authorization", Some(&*key)),
            ("Content-Type", (!body.is_empty()).then_some("application/json")),
        ];
        let usual = usual.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let usual: Vec<_> = usual.filter(|(name, _)| !is_given(name)).collect();
        let all = usual.into_iter().chain(given.iter().copied().filter(|(_, value)| *value != "-"));
        let request = self.server().request(method, path);
        let request = all.fold(request, |request, (name, value)| request.header(name, value));
        let answer = request.body(body.as_bytes()).send();
        judge(method, path, &answer);
        answer
    }

    fn form(&self, mut words: Vec<String>, headers: &[(String, String)]) -> Answer {
        let path = words.remove(0);
        let token = self.browser().token();
        words.extend((!words.iter().any(|word| word.starts_with("csrf="))).then(|| format!("csrf={token}")));
        let fields: Vec<(&str, &str)> = words.iter().map(|word| word.split_once('=').unwrap()).collect();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.browser().post_as(&path, &fields, &headers)
    }

    /// Sends the form for a search, and keeps the address of its page.
    fn search(&mut self, mut words: Vec<String>) -> Answer {
        let query = words.remove(0);
        let fields: Vec<(&str, &str)> = words.iter().map(|word| word.split_once('=').unwrap()).collect();
        let answer = self.browser().try_search(&query, &fields);
        if let Some(page) = answer.header("location") {
            self.texts.insert("page".to_owned(), page.to_owned());
        }
        answer
    }

    fn finished(&self, run: &str) -> Value {
        let path = format!("/v1/searches/{run}");
        awaited("the run ends", || {
            let answer = self.request("GET", &path, &[]);
            let run = answer.json();
            if answer.status != 200 || run["status"] == "running" { Err(answer) } else { Ok(run) }
        })
    }

    fn run(&self, mut words: Vec<String>) -> Seen {
        let is_variable = |word: &String| word.starts_with("SIGHTLINE_") && word.contains('=');
        let count = words.iter().take_while(|word| is_variable(word)).count();
        let mut arguments = words.split_off(count);
        let lasting = self.variables.iter().map(|(name, value)| (&**name, &**value));
        let variables: Vec<(&str, &str)> =
            lasting.chain(words.iter().map(|word| word.split_once('=').unwrap())).collect();
        let input = arguments.iter().position(|word| word == "<");
        let input = input.map_or(String::new(), |at| arguments.split_off(at).remove(1));
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(input.as_bytes()).unwrap();
        drop(writer);
        let mut command = sightline(&arguments, &variables);
        if let Some(server) = &self.server {
            command.args(["--database", &server.database]);
        }
        let ended = command.stdin(reader).current_dir(self.folder.path("")).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = ended.status.code().unwrap_or(-1);
        Seen { code, text: text(ended.stdout), error: text(ended.stderr), answer: None }
    }
}
