//! Finds the mistakes in an entry whose form is right: variables without a value, regexes that are not valid, and parts
//! that contradict each other.

use std::collections::BTreeSet;

use url::Url;

use super::definition::text::Short as _;
use super::definition::{
    Each, Entry, Extractor, JsonBody, JsonRule, ListResult, LongExtractor, Matcher, Method, Probe, Reads,
    Scripts, Source, Via,
};
use super::mistake::Mistake;
use super::module::Module;
use super::pattern::{Piece, WholeRegex};
use super::plan::{is_reserved, mark};
use super::query::{Query, SearchType};
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
        let mut check = Check { entry: module.entry(), saved: BTreeSet::new(), mistakes: Vec::new() };
        check.parts(&module);
        // What the parts as a whole contradict may only be a consequence of a mistake in one of them.
        if check.mistakes.is_empty() {
            check.whole(&module);
        }
        let mistakes = check.mistakes;
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

/// The check of an entry. `at` is the path of what is checked, such as `probes[0].url`.
struct Check<'e> {
    entry: &'e Entry,
    /// The names that the probes so far save.
    saved: BTreeSet<&'e str>,
    mistakes: Vec<Mistake>,
}

impl<'e> Check<'e> {
    fn add(&mut self, at: &str, message: &str) {
        self.mistakes.push(Mistake::new(at, message));
    }

    fn refuse_if(&mut self, is_wrong: bool, at: &str, message: &str) {
        if is_wrong {
            self.add(at, message);
        }
    }

    fn parts(&mut self, module: &Module) {
        let entry = self.entry;
        self.preconditions(module);
        for (index, probe) in entry.probes.iter().enumerate() {
            self.probe(&format!("probes[{index}]"), probe);
        }
        for (list, index, rule) in entry.rules() {
            self.rule(&format!("{list}[{index}]"), rule);
        }
        for (index, hit) in entry.hit.iter().enumerate() {
            let message = "the same rule is in `miss`: it would always be a conflict";
            self.refuse_if(entry.miss.contains(hit), &format!("hit[{index}]"), message);
        }
        if let Some(profile) = &entry.profile {
            self.template("profile", profile, Place::Profile);
        }
        if let Some(main) = &entry.result {
            self.extractors("result", main.value.as_ref(), main.metadata.iter(), None);
        }
        for (index, list) in entry.results.iter().enumerate() {
            self.list(&format!("results[{index}]"), list);
        }
    }

    fn preconditions(&mut self, module: &Module) {
        let entry = self.entry;
        let kind = entry.search_type;
        let is_name = kind == SearchType::Username;
        let is_email = kind == SearchType::Email;
        let (some, none) = (!entry.domain_in.is_empty(), !entry.domain_not_in.is_empty());
        let is_no_address = entry.home.as_ref().is_some_and(|home| Url::parse(home).is_err());
        let falls_back = entry.probes.first().is_some_and(|probe| probe.fallback);
        for (is_wrong, at, message) in [
            (
                !is_name && entry.scripts != Scripts::default(),
                "scripts",
                "it is for usernames; other queries are ASCII always",
            ),
            (
                !is_name && entry.strip.is_some(),
                "strip",
                "it is for usernames; other queries are asked as they are",
            ),
            (!is_email && some, "domain_in", "it is for email modules"),
            (!is_email && none, "domain_not_in", "it is for email modules"),
            (
                some && none,
                "domain_not_in",
                "`domain_in` says which domains are asked; leave one of the two out",
            ),
            (is_no_address, "home", "it is not a web address"),
            (
                entry.off.is_some() && entry.enabled,
                "off",
                "it is for disabled modules; add `\"enabled\": false`, or leave it out",
            ),
            (falls_back, "probes[0].fallback", "the first probe cannot fall back on anything before it"),
        ] {
            self.refuse_if(is_wrong, at, message);
        }
        if let Some(Err(message)) = module.accepts.as_ref().map(WholeRegex::check) {
            return self.add("accepts", &message);
        }
        for (index, known) in entry.known.iter().enumerate() {
            let mistake = match Query::parse(kind, known) {
                Err(error) => Some(format!("it is not a valid {kind} query: {error}")),
                Ok(query) => module
                    .why_refused(&query)
                    .map(|reason| format!("the module itself would skip it: {reason}")),
            };
            if let Some(message) = mistake {
                self.add(&format!("known[{index}]"), &message);
            }
        }
    }

