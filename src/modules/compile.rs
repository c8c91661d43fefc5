//! Finds the mistakes in an entry whose form is right: variables without a value, regexes that are not valid, and parts
//! that contradict each other.

use std::collections::BTreeSet;

use url::Url;

use super::definition::{
    Entry, LongExtractor, Matcher, Method, Part, Probe, Reads, Scripts, Source, Via, mistake, parts,
};
use super::module::Module;
use super::pattern::SearchRegex;
use super::plan::{is_reserved, mark};
use super::query::{Query, SearchType};
use super::template::{Template, Variable};

/// The error message for `final_url:` or `absolute_url` if the address contains a key.
const KEY_IN_ADDRESS: &str = "`final_url:` and `absolute_url` contain the requested URL, and with it the key; \
    send the key in a header, or make the address with `format`";
/// The port of WHOIS servers.
const WHOIS_PORT: u16 = 43;

impl Module {
    /// Compiles an entry.
    ///
    /// # Errors
    /// Returns every mistake in the entry, each with its place.
    pub fn compile(entry: Entry) -> Result<Self, Vec<String>> {
        let module = Self::new(entry);
        let json = module.entry().to_json();
        let parts = parts(&json);
        let mut check = Check { entry: module.entry(), mistakes: Vec::new() };
        check.preconditions(&module);
        parts.iter().for_each(|part| check.part(part));
        check.probes();
        check.rules();
        check.results();
        // What the parts as a whole contradict may only be a consequence of a mistake in one of them.
        if check.mistakes.is_empty() {
            check.whole(&module, &parts);
        }
        let mistakes = check.mistakes;
        if mistakes.is_empty() { Ok(module) } else { Err(mistakes) }
    }
}

/// The check of an entry. `at` is the path of what is checked, such as `probes[0].url`.
struct Check<'e> {
    entry: &'e Entry,
    mistakes: Vec<String>,
}

