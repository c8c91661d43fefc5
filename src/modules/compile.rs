//! Finds the mistakes in an entry whose form is right: variables without a value, regexes that are not valid, and parts
//! that contradict each other.

use std::collections::BTreeSet;

use url::Url;

use super::definition::text::Short as _;
use super::definition::{
    Each, Elements, Entry, Extractor, JsonBody, JsonRule, ListResult, LongExtractor, Matcher, Method, Probe,
    Reads, Scripts, Source, Via,
};
use super::mistake::{Mistake, Mistakes};
use super::module::Module;
use super::pattern::{Pattern, SearchRegex};
use super::plan::is_reserved;
use super::query::{Query, SearchType};
use super::render;
use super::template::{Template, Variable};

/// The error message for `final_url:` or `absolute_url` if the address contains a key.
const KEY_IS_TOLD: &str = "`final_url:` and `absolute_url` tell the address that was asked, in which a key stands; \
    send the key in a header, or make the address with `format`";
/// The port of WHOIS servers.
const WHOIS_PORT: u16 = 43;

impl Module {
    /// Compiles an entry.
    ///
    /// # Errors
    /// Returns every mistake in the entry, each with its place.
    pub fn compile(entry: Entry) -> Result<Self, Vec<Mistake>> {
        let module = Self::new(entry);
        let mut check =
            Check { entry: module.entry(), saved: BTreeSet::new(), mistakes: Mistakes::default() };
        check.entry(&module);
        let mistakes = check.mistakes.list;
        if mistakes.is_empty() { Ok(module) } else { Err(mistakes) }
    }
}

/// The place of a template, which decides what variables it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Request {
        is_feed: bool,
    },
    /// The `format` of an extractor, which has a value.
    Format,
    /// The link for people, which contains the query alone, so that it works even if nothing was saved.
    Profile,
    /// Rules and results, so that no key reaches a result.
    Other,
}

struct Check<'e> {
    entry: &'e Entry,
    /// The names that the probes so far save.
    saved: BTreeSet<&'e str>,
    mistakes: Mistakes,
}

impl<'e> Check<'e> {
    fn entry(&mut self, module: &Module) {
        let entry = self.entry;
        self.preconditions(module);
        for (index, probe) in entry.probes.iter().enumerate() {
            self.at(&format!("probes[{index}]"), |check| check.probe(probe));
        }
        for (list, index, rule) in entry.rules() {
            self.at(&format!("{list}[{index}]"), |check| check.rule(rule));
        }
        for (index, _) in entry.hit.iter().enumerate().filter(|(_, hit)| entry.miss.contains(hit)) {
            let message = "the same rule is in `miss`: it would always be a conflict";
            self.add(&format!("hit[{index}]"), message);
        }
        if let Some(profile) = &entry.profile {
            self.at("profile", |check| check.template(profile, Place::Profile));
        }
        if let Some(main) = &entry.result {
            let metadata = main.metadata.iter().map(|(name, it)| (format!("metadata.{name}"), it));
            let value = main.value.iter().map(|it| ("value".to_owned(), it));
            for (field, extractor) in value.chain(metadata) {
                self.at(&format!("result.{field}"), |check| check.extractor(extractor, None));
            }
        }
        for (index, list) in entry.results.iter().enumerate() {
            self.at(&format!("results[{index}]"), |check| check.list(list));
        }
        if !self.mistakes.list.is_empty() {
            // What follows may only be a consequence of them.
            return;
        }
        self.subject();
        self.heads(module);
        self.keys(module);
        render::lint(entry, &mut self.mistakes);
    }

    /// Calls `check` with a field as the current place.
    fn at(&mut self, field: &str, check: impl FnOnce(&mut Self)) {
        let place = self.mistakes.enter(field);
        check(self);
        self.mistakes.leave(place);
    }

    fn add(&mut self, field: &str, message: impl Into<String>) {
        self.mistakes.add_in(field, message);
    }

    fn check(&mut self, field: &str, result: Result<(), String>) {
        if let Err(message) = result {
            self.add(field, message);
        }
    }