    fn probe(&mut self, at: &str, probe: &'e Probe) {
        let place = Place::Request { is_feed: probe.feed.is_some() };
        self.template(&format!("{at}.url"), &probe.url, place);
        self.address(&format!("{at}.url"), probe);
        let (headers, mut seen) = (format!("{at}.headers"), BTreeSet::new());
        for (name, template) in &probe.headers {
            let lower = name.to_ascii_lowercase();
            self.refuse_if(is_reserved(&lower), &headers, &format!("`{name}` is set by the program"));
            let is_repeated = !seen.insert(lower);
            self.refuse_if(is_repeated, &headers, &format!("`{name}` is repeated; case does not matter"));
            let at = format!("{headers}.{name}");
            self.template(&at, template, place);
            let is_plain = template.chars().all(|c| c.is_ascii() && !c.is_control());
            self.refuse_if(!is_plain, &at, "a header value may contain only printable ASCII");
        }
        for (name, value) in &probe.form {
            self.template(&format!("{at}.form.{name}"), value, place);
        }
        for template in probe.json.iter().flat_map(JsonBody::templates) {
            self.template(&format!("{at}.json"), template, place);
        }
        self.method(at, probe);
        for (name, extractor) in &probe.save {
            self.extractor(&format!("{at}.save.{name}"), extractor, None);
            let message = format!("`{name}` reads the answer of its own probe: leave `probe` out");
            self.refuse_if(extractor.probe.is_some(), &format!("{at}.save"), &message);
            let message = format!("`{name}`: {KEY_IS_TOLD}");
            let tells_key = extractor.tells_address() && probe.has_key_in_address();
            self.refuse_if(tells_key, &format!("{at}.save"), &message);
        }
        // A key would be sent to a host that the entry does not name.
        let key = probe.templates().flat_map(Template::variables).find_map(|variable| match variable {
            Variable::Config { name, .. } => Some(name),
            _ => None,
        });
        if let (Some(key), Some(who)) = (key, probe.url.host_is_of()) {
            let message = format!(
                "{who} decides which host is contacted and would receive `{{config.{key}}}`; write the host literally or remove the key"
            );
            self.add(&format!("{at}.url"), &message);
        }
        self.saved.extend(probe.save.keys().map(String::as_str));
    }

    /// Checks an address with example values in its slots.
    fn address(&mut self, at: &str, probe: &Probe) {
        let example = probe.url.example();
        let url = match Url::parse(&example) {
            Ok(url) => url,
            Err(error) => {
                let message = format!("`{example}` (filled with an example) is not a valid URL: {error}");
                return self.add(at, &message);
            }
        };
        let host = url.host_str().unwrap_or_default();
        let is_public = url.host().is_some() && (host.contains('.') || host.contains("example"));
        self.refuse_if(!is_public, at, &format!("`{host}` is not a public host name"));
        let is_query = url.scheme() == "http"
            && url.port() == Some(WHOIS_PORT)
            && url.path() != "/"
            && url.query().is_none();
        let message = "the address of a WHOIS query is http://SERVER:43/QUERY";
        self.refuse_if(probe.via == Via::Whois && !is_query, at, message);
    }

