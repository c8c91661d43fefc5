//! A part of the built-in catalogue for servers under test.

use std::path::Path;

/// Some modules of each type.
const FILES: [&str; 4] = ["domain-dns", "domain-reference", "email-coding", "username-coding-hosting"];

/// Returns the flags that choose some of the built-in modules.
pub(crate) fn few() -> Vec<String> {
    let sites = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
    let flag = |name: &str| format!("--catalog={}", sites.join(name).with_extension("json").display());
    std::iter::once("--no-builtin".to_owned()).chain(FILES.map(flag)).collect()
}

/// Returns whether a flag chooses other modules, or asks the real web.
pub(crate) fn is_choice(flag: &str) -> bool {
    flag.starts_with("--catalog") || ["--no-builtin", "--sandbox=off"].contains(&flag)
}
