//! From a matcher to an answer that fulfils it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use url::Url;

use super::dns;
use super::draft::{Draft, Form};
use super::html::Page;
use super::plant::{self, Plant, Planting};
use super::preimage::preimage;
use super::rules::fulfil;
use super::scene::Scene;
use crate::modules::definition::{
    CssCondition, CssRule, JsonRule, MatcherEntry, Method, ProbeEntry, StatusRule, Via,
};

/// Statuses that a probe without a rule on them may answer with, the likeliest first.
const USUAL: [u16; 5] = [200, 404, 400, 410, 500];

/// The statuses that fulfil a matcher, the likeliest first.
pub(super) fn statuses(matcher: &MatcherEntry) -> Vec<u16> {
    let mut statuses: Vec<u16> = matcher.status.iter().flat_map(of_rule).collect();
    if matcher.status.is_empty() {
        statuses.extend(USUAL);
    }
    statuses
}

fn of_rule(rule: &StatusRule) -> Vec<u16> {
    match rule {
        StatusRule::Code(code) => vec![*code],
        StatusRule::Class(class) => match class.as_bytes().first() {
            Some(b'2') => vec![200, 204],
            Some(b'3') => vec![302, 301],
            Some(b'4') => vec![404, 410, 400, 422],
            Some(b'5') => vec![500, 502],
            _ => Vec::new(),
        },
    }
}

/// The forms that an answer to this probe may have, the likeliest first.
pub(super) fn forms(scene: &Scene<'_>, probe: usize, matcher: &MatcherEntry) -> Vec<Form> {
    let entry = scene.entry;
    if entry.probes.get(probe).is_some_and(|probe| probe.method == Method::Head) {
        return vec![Form::Empty];
    }
    // What a browser hands over is a document.
    if entry.probes.get(probe).is_some_and(|probe| probe.via == Via::Browser) {
        return vec![Form::Html];
    }
    if !matcher.json.is_empty() {
        return vec![Form::Json];
    }
    let is_of_page = !matcher.text.is_empty() || matcher.title.is_some() || matcher.title_is.is_some();
    if is_of_page {
        return vec![Form::Html];
    }
    if matcher.shows_query || !matcher.script.is_empty() {
        return vec![Form::Html, Form::Text];
    }
    if entry.probes.get(probe).is_some_and(asks_for_xml) {
        return vec![Form::Xml, Form::Html, Form::Text];
    }
    if !matcher.css.is_empty() {
        return vec![Form::Html, Form::Text, Form::Xml];
    }
    let mut forms = [Form::Html, Form::Json, Form::Text, Form::Empty];
    let plants: Vec<Plant> =
        plant::for_saving(scene, probe).into_iter().chain(plant::for_probe(scene, probe, true)).collect();
    let speaks_json =
        |matcher: &MatcherEntry| !matcher.json.is_empty() && matcher.probe.is_none_or(|at| at == probe);
    // Where most of what extractors read has its place; stable, so that Html is the usual form.
    forms.sort_by_key(|form| {
        let fitting = plants.iter().filter(|plant| plant.form() == Some(*form)).count();
        let rules =
            entry.hit.iter().chain(&entry.miss).filter(|matcher| *form == Form::Json && speaks_json(matcher));
        std::cmp::Reverse(fitting + rules.count())
    });
    forms.to_vec()
}

/// Whether a probe asks for XML by its address or its headers.
fn asks_for_xml(probe: &ProbeEntry) -> bool {
    let url = probe.url.to_ascii_lowercase();
    let accepts_xml = probe.headers.iter().any(|(name, value)| {
        let is_only = value.starts_with("application/") || value.starts_with("text/xml");
        name.eq_ignore_ascii_case("accept") && is_only && value.contains("xml") && !value.contains("html")
    });
    let mut words = url.split(|c: char| !c.is_ascii_alphanumeric());
    accepts_xml || words.any(|word| matches!(word, "xml" | "rss" | "atom"))
}

/// An answer that fulfils the matcher, apart from its final URL; `None` where that cannot be in this form.
pub(super) fn draft(scene: &Scene<'_>, matcher: &MatcherEntry, form: Form, status: u16) -> Option<Draft> {
    let mut draft = Draft::new(form, status);
    draft.headers = headers(scene, &matcher.header, form)?;
    draft.without = matcher.no_header.clone();
    if let Some(body) = &matcher.body_is {
        draft.exact = Some(scene.text(body)?);
        return Some(draft);
    }
    if !matcher.json.is_empty() {
        draft.document = fulfil(scene, &matcher.json)?;
        dns::complete(&scene.sampler, &mut draft.document, scene.query.domain());
        if draft.document.is_null() {
            // A document that is null has no place for anything else.
            draft.exact = Some("null".to_owned());
        }
    }
    if !matcher.body_hash.is_empty() {
        draft.exact = Some(preimage(&matcher.body_hash)?);
        return Some(draft);
    }
    draft.page = Page {
        elements: elements(scene, &matcher.css)?,
        state: state(scene, &matcher.script)?,
        title: title(scene, matcher)?,
        ..Page::default()
    };
    for text in &matcher.text {
        let text = scene.text(text)?;
        draft.page.elements.push(Planting { selector: "p".to_owned(), text, ..Planting::default() });
    }
    if matcher.shows_query {
        draft.page.elements.push(canonical(scene));
    }
    for line in texts(scene, matcher)? {
        if !draft.add(&Plant::Line(line)) {
            return None;
        }
    }
    Some(draft)
}

