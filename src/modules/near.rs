//! Finds the known name that is nearest to a misspelt one.

use std::collections::BTreeSet;

/// The longest name that is compared.
const MAX_BYTES: usize = 40;

/// Returns the known name that is nearest to `name`, if it is near enough for a typing error.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if name.len() > MAX_BYTES {
        return None;
    }
    let (distance, known) = known.map(|known| (distance(name, known), known)).min()?;
    (distance <= known.len().div_ceil(3)).then_some(known)
}

/// Returns how many letters must be added, removed or replaced (the Levenshtein distance).
fn distance(name: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for letter in name.chars() {
        let mut diagonal = row[0];
        row[0] += 1;
        for (at, known) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *known);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[other.len()]
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