    fn preconditions(&mut self, module: &Module) {
        let entry = self.entry;
        let kind = entry.search_type;
        if kind != SearchType::Username && entry.scripts != Scripts::default() {
            self.add("scripts", "it is for usernames; other queries are ASCII always");
        }
        if kind != SearchType::Username && entry.strip.is_some() {
            self.add("strip", "it is for usernames; other queries are asked as they are");
        }
        for (field, domains) in [("domain_in", &entry.domain_in), ("domain_not_in", &entry.domain_not_in)] {
            if kind != SearchType::Email && !domains.is_empty() {
                self.add(field, "it is for email modules");
            }
        }
        if !entry.domain_in.is_empty() && !entry.domain_not_in.is_empty() {
            self.add("domain_not_in", "`domain_in` says which domains are asked; leave one of the two out");
        }
        if entry.home.as_ref().is_some_and(|home| Url::parse(home).is_err()) {
            self.add("home", "it is not a web address");
        }
        if entry.off.is_some() && entry.enabled {
            self.add("off", "it is for disabled modules; add `\"enabled\": false`, or leave it out");
        }
        if entry.probes.first().is_some_and(|probe| probe.fallback) {
            self.add("probes[0].fallback", "the first probe cannot fall back on anything before it");
        }
        let mut can_match = true;
        if let Some((regex, pattern)) = module.accepts()
            && let Err(message) = regex.check(pattern)
        {
            can_match = false;
            self.add("accepts", message);
        }
        for (index, known) in entry.known.iter().enumerate().filter(|_| can_match) {
            let mistake = match Query::parse(kind, known) {
                Err(error) => Some(format!("it is not a valid {kind} query: {error}")),
                Ok(query) => module
                    .why_refused(&query)
                    .map(|reason| format!("the module itself would skip it: {reason}")),
            };
            self.check(&format!("known[{index}]"), mistake.map_or(Ok(()), Err));
        }
    }

    fn probe(&mut self, probe: &'e Probe) {
        let place = Place::Request { is_feed: probe.feed.is_some() };
        self.at("url", |check| {
            check.template(&probe.url, place);
            check.address(probe);
        });
        let mut seen: Vec<String> = Vec::new();
        for (name, template) in &probe.headers {
            let lower = name.to_ascii_lowercase();
            if is_reserved(&lower) {
                self.add("headers", format!("`{name}` is set by the program"));
            }
            if seen.contains(&lower) {
                self.add("headers", format!("`{name}` is repeated; case does not matter"));
            }
            seen.push(lower);
            self.at(&format!("headers.{name}"), |check| {
                check.template(template, place);
                if template.texts().any(|text| text.chars().any(|c| c.is_control() || !c.is_ascii())) {
                    check.add("", "a header value may contain only printable ASCII");
                }
            });
        }
        for (name, value) in probe.form.iter().flatten() {
            self.at(&format!("form.{}", &**name), |check| {
                check.template(name, place);
                check.template(value, place);
            });
        }
        let json = probe.json.iter().flat_map(JsonBody::templates);
        self.at("json", |check| json.for_each(|template| check.template(template, place)));
        self.method(probe);
        for (name, extractor) in &probe.save {
            self.at(&format!("save.{name}"), |check| check.extractor(extractor, None));
            if extractor.probe.is_some() {
                self.add("save", format!("`{name}` reads the answer of its own probe: leave `probe` out"));
            }
        }
        self.guard_keys(probe);
        self.saved.extend(probe.save.keys().map(String::as_str));
    }

    /// Checks an address with example values in its slots.
    fn address(&mut self, probe: &Probe) {
        let example = probe.url.example();
        match Url::parse(&example) {
            Err(error) => {
                self.add("", format!("`{example}` (filled with an example) is not a valid URL: {error}"));
            }
            Ok(url) => {
                let host = url.host_str().unwrap_or_default();
                if url.host().is_none() || (!host.contains('.') && !host.contains("example")) {
                    self.add("", format!("`{host}` is not a public host name"));
                }
                let is_query = url.scheme() == "http"
                    && url.port() == Some(WHOIS_PORT)
                    && url.path() != "/"
                    && url.query().is_none();
                if probe.via == Via::Whois && !is_query {
                    self.add("", "the address of a WHOIS query is http://SERVER:43/QUERY");
                }
            }
        }
    }

