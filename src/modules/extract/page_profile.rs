//! Generic profile data that is read in one way from all sites: Open Graph, JSON-LD, `<title>` and the
//! description. It supplies metadata that an entry does not set itself.

use serde_json::{Map, Value};

use super::valid::web_address;
use crate::modules::answer::Answer;
use crate::modules::html::Page;
use crate::modules::text::{MAX_VALUE_CHARS, clean, same_name, squeeze};

/// The separators between a name and the site's name in a title.
const SEPARATORS: [&str; 7] = [" | ", " - ", " – ", " — ", " • ", " · ", " :: "];
/// The text that replaces the searched name.
const NAME: &str = "\u{1}";

/// The generic profile data that a page gives for an account: the names of metadata, each with a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageProfile(Vec<(&'static str, String)>);

impl PageProfile {
    /// Reads the page of `name`. Returns `None` if the response is not a page. Values that are only the name
    /// of `platform` are left out.
    pub(crate) fn read(answer: &Answer<'_>, name: &str, platform: &str) -> Option<Self> {
        if !answer.is_page() {
            return None;
        }
        let page = answer.page();
        let objects = answer.json_ld();
        let person = owner(objects).map(|person| referred(person, objects));
        let linked = |name: &str, members: &[&str]| text(person?.get(name)?, members);
        let meta =
            |names: &[&str]| names.iter().find_map(|name| page.metas(name).find(|it| !it.trim().is_empty()));
        let own_title = meta(&["og:title", "twitter:title"]);
        let site = meta(&["og:site_name"]).unwrap_or(platform);
        let says = |text: String| {
            let text = clean(&squeeze(&text));
            let is_site = same_name(&text, platform) || same_name(&text, site);
            (!text.is_empty() && !is_site).then_some(text)
        };
        let is_profile = meta(&["og:type"]).is_some_and(|kind| kind.to_ascii_lowercase().contains("profile"));
        let named = linked("name", &["@value"]).map(str::to_owned);
        let display_name = named
            .or_else(|| full_name(page))
            .or_else(|| own_title.and_then(|title| bare_name(title, is_profile, &[site, platform], name)))
            .and_then(says)
            .filter(|text| !same_name(text.trim_start_matches('@'), name));
        let described = linked("description", &["@value"]);
        let bio = described.or_else(|| meta(&["og:description", "description", "twitter:description"]));
        let image = linked("image", &["contentUrl", "url"])
            .or_else(|| meta(&["og:image:secure_url", "og:image", "twitter:image"]));
        let base = &answer.response.final_url;
        let address = |text: &str| web_address(base.join(text.trim()).ok()?.as_str());
        let texts = [
            ("title", answer.title().or(own_title).map(str::to_owned).and_then(says)),
            ("display_name", display_name),
            ("bio", bio.map(str::to_owned).and_then(says)),
            ("avatar_url", image.and_then(address).filter(|text| text.len() <= MAX_VALUE_CHARS)),
        ];
        Some(Self(texts.into_iter().filter_map(|(key, text)| Some((key, text?))).collect()))
    }

    /// Returns the memory that the texts use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|(_, text)| text.len()).sum()
    }

    /// Returns the profile data with `name` replaced by a placeholder in every text.
    pub(crate) fn without_name(&self, name: &str) -> Self {
        Self(self.0.iter().map(|(key, text)| (*key, without(text, name))).collect())
    }

    /// Adds the values that the entry does not set itself (`is_set`) and that are not general texts of the
    /// site. A value is general if the page of a made-up name has it too; `control` holds those values,
    /// without that name.
    pub(crate) fn add_to(
        self,
        metadata: &mut Map<String, Value>,
        is_set: impl Fn(&str) -> bool,
        name: &str,
        control: Option<&Self>,
    ) {
        for (key, text) in self.0 {
            let general = (key, without(&text, name));
            let is_sites_own = control.is_some_and(|control| control.0.contains(&general));
            // The entry may have read the value already, under another name.
            if !is_sites_own && !is_set(key) && !metadata.values().any(|known| *known == text) {
                metadata.insert(key.to_owned(), Value::from(text));
            }
        }
    }
}

/// Returns the text in lower case, with the name replaced by a placeholder.
fn without(text: &str, name: &str) -> String {
    let name = name.to_lowercase();
    if name.is_empty() { text.to_lowercase() } else { text.to_lowercase().replace(&name, NAME) }
}

/// Returns the JSON-LD object that describes the owner of the page: what a `ProfilePage` is about before any `Person`,
/// who may be the author of something on the page.
fn owner(objects: &[Value]) -> Option<&Value> {
    let of_type = |wanted| objects.iter().filter(move |object| is_type(object, wanted));
    of_type("ProfilePage")
        .find_map(main_entity)
        .or_else(|| of_type("Person").next())
        .or_else(|| of_type("ProfilePage").next())
}

/// Returns the object that a page is about.
fn main_entity(page: &Value) -> Option<&Value> {
    ["mainEntity", "about"].iter().find_map(|member| {
        let entity = page.get(member)?;
        let mut all = entity.as_array().into_iter().flatten().chain([entity]);
        all.find(|it| it.is_object())
    })
}

/// Returns whether a JSON-LD object has the type of schema.org.
fn is_type(object: &Value, wanted: &str) -> bool {
    let kind = object.get("@type");
    let kinds = kind.and_then(Value::as_array).into_iter().flatten().chain(kind);
    kinds.filter_map(Value::as_str).any(|kind| kind.rsplit(['/', ':']).next() == Some(wanted))
}

/// Returns the object that `person` refers to by its `@id`, or `person` itself.
fn referred<'v>(person: &'v Value, objects: &'v [Value]) -> &'v Value {
    let Some(id) = person.get("@id").filter(|_| person.get("name").is_none()) else { return person };
    objects.iter().find(|it| it.get("@id") == Some(id) && it.get("name").is_some()).unwrap_or(person)
}