    /// Checks the method, the body and the client of a probe.
    fn method(&mut self, at: &str, probe: &Probe) {
        let message = "`form` and `json` exclude each other: a probe has one body";
        self.refuse_if(!probe.form.is_empty() && probe.json.is_some(), at, message);
        let is_plain = probe.method == Method::Get && !probe.has_body();
        let lacks_body = probe.has_body() && !matches!(probe.method, Method::Post | Method::Put);
        let message = format!("{} has no body; use POST or PUT", probe.method.as_str());
        self.refuse_if(lacks_body, &format!("{at}.method"), &message);
        let is_other = !is_plain || probe.via != Via::Http;
        let message = "a feed is fetched with GET over HTTP, without a body";
        self.refuse_if(probe.feed.is_some() && is_other, &format!("{at}.feed"), message);
        let is_more = !is_plain || probe.follow || !probe.headers.is_empty();
        let message = "a WHOIS query has no method, headers, body or redirects: leave them out";
        self.refuse_if(probe.via == Via::Whois && is_more, at, message);
    }

    fn rule(&mut self, at: &str, rule: &Matcher) {
        self.index_of_probe(at, rule.probe);
        let message = "no condition: it would match every answer; add at least a `status`";
        self.refuse_if(rule.is_empty(), at, message);
        for (field, piece) in rule.pieces() {
            let is_shown = ["text", "title"].iter().any(|shown| field.starts_with(shown));
            let is_blank = is_shown && piece.template().is_some_and(|text| text.trim().is_empty());
            let at = format!("{at}.{field}");
            self.refuse_if(is_blank, &at, "an empty text is on every page");
            self.piece(&at, piece);
        }
        self.conditions(&format!("{at}.json"), &rule.json);
    }

