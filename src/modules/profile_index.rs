//! [`ProfileIndex`]: the account to which the address of a profile belongs.
//!
//! The catalogue says for each module which page a person would open for a username. The index reads these templates in
//! the other direction: `https://github.com/octocat` is the account `octocat` of the module `github`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use url::{Position, Url};

use super::barrier::site;
use super::identity::{is_language, is_own_page};
use super::module::Module;
use super::query::domain::registrable;
use super::query::{Query, SearchType};
use super::shared_hosts::without_country;
use super::tables;
use super::template::Template;
use crate::base::encoding::percent_decode_lossy;

/// The text after a username that other path segments may follow.
const ANY_PATH: &str = "/*";

/// What is known about the addresses of platforms beside the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Names {
    /// Further names of hosts, each with the name that the catalogue uses.
    host_names: HashMap<&'static str, &'static str>,
    /// First labels of hosts on which a site is the same, beside those of [`site`].
    versions: Vec<&'static str>,
    /// Sites that are the same below the code of each language or country, such as `de.linkedin.com`.
    in_languages: Vec<&'static str>,
    /// Further addresses of profiles: a module, and the texts before and after the username.
    further_addresses: Vec<(&'static str, &'static str, &'static str)>,
    /// Further names of services, each with its module.
    service_names: HashMap<&'static str, &'static str>,
    /// Words in the position of a name that are pages of platforms, beside those of [`is_own_page`]. Many pages link to `twitter.com/share` or
    /// `facebook.com/sharer.php`.
    other_pages: Vec<&'static str>,
    /// First labels of hosts that are parts of a site on which people have hosts too, beside its pages.
    other_hosts: Vec<&'static str>,
    /// Endings of files, which stand for pages of platforms and not for names.
    files: Vec<&'static str>,
    /// Words before a number that a platform has given, such as `id12345`.
    id_words: Vec<&'static str>,
}

static NAMES: LazyLock<Names> = LazyLock::new(|| tables::read(include_str!("catalog/tables/profiles.json")));

/// An account on a platform: a module, and a username that it accepts.
#[derive(Debug, Clone)]
pub struct NamedAccount {
    /// The module, whose query is a username.
    pub module: Arc<Module>,
    /// The username.
    pub query: Query,
}

/// The accounts of the catalogue's platforms by the addresses of their profiles. It is made once for each catalogue.
#[derive(Debug, Default)]
pub struct ProfileIndex {
    /// The forms of addresses in whose path or query the username is, by host.
    forms: HashMap<String, Vec<Form>>,
    /// The forms of addresses whose host begins with the username, by the rest of the host.
    labels: HashMap<String, Vec<Form>>,
    /// The modules by the names of their services: letters and digits in lower case.
    services: HashMap<String, Arc<Module>>,
    /// The registrable domains of all hosts.
    domains: HashSet<String>,
}

/// The form of a profile's address.
#[derive(Debug)]
struct Form {
    module: Arc<Module>,
    /// The text of path and query before the username.
    before: String,
    /// The text after the username, without a final slash.
    after: String,
}

impl ProfileIndex {
    /// Returns the index of all modules of a catalogue.
    pub(super) fn new(modules: &[Arc<Module>]) -> Self {
        let mut index = Self::default();
        let of_usernames = || modules.iter().filter(|module| module.search_type() == SearchType::Username);
        let get = |id: &str| of_usernames().find(|module| module.id().as_ref() == id);
        for module in of_usernames() {
            for name in [module.id().as_ref(), module.platform()] {
                index.services.entry(service_key(name)).or_insert_with(|| Arc::clone(module));
            }
            if let Some((before, after)) = module.entry().profile.as_ref().and_then(Template::around_query) {
                index.add(module, before, after);
            }
        }
        for (id, before, after) in &NAMES.further_addresses {
            if let Some(module) = get(id) {
                index.add(module, before, after);
            }
        }
        for (name, id) in &NAMES.service_names {
            if let Some(module) = get(id) {
                index.services.insert((*name).to_owned(), Arc::clone(module));
            }
        }
        // The form with the most fixed text is the most exact one. Popular modules come first among equals.
        for forms in index.forms.values_mut().chain(index.labels.values_mut()) {
            let rank = |form: &Form| form.module.entry().rank.unwrap_or(u32::MAX);
            forms.sort_by_key(|form| {
                let length = form.before.len() + form.after.len();
                (std::cmp::Reverse(length), rank(form), form.module.id().to_string())
            });
        }
        index
    }