    /// Checks the method, the body and the client of a probe.
    fn method(&mut self, probe: &Probe) {
        if probe.form.is_some() && probe.json.is_some() {
            self.add("", "`form` and `json` exclude each other: a probe has one body");
        }
        let is_plain = probe.method == Method::Get && !probe.has_body();
        if probe.has_body() && !matches!(probe.method, Method::Post | Method::Put) {
            self.add("method", format!("{} has no body; use POST or PUT", probe.method.as_str()));
        }
        if probe.feed.is_some() && (!is_plain || probe.via != Via::Http) {
            self.add("feed", "a feed is fetched with GET over HTTP, without a body");
        }
        if probe.via == Via::Whois && (!is_plain || probe.follow || !probe.headers.is_empty()) {
            self.add("", "a WHOIS query has no method, headers, body or redirects: leave them out");
        }
    }

    /// Refuses probes that would send a key to a host that the entry does not name.
    fn guard_keys(&mut self, probe: &Probe) {
        let key = probe.templates().flat_map(Template::variables).find_map(|variable| match variable {
            Variable::Config { name, .. } => Some(name),
            _ => None,
        });
        if let (Some(key), Some(who)) = (key, probe.url.host_is_of()) {
            let message = format!(
                "{who} decides which host is contacted and would receive `{{config.{key}}}`; write the host literally or remove the key"
            );
            self.add("url", message);
        }
        let told = probe.save.iter().find(|(_, extractor)| extractor.tells_address());
        if let Some((name, _)) = told.filter(|_| probe.has_key_in_address()) {
            self.add("save", format!("`{name}`: {KEY_IS_TOLD}"));
        }
    }

    fn rule(&mut self, rule: &Matcher) {
        self.index_of_probe(rule.probe);
        if rule.is_empty() {
            self.add("", "no condition: it would match every answer; add at least a `status`");
        }
        for (field, pattern) in rule.patterns() {
            self.pattern(field, pattern);
        }
        for (name, regex) in &rule.header {
            self.regex(&format!("header.{name}"), regex);
        }
        for (field, template) in rule.templates() {
            let is_shown = ["text", "title"].iter().any(|shown| field.starts_with(shown));
            if is_shown && template.trim().is_empty() {
                self.add(&field, "an empty text is on every page");
            }
            self.at(&field, |check| check.template(template, Place::Other));
        }
        self.conditions("json", &rule.json);
        for (index, css) in rule.css.iter().enumerate() {
            if let Some(pattern) = &css.matches {
                self.at(&format!("css[{index}]"), |check| check.pattern("matches", pattern));
            }
        }
    }

    fn conditions(&mut self, field: &str, rules: &[JsonRule]) {
        for (index, rule) in rules.iter().enumerate() {
            self.at(&format!("{field}[{index}]"), |check| {
                if !rule.has_condition() {
                    check.add("", "no condition beside `at` (an empty `any_of` is none); add `\"exists\": true` or a condition on the value");
                }
                for (field, pattern) in rule.patterns() {
                    check.pattern(field, pattern);
                }
                for (field, template) in rule.templates() {
                    check.at(field, |check| check.template(template, Place::Other));
                }
            });
        }
    }

    /// Checks an extractor. `list` are the elements of the list that it reads from.
    fn extractor(&mut self, extractor: &Extractor, list: Option<&Each>) {
        match extractor.as_text() {
            Some(_) => self.source("", &extractor.from[0], list.is_some()),
            None => self.long(extractor, 0, list.is_some()),
        }
        let reads_group = extractor.sources().iter().any(|source| matches!(source.reads, Reads::Group(_)));
        if reads_group && list.is_some_and(|each| !matches!(each.elements, Elements::Regex(_))) {
            self.add("", "`group:` needs `regex:` in `each`");
        }
    }

