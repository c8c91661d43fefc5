//! [`ProfileIndex`]: the account to which the address of a profile belongs.
//!
//! The catalogue says for each module which page a person would open for a username. The index reads these templates in
//! the other direction: `https://github.com/octocat` is the account `octocat` of the module `github`.

use std::collections::HashMap;
use std::sync::Arc;

use url::Url;

use super::identity::{is_own_page, site};
use super::module::Module;
use super::query::{Query, SearchType};
use crate::base::encoding::percent_decode_lossy;

/// Further names of hosts, each with the name that the catalogue uses.
const HOST_NAMES: [(&str, &str); 6] = [
    ("twitter.com", "x.com"),
    ("fb.com", "facebook.com"),
    ("telegram.me", "t.me"),
    ("threads.net", "threads.com"),
    ("old.reddit.com", "reddit.com"),
    ("linkedin.cn", "linkedin.com"),
];

/// Further addresses of profiles, each with its module.
const FURTHER_ADDRESSES: [(&str, &str, &str); 5] = [
    ("reddit", "https://www.reddit.com/u/", ""),
    ("youtube", "https://www.youtube.com/c/", ""),
    ("youtube", "https://www.youtube.com/user/", ""),
    ("tumblr", "https://", ".tumblr.com/"),
    ("deviantart", "https://", ".deviantart.com/"),
];

/// Further names of services, each with its module.
const SERVICE_NAMES: [(&str, &str); 12] = [
    ("twitter", "x"),
    ("twittercom", "x"),
    ("xtwitter", "x"),
    ("hackernews", "hacker_news"),
    ("ig", "instagram"),
    ("insta", "instagram"),
    ("fb", "facebook"),
    ("yt", "youtube"),
    ("tg", "telegram"),
    ("gh", "github"),
    ("vkontakte", "vk"),
    ("bsky", "bluesky"),
];

/// Words in the position of a name that are pages of platforms, beside those of [`is_own_page`]. Many pages link to
/// `twitter.com/share` or `facebook.com/sharer.php`.
const OTHER_PAGES: [&str; 30] = [
    "blog",
    "careers",
    "contact",
    "docs",
    "events",
    "features",
    "feed",
    "following",
    "groups",
    "hashtag",
    "intent",
    "jobs",
    "legal",
    "marketplace",
    "notifications",
    "pages",
    "policies",
    "pricing",
    "privacy",
    "settings",
    "share",
    "sharer",
    "sharer.php",
    "shop",
    "status",
    "support",
    "terms",
    "tos",
    "trending",
    "watch",
];

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
    /// The forms of addresses by host. The host of a form that begins with the username is its fixed end.
    forms: HashMap<String, Vec<Form>>,
    /// The modules by the names of their services: letters and digits in lower case.
    services: HashMap<String, Arc<Module>>,
}

/// The form of a profile's address.
#[derive(Debug)]
struct Form {
    module: Arc<Module>,
    /// Whether the username is the first label of the host. Otherwise it follows `before`.
    is_label: bool,
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
            if let Some((before, after)) = module.result_fields.profile_parts() {
                index.add(module, before, after);
            }
        }
        for (id, before, after) in FURTHER_ADDRESSES {
            if let Some(module) = get(id) {
                index.add(module, before, after);
            }
        }
        for (name, id) in SERVICE_NAMES {
            if let Some(module) = get(id) {
                index.services.insert(name.to_owned(), Arc::clone(module));
            }
        }
        // The form with the most text of its own is the most exact one. Popular modules come first among equals.
        for forms in index.forms.values_mut() {
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
        let (is_label, host, before, after) = if rest.is_empty() {
            let Some((host, after)) = after.strip_prefix('.').map(cut_at_path) else { return };
            (true, host, "", after)
        } else {
            let (host, before) = cut_at_path(rest);
            (false, host, before, after)
        };
        let form = Form {
            module: Arc::clone(module),
            is_label,
            before: before.to_owned(),
            after: after.trim_end_matches('/').to_owned(),
        };
        self.forms.entry(bare_host(host)).or_default().push(form);
    }

    /// Returns the account whose profile has this address. Returns `None` if the address is another page of a platform,
    /// or of another site.
    pub fn account_at(&self, url: &Url) -> Option<NamedAccount> {
        let host = bare_host(site(url));
        let path = path_of(url);
        let of_host = self.forms.get(&host).into_iter().flatten().filter(|form| !form.is_label);
        let found = of_host.filter_map(|form| account(form, form.name_in(&path)?)).next();
        found.or_else(|| {
            let (label, rest) = host.split_once('.')?;
            let below = self.forms.get(&bare_host(rest)).into_iter().flatten().filter(|form| form.is_label);
            let matching = below.filter(|form| form.after.eq_ignore_ascii_case(path.trim_end_matches('/')));
            matching.filter_map(|form| account(form, label)).next()
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

    /// Returns whether a platform of the catalogue has profiles on this host.
    pub fn is_platform(&self, host: &str) -> bool {
        let host = bare_host(host);
        let is_below =
            |rest: &str| self.forms.get(rest).is_some_and(|forms| forms.iter().any(|it| it.is_label));
        self.forms.contains_key(&host) || host.split_once('.').is_some_and(|(_, rest)| is_below(rest))
    }
}

impl Form {
    fn name_in<'p>(&self, path: &'p str) -> Option<&'p str> {
        let front = path.get(..self.before.len())?;
        let rest = &path[self.before.len()..];
        let rest = rest.trim_end_matches('/');
        let end = rest.len().checked_sub(self.after.len())?;
        let back = rest.get(end..)?;
        let is_match = front.eq_ignore_ascii_case(&self.before) && back.eq_ignore_ascii_case(&self.after);
        let name = rest.get(..end)?;
        // A query or a fragment after the name belongs to the address, not to the name.
        let name =
            if self.before.contains('?') { name.split('&').next() } else { name.split(['?', '#']).next() };
        let name = name?.trim_end_matches('/');
        (is_match && !name.is_empty() && !name.contains('/')).then_some(name)
    }
}