/// Returns the text of a JSON-LD value, which may be in a list or one of these members of an object.
fn text<'v>(value: &'v Value, members: &[&str]) -> Option<&'v str> {
    match value {
        Value::Array(values) => values.iter().find_map(|value| text(value, members)),
        Value::Object(object) => members.iter().find_map(|name| object.get(*name)?.as_str()),
        _ => value.as_str(),
    }
}

/// Returns the full name from the Open Graph properties `profile:first_name` and `profile:last_name`.
fn full_name(page: &Page) -> Option<String> {
    let part = |name: &str| page.metas(name).map(str::trim).find(|part| !part.is_empty());
    let parts: Vec<&str> =
        ["profile:first_name", "profile:last_name"].iter().filter_map(|it| part(it)).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns the name in a title, without the site's name at the end and the account's name in brackets.
/// Returns `None` if nothing shows that the rest is a name rather than a sentence.
fn bare_name(title: &str, is_profile: bool, sites: &[&str], name: &str) -> Option<String> {
    let mut bare = squeeze(title);
    for separator in SEPARATORS {
        let is_site = |tail: &str| {
            let tail = tail.to_lowercase();
            sites.iter().any(|site| tail.contains(&site.to_lowercase()))
        };
        if let Some((front, tail)) = bare.rsplit_once(separator)
            && is_site(tail)
        {
            bare = front.trim().to_owned();
        }
    }
    let mut has_handle = false;
    if let Some((front, handle)) = bare.rsplit_once('(')
        && same_name(handle.trim_start_matches('@'), &format!("{name})"))
    {
        bare = front.trim_end().to_owned();
        has_handle = true;
    }
    let has_separator = SEPARATORS.iter().any(|separator| bare.contains(separator));
    let is_short = bare.chars().count() <= 60 && bare.split_whitespace().count() <= 5;
    ((is_profile || has_handle) && is_short && !has_separator && !bare.is_empty()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::probe::Response;
    use serde_json::json;

    fn shown(html: &str) -> Value {
        let response = Response {
            status: 200,
            final_url: url::Url::parse("https://site.example/u/x").unwrap(),
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: html.into(),
            truncated: false,
        };
        let mut metadata = Map::new();
        metadata.insert("about".into(), json!("Said already"));
        let profile = PageProfile::read(&Answer::new(&response), "ana", "Site").unwrap();
        profile.add_to(&mut metadata, |key| key == "set", "ana", None);
        metadata.remove("about");
        Value::Object(metadata)
    }

    const OPEN_GRAPH: &str = r#"<title>Ana Rivera (@ana) • Site</title><meta property="og:title" content="Ana Rivera (@ana) • Site">
        <meta property="og:site_name" content="Site"><meta property="og:description" content=" Likes  maps ">
        <meta property="og:image" content="/pics/1.png">"#;

    #[test]
    fn open_graph_json_ld_and_descriptions_are_read() {
        let want = json!({"title": "Ana Rivera (@ana) • Site", "display_name": "Ana Rivera", "bio": "Likes maps",
            "avatar_url": "https://site.example/pics/1.png"});
        assert_eq!(shown(OPEN_GRAPH), want);
        let linked = r#"<title>ana</title><meta name=description content="The site's own words"><script type="application/ld+json">
            {"@graph": [{"@type": "WebSite", "name": "Site"}, {"@type": "ProfilePage", "mainEntity":
            {"@type": "Person", "name": "Ana R.", "description": "Likes maps", "image": [{"url": "https://i.example/a"}]}}]}</script>"#;
        let want = json!({"title": "ana", "display_name": "Ana R.", "bio": "Likes maps", "avatar_url": "https://i.example/a"});
        assert_eq!(shown(linked), want);
        let valued = r#"<script type="application/ld+json">/*<![CDATA[*/ {"@type": "Person",
            "name": {"@value": "Ana R.", "@language": "en"}, "description": ["Likes maps"]} /*]]>*/</script>"#;
        assert_eq!(shown(valued), json!({"display_name": "Ana R.", "bio": "Likes maps"}));
        let author = r#"<script type="application/ld+json">[{"@type": "Person", "name": "An Author"},
            {"@type": "ProfilePage", "name": "Ana R. at Site", "mainEntity": {"@id": "x:ana"}}, {"@id": "x:ana", "name": "Ana R."}]</script>"#;
        assert_eq!(shown(author), json!({"display_name": "Ana R."}));
        let listed = r#"<meta property="og:description description" content="Likes maps"><meta name="a description" content="x">"#;
        assert_eq!(shown(listed), json!({"bio": "Likes maps"}));
        let plain = r#"<title>Site</title><meta name=description content="Said already"><meta property="og:title" content="ana's page">
            <meta property="og:image" content="data:image/png;base64,AA">"#;
        assert_eq!(shown(plain), json!({}), "the site's name, known words, a sentence, no address");
        let named = r#"<meta property="og:type" content="profile"><meta property="og:title" content="Ana Rivera - Site">"#;
        assert_eq!(shown(named)["display_name"], json!("Ana Rivera"));
        let handle =
            r#"<meta property="og:type" content="profile"><meta property="og:title" content="@Ana">"#;
        assert_eq!(shown(handle), json!({"title": "@Ana"}), "a handle is no display name");
    }

    #[test]
    fn names_of_any_length_are_accepted() {
        for name in ["İİİİ", "é", "a", "", "(((("] {
            for title in ["İ", "(@é)", "", "é (é)", "aaaa (a)"] {
                let _ = bare_name(title, true, &["", "Site"], name);
            }
        }
    }
}