    fn long(&mut self, long: &LongExtractor, level: usize, is_in_list: bool) {
        self.index_of_probe(long.probe);
        if long.probe.is_some() && (is_in_list || level > 0) {
            self.add("probe", "the answer is that of the list or of the outer extractor: leave it out");
        }
        match (&long.inner, long.from.is_empty()) {
            (None, true) => self.add("from", "it is empty; name at least one KIND:ARGUMENT"),
            (Some(_), false) => self.add("from", "`inner` reads instead of it: leave one of them out"),
            (Some(_), true) if long.each.is_none() => {
                self.add("inner", "set `each` to the elements that it reads from");
            }
            _ => {}
        }
        for (index, source) in long.from.iter().enumerate() {
            let field = format!("from[{index}]");
            self.source(&field, source, is_in_list || level > 0 || long.each.is_some());
            if level > 0 && matches!(source.reads, Reads::Group(_)) {
                self.add(&field, "the elements that `inner` reads from are JSON");
            }
        }
        if let Some(each) = &long.each {
            let is_here = matches!(each.elements, Elements::Json(_)) || !(is_in_list || level > 0);
            if !each.gives_members() || !is_here {
                let allowed = "write /POINTER/*, or outside of lists jsonld:/POINTER or script:/POINTER/*";
                self.add("each", format!("`{}` gives no elements here; {allowed}", &**each));
            }
        } else if !long.filter.is_empty() && long.inner.is_none() && !selects_members(&long.from) {
            let message = "it chooses among JSON elements: give one `json:` or `script:` with a parent in `from`, or `each`";
            self.add("where", message);
        }
        self.conditions("where", &long.filter);
        if let Some(regex) = &long.regex {
            self.regex("regex", regex);
        }
        for (index, (regex, _)) in long.labels.iter().enumerate() {
            self.regex(&format!("labels[{index}]"), regex);
        }
        if let Some(format) = &long.format {
            self.at("format", |check| check.template(format, Place::Format));
        }
        if let Some(inner) = &long.inner {
            self.at("inner", |check| check.long(inner, level + 1, is_in_list));
        }
    }

    fn source(&mut self, field: &str, source: &Source, is_in_list: bool) {
        if let Some(message) = source.why_only_in_list().filter(|_| !is_in_list) {
            self.add(field, message);
        }
        match &source.reads {
            Reads::Template(template) => self.at(field, |check| check.template(template, Place::Other)),
            Reads::Regex(regex) => self.regex(field, regex),
            _ => {}
        }
    }

    fn list(&mut self, list: &ListResult) {
        self.index_of_probe(list.probe);
        if let Elements::Regex(pattern) = &list.each.elements {
            self.pattern("each", pattern);
        }
        if let Some(pattern) = &list.keep {
            self.pattern("keep", pattern);
        }
        self.conditions("where", &list.filter);
        if !list.filter.is_empty() && !list.each.gives_json() {
            self.add("where", "its pointers need JSON elements; use `keep` for texts");
        }
        let metadata = list.metadata.iter().map(|(name, it)| (format!("metadata.{name}"), it));
        for (field, extractor) in list.value.iter().map(|it| ("value".to_owned(), it)).chain(metadata) {
            self.at(&field, |check| check.extractor(extractor, Some(&list.each)));
        }
    }

    fn index_of_probe(&mut self, probe: Option<usize>) {
        let last = self.entry.probes.len().saturating_sub(1);
        if let Some(index) = probe.filter(|index| *index > last) {
            let message = format!("there is no probe {index}; the last one is {last} (0 is the first)");
            self.add("probe", message);
        }
    }

    fn regex(&mut self, field: &str, regex: &SearchRegex) {
        self.check(field, regex.check());
    }

    fn pattern(&mut self, field: &str, pattern: &Pattern) {
        self.check(field, pattern.check());
        if let Some(template) = pattern.template() {
            self.at(field, |check| check.template(template, Place::Other));
        }
    }

    fn template(&mut self, template: &Template, place: Place) {
        for variable in template.variables() {
            self.check("", self.admits(variable, place));
        }
    }