fn account(form: &Form, name: &str) -> Option<NamedAccount> {
    let name = percent_decode_lossy(name);
    let word = name.to_lowercase();
    let is_page = is_own_page(&word) || OTHER_PAGES.contains(&word.as_str());
    (!is_page).then(|| named(&form.module, &name)).flatten()
}

fn named(module: &Arc<Module>, name: &str) -> Option<NamedAccount> {
    let query = Query::parse(SearchType::Username, name).ok()?;
    module.why_refused(&query).is_none().then(|| NamedAccount { module: Arc::clone(module), query })
}

/// Splits a text at the first slash, which belongs to the second part.
fn cut_at_path(text: &str) -> (&str, &str) {
    text.split_at(text.find('/').unwrap_or(text.len()))
}

/// Returns the path, query and fragment of an address.
fn path_of(url: &Url) -> String {
    let mut text = url.path().to_owned();
    if let Some(query) = url.query() {
        text.push('?');
        text.push_str(query);
    }
    if let Some(fragment) = url.fragment() {
        text.push('#');
        text.push_str(fragment);
    }
    text
}

/// Returns the host as the catalogue names it, in lower case and without `www.`.
fn bare_host(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    let bare = host.strip_prefix("www.").unwrap_or(&host);
    HOST_NAMES.iter().find(|(name, _)| *name == bare).map_or(bare, |(_, known)| known).to_owned()
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
            ("http://www.GitHub.com/octocat/", "github", "octocat"),
            ("https://github.com/octocat?tab=repositories", "github", "octocat"),
            ("https://twitter.com/jack", "x", "jack"),
            ("https://mobile.twitter.com/jack#top", "x", "jack"),
            ("https://www.youtube.com/@veritasium", "youtube", "veritasium"),
            ("https://mastodon.social/@Gargron", "mastodon_social", "Gargron"),
            ("https://old.reddit.com/user/spez", "reddit", "spez"),
            ("https://www.reddit.com/u/spez/", "reddit", "spez"),
            ("https://staff.tumblr.com/", "tumblr", "staff"),
            ("https://news.ycombinator.com/user?id=pg", "hacker_news", "pg"),
            ("https://steamcommunity.com/id/gabelogannewell/", "steam", "gabelogannewell"),
        ] {
            assert_eq!(read(index, url), Some((id.to_owned(), name.to_owned())), "{url}");
        }
    }

    #[test]
    fn other_pages_of_platforms_name_nobody() {
        let catalog = Catalog::builtin().unwrap();
        let index = catalog.profiles();
        for url in [
            "https://github.com/",
            "https://github.com/octocat/hello-world",
            "https://github.com/login",
            "https://www.reddit.com/r/rust",
            "https://www.tumblr.com/",
            "https://x.com/jack/status/20",
            "https://x.com/search?q=jack",
            "https://twitter.com/share?url=https://example.org",
            "https://www.facebook.com/sharer.php?u=https://example.org",
            "https://github.com/pricing",
            "https://mastodon.social/about",
            "https://example.org/octocat",
            "https://github.com.example.org/octocat",
            "https://example.org/https://github.com/octocat",
            "https://github.com/a%2Fb",
        ] {
            assert_eq!(read(index, url), None, "{url}");
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
            let Some((before, after)) = module.result_fields.profile_parts() else { continue };
            // The word stands for other pages of sites, too.
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