impl Check<'_> {
    fn add(&mut self, at: &str, message: &str) {
        self.mistakes.push(mistake(at, message));
    }

    fn refuse_if(&mut self, is_wrong: bool, at: &str, message: &str) {
        if is_wrong {
            self.add(at, message);
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
        let has_script = entry.scripts != Scripts::default();
        for (is_wrong, at, message) in [
            (!is_name && has_script, "scripts", "it is for usernames; other queries are ASCII always"),
            (!is_name && entry.strip.is_some(), "strip", "it is for usernames"),
            (!is_email && some, "domain_in", "it is for email modules"),
            (!is_email && none, "domain_not_in", "it is for email modules"),
            (some && none, "domain_not_in", "`domain_in` says which domains are asked; leave one out"),
            (is_no_address, "home", "it is not a web address"),
            (entry.off.is_some() && entry.enabled, "off", "it is for modules with `\"enabled\": false`"),
            (falls_back, "probes[0].fallback", "the first probe cannot fall back on anything"),
        ] {
            self.refuse_if(is_wrong, at, message);
        }
        if let Some(Err(message)) = module.accepts.as_ref().map(SearchRegex::check) {
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

    /// Checks that a regex is valid, that variables have a value where they are, and that there is such a probe.
    fn part(&mut self, part: &Part<'_>) {
        let (templates, regex) = part.languages();
        if let Some(Err(message)) = regex.as_ref().map(SearchRegex::check) {
            self.add(&part.at, &message);
        }
        for variable in templates.iter().flat_map(Template::variables) {
            if let Err(message) = self.admits(variable, part) {
                self.add(&part.at, &message);
            }
        }
        let last = self.entry.probes.len().saturating_sub(1);
        let index = part.value.as_u64().filter(|index| part.at.ends_with(".probe") && *index > last as u64);
        if let Some(index) = index {
            let message = format!("there is no probe {index}; the last one is {last} (0 is the first)");
            self.add(&part.at, &message);
        }
    }

    fn admits(&self, variable: &Variable, part: &Part<'_>) -> Result<(), String> {
        let Entry { search_type: kind, probes, needs, .. } = self.entry;
        let needs = |name: &str| needs.iter().any(|need| need.strip_prefix("config.") == Some(name));
        let of_probe = part.probe();
        let earlier = &probes[..of_probe.map_or(probes.len(), |(index, _)| index)];
        // The link for people works even if nothing was saved.
        let is_saved =
            |name: &str| part.at != "profile" && earlier.iter().any(|probe| probe.save.contains_key(name));
        let asked =
            of_probe.filter(|(_, field)| !field.starts_with("save.")).map(|(index, _)| &probes[index]);
        Err(match variable {
            Variable::Query | Variable::Local | Variable::Domain | Variable::Saved(_)
                if asked.is_some_and(|probe| probe.feed.is_some()) =>
            {
                "a feed is fetched once for all queries: its request must not contain `{query}`, `{local}`, `{domain}` or `{saved.NAME}`".into()
            }
            Variable::Local if *kind != SearchType::Email => {
                format!("`{{local}}` has no value in {kind} modules; use `{{query}}`")
            }
            Variable::Domain if *kind == SearchType::Username => {
                format!("`{{domain}}` has no value in {kind} modules; use `{{query}}`")
            }
            Variable::Host if self.entry.host.is_none() => {
                "`{host}` is the `host` of the entry; write that, or the host itself".into()
            }
            Variable::Saved(name) if !is_saved(name) => {
                format!("`{{saved.{name}}}` is not saved by an earlier probe; add it to that probe's `save`")
            }
            Variable::Config { name, .. } if asked.is_none() => {
                format!("`{{config.{name}}}` is not allowed here: keys are only for requests")
            }
            Variable::Config { name, is_optional: true } if needs(name) => format!(
                "`{{config.{name}?}}` may be missing, but \"config.{name}\" is in `needs`; remove the `?` or the entry of `needs`"
            ),
            Variable::Config { name, is_optional: false } if !needs(name) => {
                format!("`{{config.{name}}}` is used but not needed; add \"config.{name}\" to `needs`")
            }
            Variable::Value if asked.is_some() || !part.is_format() => {
                "`{value}` belongs into an extractor's `format`".into()
            }
            _ => return Ok(()),
        })
    }

    fn probes(&mut self) {
        for (index, probe) in self.entry.probes.iter().enumerate() {
            let at = format!("probes[{index}]");
            self.address(&format!("{at}.url"), probe);
            self.request(&at, probe);
            for (name, extractor) in &probe.save {
                self.extractor(&format!("{at}.save.{name}"), extractor, false, None);
            }
        }
    }

    /// Checks that an address fits the client, and that no key gets to an unknown host.
    fn address(&mut self, at: &str, probe: &Probe) {
        let is_query = |url: Url| {
            let is_whois = url.scheme() == "http" && url.port() == Some(WHOIS_PORT);
            is_whois && url.path() != "/" && url.query().is_none()
        };
        let is_wrong = probe.via == Via::Whois && !Url::parse(&probe.url.example()).is_ok_and(is_query);
        self.refuse_if(is_wrong, at, "the address of a WHOIS query is http://SERVER:43/QUERY");
        // A key would be sent to a host that the entry does not name.
        let key = probe.templates().flat_map(Template::variables).find_map(|variable| match variable {
            Variable::Config { name, .. } => Some(name),
            _ => None,
        });
        if let (Some(key), Some(who)) = (key, probe.url.host_is_of()) {
            let message = format!(
                "{who} decides which host is contacted and would receive `{{config.{key}}}`; write the host literally or remove the key"
            );
            self.add(at, &message);
        }
    }

    /// Checks the headers, the method, the body and the client of a probe.
    fn request(&mut self, at: &str, probe: &Probe) {
        let (headers, mut seen) = (format!("{at}.headers"), BTreeSet::new());
        for (name, value) in &probe.headers {
            let lower = name.to_ascii_lowercase();
            self.refuse_if(is_reserved(&lower), &headers, &format!("`{name}` is set by the program"));
            let is_repeated = !seen.insert(lower);
            self.refuse_if(is_repeated, &headers, &format!("`{name}` is repeated; case does not matter"));
            let is_plain = value.chars().all(|c| c.is_ascii() && !c.is_control());
            let message = "a header value may contain only printable ASCII";
            self.refuse_if(!is_plain, &format!("{headers}.{name}"), message);
        }
        let message = "`form` and `json` exclude each other: a probe has one body";
        self.refuse_if(!probe.form.is_empty() && probe.json.is_some(), at, message);
        let is_plain = probe.method == Method::Get && !probe.has_body();
        let lacks_body = probe.has_body() && !matches!(probe.method, Method::Post | Method::Put);
        let message = format!("{} has no body; use POST or PUT", probe.method.as_str());
        self.refuse_if(lacks_body, &format!("{at}.method"), &message);
        let is_other = !is_plain || probe.via != Via::Http;
        let message = "a feed is fetched with GET over HTTP, without a body";
        self.refuse_if(probe.feed.is_some() && is_other, &format!("{at}.feed"), message);
        let is_more = !is_plain || !probe.headers.is_empty() || (probe.follow && probe.via == Via::Whois);
        let message =
            "a browser and WHOIS take no method, headers or body, and WHOIS no redirects: leave them out";
        self.refuse_if(probe.via != Via::Http && is_more, &format!("{at}.via"), message);
    }

    fn rules(&mut self) {
        let entry = self.entry;
        for (list, index, rule) in entry.rules() {
            let at = format!("{list}[{index}]");
            let message = "no condition: it would match every answer; add at least a `status`";
            self.refuse_if(rule.is_empty(), &at, message);
            let message = "the same rule is in `miss`: it would always be a conflict";
            self.refuse_if(list == "hit" && entry.miss.contains(rule), &at, message);
        }
    }

    fn results(&mut self) {
        let entry = self.entry;
        let main = entry.result.iter().map(|main| ("result".to_owned(), &main.value, &main.metadata, None));
        let lists = entry.results.iter().enumerate().map(|(index, list)| {
            (format!("results[{index}]"), &list.value, &list.metadata, Some(&list.each))
        });
        for (at, value, metadata, elements) in main.chain(lists) {
            if let Some(extractor) = value {
                self.extractor(&format!("{at}.value"), extractor, elements.is_none(), elements);
            }
            for (name, extractor) in metadata {
                self.extractor(&format!("{at}.metadata.{name}"), extractor, elements.is_none(), elements);
            }
        }
        for (index, list) in entry.results.iter().enumerate() {
            let source = &list.each;
            self.refuse_if(source.is_of_element(), &format!("results[{index}].each"), &source.not_here());
            let gives_json = source.pointer().is_some() || matches!(source.reads, Reads::JsonLines);
            let message = "its pointers need JSON elements; use `keep` for texts";
            let is_wrong = !list.filter.is_empty() && !gives_json;
            self.refuse_if(is_wrong, &format!("results[{index}].where"), message);
        }
    }

    /// Checks an extractor. `elements` gives what it reads from, if that is not a whole answer, and `may_choose` says whether
    /// it can name the answer.
    fn extractor(&mut self, at: &str, long: &LongExtractor, may_choose: bool, elements: Option<&Source>) {
        let message = "the answer is that of the probe, the list or the outer extractor: leave it out";
        self.refuse_if(long.probe.is_some() && !may_choose, &format!("{at}.probe"), message);
        match (&long.inner, long.from.is_empty()) {
            (None, true) => self.add(&format!("{at}.from"), "it is empty; name at least one KIND:ARGUMENT"),
            (Some(_), false) => {
                self.add(&format!("{at}.from"), "`inner` reads instead of it: leave one of them out");
            }
            (Some(_), true) if long.each.is_none() => {
                self.add(&format!("{at}.inner"), "set `each` to the elements that it reads from");
            }
            _ => {}
        }
        if let Some(each) = &long.each {
            let is_here = matches!(each.reads, Reads::Json(_)) || elements.is_none();
            let allowed = "write /POINTER/*, or outside of lists jsonld:/POINTER or script:/POINTER/*";
            let message = format!("`{}` gives no elements here; {allowed}", &**each);
            self.refuse_if(each.pointer().is_none() || !is_here, &format!("{at}.each"), &message);
        } else {
            let message = "it chooses among JSON elements: set `each` to them";
            self.refuse_if(!long.filter.is_empty(), &format!("{at}.where"), message);
        }
        let elements = long.each.as_ref().or(elements);
        for source in &long.from {
            match (&source.reads, elements) {
                (_, None) if source.is_of_element() => self.add(at, &source.not_here()),
                (Reads::Group(_), Some(elements)) => {
                    let has_groups = matches!(elements.reads, Reads::Regex(_));
                    self.refuse_if(!has_groups, at, "`group:` needs `regex:` in `each`");
                }
                _ => {}
            }
        }
        if let Some(inner) = &long.inner {
            self.extractor(&format!("{at}.inner"), inner, false, elements);
        }
    }

    /// Notes what the parts of the entry contradict together.
    fn whole(&mut self, module: &Module, parts: &[Part<'_>]) {
        let entry = self.entry;
        // A module must not give every query the same outcome. Barrier rules do not count, because they prove neither
        // a hit nor a miss.
        let is_asked = parts
            .iter()
            .any(|part| part.is_in(&["probes", "hit", "miss"]) && part.asks_for(Variable::is_of_query));
        let message = "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as `{query}`, \
             or let a rule look for it, by `{query}`, `equals_query` or `shows_query`";
        self.refuse_if(!is_asked, "", message);
        // The answer to HEAD has no body.
        let is_last =
            module.sources().iter().all(|source| entry.probes[source.end - 1].method == Method::Head);
        for (index, _) in entry.probes.iter().enumerate().filter(|(_, it)| it.method == Method::Head) {
            let message = "HEAD has no body, but a rule or an extractor reads it; use GET";
            self.refuse_if(module.reads_body(index, is_last), &format!("probes[{index}].method"), message);
        }
        let used = module.keys();
        for (index, need) in entry.needs.iter().enumerate() {
            let name = need.strip_prefix("config.").unwrap_or(need);
            let message = format!("no probe uses `{{config.{name}}}`; use it or remove it");
            let is_used = used.iter().any(|key| key.name == name);
            self.refuse_if(!is_used, &format!("needs[{index}]"), &message);
        }
        // A key must not get into a result.
        for (index, probe) in entry.probes.iter().enumerate().filter(|(_, probe)| probe.has_key_in_address())
        {
            let is_here = |at: Option<usize>| at.is_none_or(|at| at == index);
            let mut results = entry.extractors();
            let shows_key = results.any(|(at, _, extractor)| extractor.tells_address() && is_here(at))
                || probe.save.values().any(|extractor| extractor.tells_address());
            self.refuse_if(shows_key, &format!("probes[{index}].url"), KEY_IN_ADDRESS);
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
        let is_drawn = |at: Option<usize>| at.map_or((0..entry.probes.len()).any(drawn), drawn);
        for (list, index, rule) in entry.rules().filter(|(.., rule)| is_drawn(rule.probe)) {
            let at = format!("{list}[{index}]");
            if let Some(field) = not_of_browser(rule) {
                let message = "a browser does not provide it; use `css`, `text` or `final_url`";
                self.add(&format!("{at}.{field}"), message);
                continue;
            }
            // Something that is absent may only be not drawn yet, and a page is judged even if none of its marks appeared.
            let is_unmarked = list != "barrier" && mark(rule, |text| Some(text.to_string())).is_none();
            let message = "nothing in it shows a browser that the page is drawn; ask for `css`, `text`, `words` or `final_url`";
            self.refuse_if(is_unmarked, &at, message);
        }
    }
}

/// Returns a condition of the rule that a browser cannot meet, because it reports only a document and its address.
fn not_of_browser(rule: &Matcher) -> Option<&'static str> {
    let absent = [
        ("status", !rule.status.is_empty()),
        ("header", !rule.header.is_empty()),
        ("no_header", !rule.no_header.is_empty()),
        ("json", !rule.json.is_empty()),
        ("body_is", rule.body_is.is_some()),
    ];
    absent.into_iter().find_map(|(field, is_asked)| is_asked.then_some(field))
}
