//! Finds the known name that is nearest to a misspelt one.

use std::collections::BTreeSet;

/// The longest name that is compared.
const MAX_BYTES: usize = 40;

/// Returns the known name that is nearest to `name`, if it is near enough for a typing error.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let (distance, known) = known.map(|known| (strsim::levenshtein(name, known), known)).min()?;
    (distance <= known.len().div_ceil(3)).then_some(known)
}

/// Returns a question after the names that were probably meant, such as `; did you mean github?`, or nothing.
pub(crate) fn did_you_mean<'k, I: Iterator<Item = &'k str>>(
    names: impl IntoIterator<Item = impl AsRef<str>>,
    known: impl Fn() -> I,
) -> String {
    let names = names.into_iter().filter_map(|name| nearest(&name.as_ref().to_lowercase(), known()));
    let meant: BTreeSet<&str> = names.collect();
    if meant.is_empty() {
        return String::new();
    }
    format!("; did you mean {}?", meant.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelling_is_near_and_another_word_is_not() {
        let known = || ["github", "gitlab", "flickr"].into_iter();
        assert_eq!(nearest("githb", known()), Some("github"));
        assert_eq!(nearest("gitlob", known()), Some("gitlab"));
        assert_eq!(nearest("mastodon", known()), None);
        assert_eq!(nearest(&"g".repeat(41), known()), None);
    }
}
