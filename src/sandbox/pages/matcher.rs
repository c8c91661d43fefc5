//! Builds answers that fulfil a matcher.

use std::collections::BTreeMap;

use url::Url;

use super::context::Context;
use super::dns;
use super::draft::{Draft, Element, Form};
use super::json;
use crate::modules::definition::{CssCondition, JsonType, LongExtractor, Matcher, Method, StatusRule, Via};
use crate::modules::pattern::SearchRegex;

/// The statuses of answers, the likeliest first.
const USUAL: [u16; 10] = [200, 404, 400, 410, 500, 302, 204, 301, 422, 502];
/// The number of those that are tried for a matcher without a rule on the status.
const UNASKED: usize = 5;

/// Returns the statuses that fulfil a matcher, the likeliest first.
pub(super) fn statuses(matcher: &Matcher) -> Vec<u16> {
    if matcher.status.is_empty() {
        return USUAL[..UNASKED].to_vec();
    }
    let fitting = |rule: &StatusRule| match rule {
        StatusRule::Code(code) => vec![*code],
        StatusRule::Class(_) => USUAL.into_iter().filter(|status| rule.matches(*status)).collect(),
    };
    matcher.status.iter().flat_map(fitting).collect()
}

/// Returns the forms that an answer to this probe may have, the likeliest first.
pub(super) fn forms(context: &Context<'_>, probe: usize, matcher: &Matcher) -> Vec<Form> {
    let entry = context.entry;
    let Some(asked) = entry.probes.get(probe) else { return Vec::new() };
    let wanted = match matcher {
        _ if asked.method == Method::Head => Some(Form::Empty),
        // A browser always returns an HTML document.
        _ if asked.via == Via::Browser => Some(Form::Html),
        _ if !matcher.json.is_empty() => Some(Form::Json),
        _ if !matcher.text.is_empty() || matcher.shows_query || !matcher.css.is_empty() => Some(Form::Html),
        _ => None,
    };
    if let Some(form) = wanted {
        return vec![form];
    }
    let is_read = |at: Option<usize>| at.is_none_or(|at| at == probe);
    let main = entry.extractors().filter(|(at, is_in_list, _)| !is_in_list && is_read(*at));
    let lists = entry.results.iter().filter(|list| is_read(list.probe)).map(|list| kind(&list.each));
    let read = asked.save.values().chain(main.map(|(.., extractor)| extractor)).filter_map(|it| source(it));
    let read: Vec<Form> = read.chain(lists).filter_map(Form::of).collect();
    let rules = entry.hit.iter().chain(entry.miss.iter()).filter(|rule| is_read(rule.probe));
    let on_json = rules.filter(|rule| !rule.json.is_empty()).count();
    let mut forms = [Form::Html, Form::Json, Form::Text, Form::Empty];
    // The form that most extractors read comes first. The sort is stable, so HTML remains the usual form.
    forms.sort_by_key(|form| {
        let fitting = read.iter().filter(|read| *read == form).count();
        std::cmp::Reverse(fitting + if *form == Form::Json { on_json } else { 0 })
    });
    forms.to_vec()
}

/// Returns the kind of a source or of the elements of a list. A pointer alone leads to JSON.
pub(super) fn kind(text: &str) -> &str {
    if text.starts_with('/') { "json" } else { text.split(':').next().unwrap_or_default() }
}

/// Returns the kind of source that an extractor reads.
fn source(extractor: &LongExtractor) -> Option<&str> {
    let each = extractor.each.as_ref().map(|each| kind(each));
    each.or_else(|| extractor.sources().first().map(|source| kind(source)))
}

/// Makes an answer fulfil the matcher, except for its final URL. Returns `None` if the form does not allow it.
pub(super) fn fulfil(context: &Context<'_>, matcher: &Matcher, draft: &mut Draft) -> Option<()> {
    add_headers(context, &matcher.header, draft)?;
    if let Some(body) = &matcher.body_is {
        draft.exact = Some(context.text(body)?);
        return Some(());
    }
    draft.json = json::fulfil(context, &matcher.json)?;
    dns::complete(context, &mut draft.json);
    if matcher.json.iter().any(|rule| rule.at.is_empty() && rule.json_type == Some(JsonType::Null)) {
        // A document that is `null` can contain nothing else.
        draft.exact = Some("null".to_owned());
    }
    for rule in matcher.css.iter().filter(|rule| rule.exists) {
        draft.elements.push(element(context, rule)?);
    }
    for text in &matcher.text {
        draft.elements.push(Element::new("p", None, context.text(text)?));
    }
    if matcher.shows_query {
        // The page's own address contains the name.
        let address = format!("https://www.example.org/{}", context.name);
        draft.elements.push(Element::new("link[rel=\"canonical\"]", Some("href"), address));
    }
    texts(context, matcher)?.into_iter().all(|line| draft.add_line(line)).then_some(())
}

fn element(context: &Context<'_>, condition: &CssCondition) -> Option<Element> {
    let content = match &condition.matches {
        _ if condition.equals_query == Some(true) => context.name.clone(),
        Some(pattern) => context.sampled(&context.regex(pattern)?, 0)?,
        None if condition.attribute.is_none() => String::new(),
        None => "sample".to_owned(),
    };
    Some(Element::new(&condition.select, condition.attribute.as_deref(), content))
}

/// Returns the texts that must be in the body.
fn texts(context: &Context<'_>, matcher: &Matcher) -> Option<Vec<String>> {
    let pattern = matcher.regex.iter().map(|pattern| context.sampled(&context.regex(pattern)?, 0));
    let words = matcher.words.iter().map(|word| context.text(word));
    let mut texts = pattern.chain(words).collect::<Option<Vec<String>>>()?;
    // If one of the texts is already part of another text, none needs to be added.
    let any: Vec<String> = matcher.any_word.iter().filter_map(|word| context.text(word)).collect();
    let is_there = any.iter().any(|word| texts.iter().any(|text| text.contains(word.as_str())));
    if !matcher.any_word.is_empty() && !is_there {
        texts.push(any.into_iter().next()?);
    }
    Some(texts)
}

fn add_headers(
    context: &Context<'_>,
    rules: &BTreeMap<String, SearchRegex>,
    draft: &mut Draft,
) -> Option<()> {
    for (name, regex) in rules {
        let usual = match name.to_ascii_lowercase().as_str() {
            "content-type" => draft.form.content_type().unwrap_or("text/html"),
            "location" => "/",
            "set-cookie" => "sample=1; Path=/",
            _ => "sample",
        };
        let value = match regex.is_empty() || regex.regex().is_match(usual) {
            true => usual.to_owned(),
            false => context.sampled(regex, 0)?,
        };
        draft.add_header(name, value.trim());
    }
    Some(())
}

/// Returns an address in which the regex is found, for a probe that was sent to `from`. Returns `from` itself if it fits.
pub(super) fn destination(context: &Context<'_>, regex: &SearchRegex, from: &Url) -> Option<Url> {
    if regex.regex().is_match(from.as_str()) {
        return Some(from.clone());
    }
    (0..8).find_map(|attempt| {
        let text = context.sampled(regex, attempt)?;
        let text = text.trim();
        let path = text.trim_start_matches('/');
        let prefixes = ["https://", "/", "/sample", "/?"].map(|prefix| format!("{prefix}{path}"));
        let candidates = [text].into_iter().chain(prefixes.iter().map(String::as_str));
        candidates.filter_map(|candidate| from.join(candidate).ok()).find(|url| {
            matches!(url.scheme(), "http" | "https") && url.has_host() && regex.regex().is_match(url.as_str())
        })
    })
}