    fn conditions(&mut self, at: &str, rules: &[JsonRule]) {
        for (index, rule) in rules.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let message = "no condition beside `at` (an empty `any_of` is none); add `\"exists\": true` or a condition on the value";
            self.refuse_if(!rule.has_condition(), &at, message);
            for (field, piece) in rule.pieces() {
                self.piece(&format!("{at}.{field}"), piece);
            }
        }
    }

    /// Checks the extractors of a result. `list` are the elements of the list that they read from.
    fn extractors<'x>(
        &mut self,
        at: &str,
        value: Option<&'x Extractor>,
        metadata: impl Iterator<Item = (&'x String, &'x Extractor)>,
        list: Option<&Each>,
    ) {
        if let Some(value) = value {
            self.extractor(&format!("{at}.value"), value, list);
        }
        for (name, extractor) in metadata {
            self.extractor(&format!("{at}.metadata.{name}"), extractor, list);
        }
    }

    fn extractor(&mut self, at: &str, extractor: &Extractor, list: Option<&Each>) {
        match extractor.as_text() {
            Some(_) => self.source(at, &extractor.from[0], list.is_some()),
            None => self.long(at, extractor, 0, list.is_some()),
        }
        let reads_group = extractor.sources().iter().any(|source| matches!(source.reads, Reads::Group(_)));
        let has_groups = list.is_none_or(|each| matches!(each.source.reads, Reads::Matches(_)));
        self.refuse_if(reads_group && !has_groups, at, "`group:` needs `regex:` in `each`");
    }

    fn long(&mut self, at: &str, long: &LongExtractor, level: usize, is_in_list: bool) {
        self.index_of_probe(at, long.probe);
        let is_inside = is_in_list || level > 0;
        let message = "the answer is that of the list or of the outer extractor: leave it out";
        self.refuse_if(long.probe.is_some() && is_inside, &format!("{at}.probe"), message);
        let from = format!("{at}.from");
        match (&long.inner, long.from.is_empty()) {
            (None, true) => self.add(&from, "it is empty; name at least one KIND:ARGUMENT"),
            (Some(_), false) => self.add(&from, "`inner` reads instead of it: leave one of them out"),
            (Some(_), true) if long.each.is_none() => {
                self.add(&format!("{at}.inner"), "set `each` to the elements that it reads from");
            }
            _ => {}
        }
        for (index, source) in long.from.iter().enumerate() {
            let at = format!("{from}[{index}]");
            self.source(&at, source, is_inside || long.each.is_some());
            let is_group = level > 0 && matches!(source.reads, Reads::Group(_));
            self.refuse_if(is_group, &at, "the elements that `inner` reads from are JSON");
        }
        if let Some(each) = &long.each {
            let is_here = matches!(each.source.reads, Reads::Json(_)) || !is_inside;
            let allowed = "write /POINTER/*, or outside of lists jsonld:/POINTER or script:/POINTER/*";
            let message = format!("`{}` gives no elements here; {allowed}", &**each);
            self.refuse_if(each.source.pointer().is_none() || !is_here, &format!("{at}.each"), &message);
        } else {
            let message = "it chooses among JSON elements: set `each` to them";
            self.refuse_if(!long.filter.is_empty(), &format!("{at}.where"), message);
        }
        self.conditions(&format!("{at}.where"), &long.filter);
        if let Some(regex) = &long.regex {
            self.piece(&format!("{at}.regex"), Piece::Regex(regex));
        }
        for (index, (regex, _)) in long.labels.iter().enumerate() {
            self.piece(&format!("{at}.labels[{index}]"), Piece::Regex(regex));
        }
        if let Some(format) = &long.format {
            self.template(&format!("{at}.format"), format, Place::Format);
        }
        if let Some(inner) = &long.inner {
            self.long(&format!("{at}.inner"), inner, level + 1, is_in_list);
        }
    }

    fn source(&mut self, at: &str, source: &Source, is_in_list: bool) {
        if let Some(message) = source.why_only_in_list().filter(|_| !is_in_list) {
            self.add(at, &message);
        }
        match &source.reads {
            Reads::Template(template) => self.piece(at, Piece::Template(template)),
            Reads::Regex(regex) => self.piece(at, Piece::Regex(regex)),
            Reads::Matches(pattern) => self.piece(at, Piece::Pattern(pattern)),
            _ => {}
        }
    }

    fn list(&mut self, at: &str, list: &ListResult) {
        self.index_of_probe(at, list.probe);
        self.source(&format!("{at}.each"), &list.each.source, true);
        if let Some(pattern) = &list.keep {
            self.piece(&format!("{at}.keep"), Piece::Pattern(pattern));
        }
        let filter = format!("{at}.where");
        self.conditions(&filter, &list.filter);
        let source = &list.each.source;
        let gives_json = source.pointer().is_some() || matches!(source.reads, Reads::JsonLines);
        let message = "its pointers need JSON elements; use `keep` for texts";
        self.refuse_if(!list.filter.is_empty() && !gives_json, &filter, message);
        self.extractors(at, list.value.as_ref(), list.metadata.iter(), Some(&list.each));
    }

    fn index_of_probe(&mut self, at: &str, probe: Option<usize>) {
        let last = self.entry.probes.len().saturating_sub(1);
        if let Some(index) = probe.filter(|index| *index > last) {
            let message = format!("there is no probe {index}; the last one is {last} (0 is the first)");
            self.add(&format!("{at}.probe"), &message);
        }
    }

    fn piece(&mut self, at: &str, piece: Piece<'_>) {
        if let Err(message) = piece.check() {
            self.add(at, &message);
        }
        if let Some(template) = piece.template() {
            self.template(at, template, Place::Other);
        }
    }

    fn template(&mut self, at: &str, template: &Template, place: Place) {
        for variable in template.variables() {
            if let Err(message) = self.admits(variable, place) {
                self.add(at, &message);
            }
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

    /// Notes what the parts of the entry contradict together.
    fn whole(&mut self, module: &Module) {
        let entry = self.entry;
        // A module must not give every query the same outcome. Barrier rules do not count, because they prove neither
        // a hit nor a miss.
        let saves = || entry.probes.iter().flat_map(|probe| probe.save.values());
        let mut chosen = saves().flat_map(|extractor| extractor.levels()).flat_map(|long| &long.filter);
        let is_asked = entry.probes.iter().flat_map(Probe::templates).any(Template::has_query)
            || chosen.any(JsonRule::asks_for_query)
            || entry.hit.iter().chain(&entry.miss).any(Matcher::asks_for_query);
        let message = "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as `{query}`, \
             or let a rule look for it, by `{query}`, `equals_query` or `shows_query`";
        self.refuse_if(!is_asked, "", message);
        // The answer to HEAD has no body.
        let all_head = entry.probes.iter().all(|probe| probe.method == Method::Head);
        for (index, _) in entry.probes.iter().enumerate().filter(|(_, it)| it.method == Method::Head) {
            let message = "HEAD has no body, but a rule or an extractor reads it; use GET";
            self.refuse_if(module.reads_body(index, all_head), &format!("probes[{index}].method"), message);
        }
        let used = module.keys();
        for (index, need) in entry.needs.iter().enumerate() {
            let name = need.strip_prefix("config.").unwrap_or(need);
            let message = format!("no probe uses `{{config.{name}}}`; use it or remove it");
            let is_used = used.iter().any(|key| key.name == name);
            self.refuse_if(!is_used, &format!("needs[{index}]"), &message);
        }
        // A key must not get into a result.
        for (index, _) in entry.probes.iter().enumerate().filter(|(_, probe)| probe.has_key_in_address()) {
            let is_here = |at: Option<usize>| at.is_none_or(|at| at == index);
            let is_told =
                entry.extractors().any(|(at, _, extractor)| extractor.tells_address() && is_here(at));
            self.refuse_if(is_told, &format!("probes[{index}].url"), KEY_IS_TOLD);
        }
        if module.is_premium() {
            self.browser();
        }
    }

    /// Notes what is not allowed with a browser, and what a browser needs.
    fn browser(&mut self) {
        let entry = self.entry;
        let is_other = entry.search_type != SearchType::Username;
        self.refuse_if(is_other, "probes", "`\"via\": \"browser\"` is for username modules only");
        let message = "it is empty; a browser needs a rule for missing accounts";
        self.refuse_if(entry.miss.is_empty(), "miss", message);
        let message = "a browser's hit is always confirmed; leave it out";
        self.refuse_if(entry.control == Some(false), "control", message);
        let drawn = |index: usize| entry.probes[index].via == Via::Browser;
        for (index, probe) in entry.probes.iter().enumerate().filter(|(index, _)| drawn(*index)) {
            let message = "a browser opens pages: method GET, no body";
            let is_sent = probe.method != Method::Get || probe.has_body();
            self.refuse_if(is_sent, &format!("probes[{index}].via"), message);
            let message = "a browser sends headers of its own; leave them out";
            self.refuse_if(!probe.headers.is_empty(), &format!("probes[{index}].headers"), message);
        }
        let is_drawn = |at: Option<usize>| at.map_or((0..entry.probes.len()).any(drawn), drawn);
        for (list, index, rule) in entry.rules().filter(|(.., rule)| is_drawn(rule.probe)) {
            // A browser reports only a document and its address.
            let absent = [
                ("status", !rule.status.is_empty()),
                ("header", !rule.header.is_empty()),
                ("no_header", !rule.no_header.is_empty()),
                ("json", !rule.json.is_empty()),
                ("body_is", rule.body_is.is_some()),
            ];
            for (field, is_asked) in absent {
                let message = "a browser does not provide it; use `css`, `text`, `title` or `final_url`";
                self.refuse_if(is_asked, &format!("{list}[{index}].{field}"), message);
            }
            // Something that is absent may only be not drawn yet, and a page is judged even if none of its marks appeared.
            let is_unmarked = list != "barrier" && mark(rule, |text| Some(text.to_string())).is_none();
            let message = "nothing in it shows a browser that the page is drawn; ask for `css`, `text`, `title`, `words` \
                           or `final_url`";
            let is_unmarked = is_unmarked && !absent.iter().any(|(_, is_asked)| *is_asked);
            self.refuse_if(is_unmarked, &format!("{list}[{index}]"), message);
        }
    }
}