    fn add(&mut self, module: &Arc<Module>, before: &str, after: &str) {
        let Some((_, rest)) = before.split_once("://") else { return };
        let (forms, host, before, after) = if rest.is_empty() {
            let Some((host, after)) = after.strip_prefix('.').map(cut_at_path) else { return };
            (&mut self.labels, host, "", after)
        } else {
            let (host, before) = cut_at_path(rest);
            (&mut self.forms, host, before, after)
        };
        let (before, after) = (before.to_owned(), after.trim_end_matches('/').to_owned());
        let host = bare_host(host);
        self.domains.insert(registrable(&host).unwrap_or(&host).to_owned());
        forms.entry(host).or_default().push(Form { module: Arc::clone(module), before, after });
    }

    /// Returns the account whose profile has this address. Returns `None` if the address is another page of a platform,
    /// or of another site.
    pub fn account_at(&self, url: &Url) -> Option<NamedAccount> {
        let host = bare_host(site(url));
        let path = &url[Position::BeforePath..];
        let at = |host: &str| {
            let named = |form: &Form| named(&form.module, &percent_decode_lossy(form.name_in(path)?));
            self.forms.get(host)?.iter().find_map(named)
        };
        at(&host).or_else(|| at(host_of_version(&host)?)).or_else(|| {
            let (label, rest) = host.split_once('.')?;
            let is_persons = label.len() > 2 && !NAMES.other_hosts.contains(&label);
            let below = self.labels.get(&bare_host(rest)).filter(|_| is_persons)?;
            let is_whole = |form: &&Form| form.after.eq_ignore_ascii_case(url.path().trim_end_matches('/'));
            below.iter().filter(is_whole).find_map(|form| named(&form.module, label))
        })
    }

    /// Returns the account whose profile has the address that a person has pasted, with or without its scheme. A host alone
    /// is no such address.
    pub fn account_in(&self, text: &str) -> Option<NamedAccount> {
        let text = text.trim();
        if !text.contains('/') {
            return None;
        }
        let address = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let url = Url::parse(&address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        self.account_at(&url)
    }

    /// Returns the account of that name on the service that people call `service`, such as `GitHub` or `twitter`.
    pub fn account_on(&self, service: &str, name: &str) -> Option<NamedAccount> {
        let module = self.services.get(&service_key(service))?;
        named(module, name)
    }

    /// Returns whether people call a service of the catalogue by this name.
    pub fn knows_service(&self, service: &str) -> bool {
        self.services.contains_key(&service_key(service))
    }

    /// Returns whether a host belongs to a platform of the catalogue: one with profiles, or another host of its domain.
    pub fn is_platform(&self, host: &str) -> bool {
        let host = bare_host(host);
        let domain = bare_host(registrable(&host).unwrap_or(&host));
        let is_below = |rest: &str| self.labels.contains_key(rest);
        self.domains.contains(&domain) || host.split_once('.').is_some_and(|(_, rest)| is_below(rest))
    }
}

impl Form {
    /// Returns the username in a path with its query, percent-encoded.
    fn name_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (front, rest) = path.split_at_checked(self.before.len())?;
        if !front.eq_ignore_ascii_case(&self.before) {
            return None;
        }
        if self.after == ANY_PATH {
            return rest.split(['/', '?', '#']).next().filter(|name| !name.is_empty() && !is_id(name));
        }
        let rest = rest.trim_end_matches('/');
        let (name, back) = rest.split_at_checked(rest.len().checked_sub(self.after.len())?)?;
        // A query or a fragment after the name belongs to the address, not to the name.
        let next = if self.before.contains('?') { '&' } else { '?' };
        let name = name.split([next, '#']).next()?.trim_end_matches('/');
        let is_match = back.eq_ignore_ascii_case(&self.after) && !name.is_empty() && !name.contains('/');
        is_match.then_some(name)
    }
}

fn named(module: &Arc<Module>, name: &str) -> Option<NamedAccount> {
    let query = Query::parse(SearchType::Username, name).ok()?;
    let is_account = !is_page(query.normal()) && module.why_refused(&query).is_none();
    is_account.then(|| NamedAccount { module: Arc::clone(module), query })
}

/// Returns whether a text in the position of a name is a page of the platform. Single letters, as in `t.me/s/news`, are
/// parts of other addresses.
fn is_page(name: &str) -> bool {
    let word = name.to_lowercase();
    let is_file = word.rsplit_once('.').is_some_and(|(_, end)| NAMES.files.contains(&end));
    let is_letter = word.len() == 1 || word.starts_with('+');
    is_own_page(&word) || NAMES.other_pages.contains(&word.as_str()) || is_file || is_letter
}

/// Returns whether a platform has given the name, which therefore means nothing on other platforms: a number, a number
/// after a word such as `user`, or an opaque key.
pub fn is_id(name: &str) -> bool {
    let name = name.strip_prefix('@').unwrap_or(name);
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = word.len() < name.len() && {
        let word = word.trim_end_matches(['-', '_', '.']).to_lowercase();
        word.is_empty() || NAMES.id_words.contains(&word.as_str())
    };
    let is_digit = |b: &u8| b.is_ascii_digit();
    let is_hex = name.len() >= 12
        && name.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
        && name.bytes().any(|b| is_digit(&b));
    // In a name, digits are a year or a number at an end. In a key, they stand everywhere.
    let changes = name.as_bytes().windows(2).filter(|pair| is_digit(&pair[0]) != is_digit(&pair[1])).count();
    is_numbered || is_hex || (name.len() >= 12 && changes >= 5)
}