    fn admits(&self, variable: &Variable, place: Place) -> Result<(), String> {
        let kind = self.entry.search_type;
        let needs =
            |name: &str| self.entry.needs.iter().any(|need| need.strip_prefix("config.") == Some(name));
        let is_request = matches!(place, Place::Request { .. });
        Err(match variable {
            Variable::Query | Variable::Local | Variable::Domain | Variable::Saved(_)
                if place == (Place::Request { is_feed: true }) =>
            {
                "a feed is fetched once for all queries: its request must not contain `{query}`, `{local}`, `{domain}` or `{saved.NAME}`".into()
            }
            Variable::Local if kind != SearchType::Email => {
                format!("`{{local}}` has no value in {kind} modules; use `{{query}}`")
            }
            Variable::Domain if kind == SearchType::Username => {
                format!("`{{domain}}` has no value in {kind} modules; use `{{query}}`")
            }
            Variable::Saved(name) if place == Place::Profile || !self.saved.contains(name.as_str()) => {
                format!("`{{saved.{name}}}` is not saved by an earlier probe; add it to that probe's `save`")
            }
            Variable::Config { name, .. } if !is_request => {
                format!("`{{config.{name}}}` is not allowed here: keys are only for requests")
            }
            Variable::Config { name, is_optional: true } if needs(name) => format!(
                "`{{config.{name}?}}` may be missing, but \"config.{name}\" is in `needs`; remove the `?` or the entry of `needs`"
            ),
            Variable::Config { name, is_optional: false } if !needs(name) => {
                format!("`{{config.{name}}}` is used but not needed; add \"config.{name}\" to `needs`")
            }
            Variable::Value if place != Place::Format => {
                "`{value}` is allowed only in an extractor's `format`".into()
            }
            _ => return Ok(()),
        })
    }

    /// Notes a module that gives every query the same outcome. Barrier rules do not
    /// count, because they prove neither a hit nor a miss.
    fn subject(&mut self) {
        let entry = self.entry;
        let mut rules = entry.hit.iter().chain(&entry.miss);
        let chosen = entry
            .probes
            .iter()
            .flat_map(|probe| probe.save.values())
            .flat_map(|extractor| extractor.levels());
        let is_asked = entry.probes.iter().flat_map(Probe::templates).any(Template::has_query)
            || chosen.flat_map(|long| &long.filter).any(JsonRule::asks_for_query);
        if !is_asked && !rules.any(Matcher::asks_for_query) {
            self.add(
                "",
                "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as `{query}`, \
                 or let a rule look for it, by `{query}`, `equals_query` or `shows_query`",
            );
        }
    }

    /// Notes a HEAD probe whose body is read, because the answer to HEAD has no body.
    fn heads(&mut self, module: &Module) {
        let entry = self.entry;
        let all_head = entry.probes.iter().all(|probe| probe.method == Method::Head);
        for (index, probe) in entry.probes.iter().enumerate().filter(|(_, it)| it.method == Method::Head) {
            let is_here = |at: Option<usize>| at == Some(index) || (at.is_none() && all_head);
            let reads_body =
                module.rules_on(index).any(|it| it.condition_kinds().reads_body && is_here(it.probe))
                    || probe.save.values().any(|extractor| extractor.body_need().is_some())
                    || entry.results.iter().any(|list| list.each.reads_body() && is_here(list.probe))
                    || entry
                        .extractors()
                        .any(|(at, is_in_list, it)| !is_in_list && it.body_need().is_some() && is_here(at));
            if reads_body {
                let message = "HEAD has no body, but a rule or an extractor reads it; use GET";
                self.add(&format!("probes[{index}].method"), message);
            }
        }
    }

    /// Notes keys that are not used, and keys that could get into a result.
    fn keys(&mut self, module: &Module) {
        let entry = self.entry;
        let used = module.keys();
        for (index, need) in entry.needs.iter().enumerate() {
            let name = need.strip_prefix("config.").unwrap_or(need);
            if !used.iter().any(|key| key.name == name) {
                let message = format!("no probe uses `{{config.{name}}}`; use it or remove it");
                self.add(&format!("needs[{index}]"), message);
            }
        }
        for (index, _) in entry.probes.iter().enumerate().filter(|(_, probe)| probe.has_key_in_address()) {
            let is_here = |at: Option<usize>| at.is_none_or(|at| at == index);
            if entry.extractors().any(|(at, _, extractor)| extractor.tells_address() && is_here(at)) {
                self.add(&format!("probes[{index}].url"), KEY_IS_TOLD);
            }
        }
    }
}

/// Returns whether there is one source, of JSON below a parent.
fn selects_members(from: &[Source]) -> bool {
    let pointer = |source: &Source| match &source.reads {
        Reads::Json(pointer) | Reads::Script(pointer) => Some(!pointer.is_empty()),
        _ => None,
    };
    matches!(from, [source] if pointer(source) == Some(true))
}