/// `Some(None)`: no rule asks for a title.
fn title(scene: &Scene<'_>, matcher: &MatcherEntry) -> Option<Option<String>> {
    match matcher.title_is.as_ref().or(matcher.title.as_ref()) {
        Some(title) => scene.text(title).map(Some),
        None => Some(None),
    }
}

/// JSON for a script of the page; null where nothing is asked of it.
fn state(scene: &Scene<'_>, rules: &[JsonRule]) -> Option<Value> {
    if rules.is_empty() {
        return Some(Value::Null);
    }
    let document = fulfil(scene, rules)?;
    // An empty document says nothing, not even what is not there.
    let is_bare = document.as_object().is_some_and(serde_json::Map::is_empty);
    Some(if is_bare { json!({"sample": "sample"}) } else { document })
}

/// The page's own address, with the name in it.
fn canonical(scene: &Scene<'_>) -> Planting {
    let address = format!("https://www.example.org/{}", scene.name);
    Planting {
        selector: "link[rel=\"canonical\"]".to_owned(),
        attributes: vec![("href".to_owned(), address)],
        ..Planting::default()
    }
}

/// Texts that must stand in the body.
fn texts(scene: &Scene<'_>, matcher: &MatcherEntry) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    if let Some(pattern) = &matcher.regex {
        texts.push(scene.sampled(pattern, 0)?);
    }
    for word in &matcher.words {
        texts.push(scene.text(word)?);
    }
    if !matcher.any_word.is_empty() {
        // A text that is there already, as part of another, is as good as a new one.
        let any: Vec<String> = matcher.any_word.iter().filter_map(|word| scene.text(word)).collect();
        if !any.iter().any(|word| texts.iter().any(|text| text.contains(word.as_str()))) {
            texts.push(any.into_iter().next()?);
        }
    }
    Some(texts)
}

fn headers(scene: &Scene<'_>, rules: &BTreeMap<String, String>, form: Form) -> Option<Vec<(String, String)>> {
    let value = |name: &str, pattern: &str| {
        let usual = match name.to_ascii_lowercase().as_str() {
            "content-type" => form.content_type().unwrap_or("text/html"),
            "location" => "/",
            "set-cookie" => "sample=1; Path=/",
            _ => "sample",
        };
        let fits = pattern.is_empty() || scene.regex(pattern)?.is_match(usual);
        if fits { Some(usual.to_owned()) } else { scene.sampled(pattern, 0) }
    };
    rules
        .iter()
        .map(|(name, pattern)| Some((name.clone(), value(name, pattern)?.trim().to_owned())))
        .collect()
}

fn elements(scene: &Scene<'_>, rules: &[CssRule]) -> Option<Vec<Planting>> {
    let mut elements = Vec::new();
    for rule in rules {
        match rule {
            CssRule::Found(selector) => {
                elements.push(Planting { selector: selector.clone(), ..Planting::default() });
            }
            CssRule::Detailed(condition) if condition.exists => elements.push(element(scene, condition)?),
            CssRule::Detailed(_) => {}
        }
    }
    Some(elements)
}

fn element(scene: &Scene<'_>, condition: &CssCondition) -> Option<Planting> {
    let content = if condition.equals_query == Some(true) {
        scene.name.to_string()
    } else if let Some(pattern) = &condition.matches {
        scene.sampled(pattern, 0)?
    } else {
        "sample".to_owned()
    };
    let mut planting = Planting { selector: condition.select.clone(), ..Planting::default() };
    match &condition.attribute {
        Some(name) => planting.attributes.push((name.clone(), content)),
        None => planting.text = content,
    }
    Some(planting)
}

/// Where a probe that was sent to `from` must be led so that its final address fits; `from` itself where
/// it does already.
pub(super) fn destination(scene: &Scene<'_>, pattern: &str, from: &Url) -> Option<Url> {
    let regex = scene.regex(pattern)?;
    if regex.is_match(from.as_str()) {
        return Some(from.clone());
    }
    (0..8).find_map(|attempt| {
        let text = scene.sampled(pattern, attempt)?;
        let text = text.trim();
        let path = text.trim_start_matches('/');
        let candidates = [
            Url::parse(text).ok(),
            from.join(text).ok(),
            Url::parse(&format!("https://{path}")).ok(),
            from.join(&format!("/{path}")).ok(),
            from.join(&format!("/sample{path}")).ok(),
            from.join(&format!("/?{path}")).ok(),
        ];
        candidates.into_iter().flatten().find(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && regex.is_match(url.as_str())
        })
    })
}