/// Splits a text at the first slash, which belongs to the second part.
fn cut_at_path(text: &str) -> (&str, &str) {
    text.split_at(text.find('/').unwrap_or(text.len()))
}

/// Returns the host of which another one is only a version, such as `reddit.com` for `old.reddit.com`.
fn host_of_version(host: &str) -> Option<&str> {
    let (label, rest) = host.split_once('.')?;
    (NAMES.versions.contains(&label) || (NAMES.in_languages.contains(&rest) && is_language(label)))
        .then_some(rest)
}

/// Returns the host as the catalogue names it, in lower case and without `www.`.
fn bare_host(host: &str) -> String {
    let host = without_country(host.to_ascii_lowercase());
    let bare = host.strip_prefix("www.").unwrap_or(&host);
    NAMES.host_names.get(bare).copied().unwrap_or(bare).to_owned()
}

fn service_key(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::catalog::Catalog;

    fn read(index: &ProfileIndex, url: &str) -> Option<(String, String)> {
        let found = index.account_at(&Url::parse(url).unwrap())?;
        Some((found.module.id().to_string(), found.query.normal().to_owned()))
    }

    #[test]
    fn addresses_of_profiles_name_accounts() {
        let catalog = Catalog::builtin().unwrap();
        let index = catalog.profiles();
        for (url, id, name) in [
            ("https://github.com/octocat", "github", "octocat"),
            ("https://github.com/octocat?tab=repositories", "github", "octocat"),
            ("https://twitter.com/jack", "x", "jack"),
            ("https://www.youtube.com/@veritasium", "youtube", "veritasium"),
            ("https://old.reddit.com/user/spez", "reddit", "spez"),
            ("https://staff.tumblr.com/?ref=x", "tumblr", "staff"),
            ("https://news.ycombinator.com/user?id=pg", "hacker_news", "pg"),
            ("https://news.ycombinator.com/user?id=dang#top", "hacker_news", "dang"),
            ("https://gist.github.com/alice-gist/123", "github", "alice-gist"),
            ("https://alice-sub.medium.com/#about", "medium", "alice-sub"),
            ("https://www.pinterest.de/alicepin/", "pinterest", "alicepin"),
            ("https://pinterest.co.uk/alicepin", "pinterest", "alicepin"),
            ("https://de.linkedin.com/in/alice-a", "linkedin", "alice-a"),
            ("https://pt-br.facebook.com/alice.a", "facebook", "alice.a"),
            ("https://t.me/s/alicechannel", "telegram", "alicechannel"),
        ] {
            assert_eq!(read(index, url), Some((id.to_owned(), name.to_owned())), "{url}");
        }
    }

    /// Every template of the catalogue, filled with a name, gives the name again.
    #[test]
    fn each_profile_address_of_the_catalogue_is_read() {
        let catalog = Catalog::builtin().unwrap();
        let index = catalog.profiles();
        let mut unread = Vec::new();
        for module in catalog.modules() {
            let Some(name) = module.entry().known.first() else { continue };
            let profile = module.entry().profile.as_ref();
            let Some((before, after)) = profile.and_then(Template::around_query) else { continue };
            // The word also occurs in other pages of sites.
            if module.search_type() != SearchType::Username || name == "user" {
                continue;
            }
            let url = format!("{before}{}{after}", name.trim_start_matches('@'));
            let found = Url::parse(&url).ok().and_then(|url| index.account_at(&url));
            let is_same = found.is_some_and(|found| found.query.normal().eq_ignore_ascii_case(name));
            if !is_same {
                unread.push(url);
            }
        }
        assert!(unread.is_empty(), "{} addresses: {unread:#?}", unread.len());
    }

    #[test]
    fn services_are_known_by_several_names() {
        let catalog = Catalog::builtin().unwrap();
        let index = catalog.profiles();
        for (service, id) in
            [("GitHub", "github"), ("twitter", "x"), ("Hacker News", "hacker_news"), ("tg", "telegram")]
        {
            let found = index.account_on(service, "@octocat").unwrap();
            assert_eq!((found.module.id().as_ref(), found.query.normal()), (id, "octocat"));
        }
        assert!(index.account_on("GitHub", "not a name").is_none());
        assert!(index.account_on("no such service", "octocat").is_none());
        assert!(index.is_platform("github.com") && index.is_platform("staff.tumblr.com"));
        assert!(!index.is_platform("example.org"));
    }
}
