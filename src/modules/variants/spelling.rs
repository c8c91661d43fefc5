//! Names in the letters and digits that usernames have.

use any_ascii::any_ascii;
use unicode_normalization::UnicodeNormalization as _;

/// Letters with two usual spellings, with the longer one. `any_ascii` gives the shorter one.
const LONGER: [(char, &str); 6] =
    [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('ø', "oe"), ('å', "aa"), ('æ', "ae")];

/// Returns the usual spellings of a name in small Latin letters and digits: one, or two for names with letters such as
/// `ü`. Returns none if nothing of it can be written so.
pub(super) fn spellings(name: &str) -> Vec<String> {
    // A letter with a mark of its own is the same as one letter.
    let small = name.nfc().collect::<String>().to_lowercase();
    let longer: String = small
        .chars()
        .map(|letter| {
            let spelled = LONGER.iter().find(|(of, _)| *of == letter);
            spelled.map_or_else(|| letter.to_string(), |(_, longer)| (*longer).to_owned())
        })
        .collect();
    let mut spellings = [longer, small].map(|name| plain(&name)).to_vec();
    spellings.dedup();
    spellings.retain(|name| !name.is_empty());
    spellings
}

/// Transliterates a name, and leaves out all but letters and digits.
fn plain(name: &str) -> String {
    any_ascii(name).to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_in_latin_letters() {
        for (name, expected) in [
            ("Ada", vec!["ada"]),
            ("Müller", vec!["mueller", "muller"]),
            ("Weiß", vec!["weiss"]),
            ("Bjørn Åge", vec!["bjoernaage", "bjornage"]),
            ("O'Neill-Smith", vec!["oneillsmith"]),
            ("Юлия", vec!["yuliya"]),
            ("Γιώργος", vec!["giorgos"]),
            ("Łukasz", vec!["lukasz"]),
            ("José", vec!["jose"]),
            ("Mu\u{308}ller", vec!["mueller", "muller"]),
            ("---", vec![]),
        ] {
            assert_eq!(spellings(name), expected, "{name}");
        }
    }
}
