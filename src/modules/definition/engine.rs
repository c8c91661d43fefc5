//! Sites of known software: the rule of each engine, and the line of a catalogue file for each site.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;

use super::entry::{Entry, Off, Verified};
use super::probe::Probe;
use super::schema::mistake;
use crate::modules::tables;
use crate::modules::template::Template;

/// A site that runs a known engine: an entry whose rules are those of the engine. Such a module runs only if the search asks
/// for engines or names it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub struct Site {
    /// The engine.
    engine: String,
    /// The host of the site, with the path of the engine if it is below one: `wiki.example.org/w`.
    host: String,
    /// The unique name of the module. Default: the host.
    id: Option<String>,
    /// The name of the site. Default: the host.
    platform: Option<String>,
    /// The subject of the site. Default: that of the engine.
    category: Option<String>,
    /// Further words by which the module can be selected, in addition to those of the engine.
    #[serde(default)]
    tags: Vec<String>,
    /// The popularity of the site: 1 is the most visited.
    rank: Option<u32>,
    /// Whether the site has adult content.
    #[serde(default)]
    nsfw: bool,
    /// Whether searches ask the site without asking for engines.
    #[serde(default)]
    by_default: bool,
    /// The reason why the module is disabled.
    off: Option<Off>,
    /// Queries that are known to be hits.
    #[serde(default)]
    known: Vec<String>,
    /// The newest evidence that the site runs the engine.
    verified: Option<Verified>,
    /// A remark for the next author of the line.
    note: Option<String>,
}

/// The rules of the engines, by name.
pub(crate) static ENGINES: LazyLock<BTreeMap<String, Entry>> = LazyLock::new(|| {
    let rules: Vec<Entry> = tables::read(include_str!("../catalog/engines/rules.json"));
    rules.into_iter().map(|rule| (rule.id.clone(), rule)).collect()
});

impl Site {
    /// Returns the entry of the site.
    ///
    /// # Errors
    /// Returns the mistake if the engine is not known.
    pub(crate) fn into_entry(self) -> Result<Entry, String> {
        let rule = ENGINES.get(&self.engine).ok_or_else(|| {
            let known = ENGINES.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            mistake("engine", &format!("`{}` is not known; expected one of {known}", self.engine))
        })?;
        let name = self.host.split('/').next().unwrap_or_default().to_owned();
        let on_host = |template: &Template| template.on(&self.host);
        let further = self.tags.into_iter().filter(|tag| !rule.tags.contains(tag));
        let probes = rule.probes.iter().map(|probe| Probe { url: on_host(&probe.url), ..probe.clone() });
        Ok(Entry {
            probes: probes.collect(),
            profile: rule.profile.as_ref().map(on_host),
            home: Some(format!("https://{name}/")),
            host: Some(self.host),
            platform: self.platform.unwrap_or_else(|| name.clone()),
            id: self.id.unwrap_or(name),
            category: self.category.unwrap_or_else(|| rule.category.clone()),
            tags: rule.tags.iter().cloned().chain(further).collect(),
            engine: Some(self.engine),
            by_default: self.by_default,
            rank: self.rank,
            enabled: self.off.is_none(),
            off: self.off,
            nsfw: self.nsfw,
            known: self.known,
            verified: self.verified,
            note: self.note,
            ..rule.clone()
        })
    }
}
