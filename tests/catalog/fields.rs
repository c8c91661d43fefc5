//! The metadata that the built-in modules read: known names, one name for one meaning, and enough of them.

use sightline::modules::definition::{Entry, Extractor, METADATA, ResultType};

use super::*;

/// Names that other words replace, each with the word that is used.
const REPLACED: [(&str, &str); 22] = [
    ("about", "bio"),
    ("avatar", "avatar_url"),
    ("banned", "suspended"),
    ("credit_name", "display_name"),
    ("full_name", "display_name"),
    ("fullname", "display_name"),
    ("icon", "avatar_url"),
    ("image", "avatar_url"),
    ("institute", "school"),
    ("is_verified", "verified"),
    ("joined_at", "created_at"),
    ("last_active_at", "last_seen_at"),
    ("last_login_at", "last_seen_at"),
    ("last_online_at", "last_seen_at"),
    ("nick", "username"),
    ("nickname", "username"),
    ("occupation", "job_title"),
    ("photo_url", "avatar_url"),
    ("public_repos", "repositories"),
    ("registered", "created_at"),
    ("social_links", "links"),
    ("updated_at", "changed_at"),
];

fn entries() -> Vec<Entry> {
    builtin().modules().iter().map(|module| module.entry().clone()).collect()
}

/// Returns the metadata of an entry, each with the type of its result.
fn metadata(entry: &Entry) -> Vec<(ResultType, &String, &Extractor)> {
    let main = entry.result.iter().map(|result| (result.result_type, &result.metadata));
    let lists = entry.results.iter().map(|list| (list.result_type, &list.metadata));
    main.chain(lists)
        .flat_map(|(kind, metadata)| metadata.iter().map(move |(name, extractor)| (kind, name, extractor)))
        .collect()
}

fn is_account(kind: ResultType) -> bool {
    matches!(kind, ResultType::Account | ResultType::Profile)
}

#[test]
fn username_modules_name_the_metadata_of_accounts_as_the_manual_does() {
    let known: BTreeSet<&str> = METADATA
        .fields
        .iter()
        .map(|field| field.name)
        .chain(METADATA.services.iter().copied())
        .chain(["profile_url"])
        .collect();
    let entries = entries();
    let mut unknown = Vec::new();
    for entry in &entries {
        for (kind, name, _) in metadata(entry) {
            let is_meant = entry.search_type == SearchType::Username && is_account(kind);
            if is_meant && !known.contains(name.as_str()) {
                unknown.push(format!("{}: {name}", entry.id));
            }
        }
    }
    assert!(unknown.is_empty(), "not in METADATA: {unknown:#?}");
}

#[test]
fn no_module_uses_another_word_for_a_known_name() {
    let entries = entries();
    let wrong: Vec<String> = entries
        .iter()
        .flat_map(|entry| metadata(entry).into_iter().map(move |(kind, name, _)| (entry, kind, name)))
        .filter(|(_, kind, _)| is_account(*kind))
        .filter_map(|(entry, _, name)| {
            let (_, instead) = REPLACED.iter().find(|(replaced, _)| replaced == name)?;
            Some(format!("{}: {name}: write {instead}", entry.id))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_highest_ranked_username_modules_read_many_fields() {
    let mut ranked: Vec<Entry> = entries();
    ranked.retain(|entry| entry.search_type == SearchType::Username && entry.rank.is_some() && entry.enabled);
    ranked.sort_by_key(|entry| entry.rank);
    ranked.truncate(60);
    let count: usize = ranked.iter().map(|entry| metadata(entry).len()).sum();
    assert!(count >= 300, "{count} fields in {} modules", ranked.len());
}
