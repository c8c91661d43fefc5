//! The metadata that the built-in modules read have known names.

use sightline::modules::definition::{METADATA, ResultType};

use super::*;

#[test]
fn username_modules_name_the_metadata_of_accounts_as_the_manual_does() {
    let fields = METADATA.fields.iter().map(|field| field.name);
    let known: BTreeSet<&str> =
        fields.chain(METADATA.services.iter().copied()).chain(["profile_url"]).collect();
    let mut unknown = Vec::new();
    for module in builtin().modules().iter().filter(|module| module.search_type() == SearchType::Username) {
        let entry = module.entry();
        let main = entry.result.iter().map(|result| (result.result_type, &result.metadata));
        let lists = entry.results.iter().map(|list| (list.result_type, &list.metadata));
        let of_accounts =
            main.chain(lists).filter(|(kind, _)| matches!(kind, ResultType::Account | ResultType::Profile));
        let names = of_accounts.flat_map(|(_, metadata)| metadata.keys());
        let others = names.filter(|name| !known.contains(name.as_str()));
        unknown.extend(others.map(|name| format!("{}: {name}", entry.id)));
    }
    assert!(unknown.is_empty(), "not in METADATA: {unknown:#?}");
}
