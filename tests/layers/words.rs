//! Words that no source file, script or page uses.
//!
//! Metaphors and private words cost every new reader time, and a citation of a document outside the repository cannot
//! be followed. `src/manual/glossary.md` has the terms to use instead.

use std::collections::BTreeMap;
use std::fs;

use super::{files_below, root};

/// Words that may not appear in any form that begins with them, also as parts of identifiers.
const STEMS: [&str; 9] =
    ["house", "room", "floor", "purse", "farewell", "courtes", "herald", "workshop", "knock"];
/// Words that may not appear in exactly this form, also as parts of identifiers.
const WORDS: [&str; 10] =
    ["ear", "ears", "doubt", "doubts", "dress", "dresses", "dressed", "bell", "bells", "bears"];
/// Phrases that may not appear, whatever their line breaks.
const PHRASES: [&str; 5] = ["for want of", "gone on with", "the contract", "the issue", "the decisions"];

/// The most uses that a folder may still have. A folder that is not listed has none.
const ALLOWED: [(&str, usize); 0] = [];

/// Files that are not ours: data about sites, and what is generated from sources that are checked.
const NOT_OURS: [&str; 5] = [".json", ".gz", ".png", "licenses.txt", "common_passwords.txt"];
/// This file has to name the words.
const THIS_FILE: &str = "tests/layers/words.rs";

/// Splits a line into lower-case words, at the humps of identifiers too.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in line.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a first word").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns the forbidden words of a text with their lines.
fn forbidden(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut before = String::new();
    for (index, line) in text.lines().enumerate() {
        // The rounding functions of programming languages have this name.
        let line = line.replace(".floor(", ".(");
        let words = words(&line);
        let is_forbidden = |word: &&String| {
            WORDS.contains(&word.as_str()) || STEMS.iter().any(|stem| word.starts_with(stem))
        };
        found.extend(words.iter().filter(is_forbidden).map(|word| (index + 1, word.clone())));
        // A phrase may begin on the line before.
        let joined = format!("{before}| {} ", words.join(" "));
        let across = joined.replace("| ", "");
        let own = format!(" {} ", words.join(" "));
        for phrase in PHRASES {
            let phrase_here = format!(" {phrase} ");
            let is_across = across.contains(&phrase_here) && !before.contains(&phrase_here);
            if own.contains(&phrase_here) || is_across {
                found.push((index + 1, phrase.to_owned()));
            }
        }
        before = own;
    }
    found
}

/// Returns the folder for which uses are counted: a layer of `src`, a group of tests, or a top-level folder.
fn folder(file: &str) -> String {
    let mut parts = file.split('/');
    let top = parts.next().unwrap_or_default();
    match (top, parts.next()) {
        ("src" | "tests", Some(next)) => format!("{top}/{}", next.trim_end_matches(".rs")),
        _ => top.to_owned(),
    }
}

#[test]
fn no_file_uses_private_words_or_cites_what_is_not_here() {
    let mut files: Vec<_> = ["src", "tests", "scripts"].into_iter().flat_map(files_below).collect();
    files.push(("README.md".to_owned(), root().join("README.md")));
    let is_ours = |file: &str| {
        file != THIS_FILE
            && !NOT_OURS.iter().any(|ending| file.ends_with(ending))
            && !file.contains("__pycache__")
    };
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, path) in files.into_iter().filter(|(file, _)| is_ours(file)) {
        let text = fs::read_to_string(path).unwrap();
        let uses = forbidden(&text).into_iter().map(|(line, word)| format!("{file}:{line}: {word}"));
        found.entry(folder(&file)).or_default().extend(uses);
    }
    let allowed: BTreeMap<_, _> = ALLOWED.into_iter().collect();
    let most = |folder: &String| allowed.get(folder.as_str()).copied().unwrap_or(0);
    let over: Vec<String> = found
        .iter()
        .filter(|(folder, uses)| uses.len() > most(folder))
        .map(|(folder, uses)| {
            format!("{folder}: {} uses, at most {}\n{}", uses.len(), most(folder), uses.join("\n"))
        })
        .collect();
    assert!(over.is_empty(), "{}", over.join("\n"));
}

#[test]
fn words_are_found_in_every_form() {
    for (text, want) in [
        ("a Courtesy", "courtesy"),
        ("struct HouseKeeper;", "house"),
        ("fn keep_house()", "house"),
        ("housekeeping", "housekeeping"),
        ("if bears_with(x)", "bears"),
        ("refused for\n/// want of", "for want of"),
        ("section 2 of the\n//! contract", "the contract"),
    ] {
        let found = forbidden(text);
        assert!(found.len() == 1 && found[0].1 == want, "{text}: {found:?}");
    }
    for text in ["an address of years", "x.floor()", "warehouse", "subcontractors", "it appears\nof want"] {
        assert_eq!(forbidden(text), [], "{text}");
    }
}
