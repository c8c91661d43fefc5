//! Mistakes of files: invalid JSON, no entries, exceeded limits, and the line of each mistake.

use super::*;
use crate::cli::Folder;

fn told(text: &str) -> String {
    Catalog::from_text("f.json", text).unwrap_err().to_string()
}

#[test]
fn mistakes_of_files_name_file_and_line() {
    let deep = format!("[{{\"id\": {}{}}}]", "[".repeat(200), "]".repeat(200));
    for (text, want) in [
        ("", "f.json: it is not valid JSON: EOF while parsing a value at line 1 column 0"),
        ("{", "f.json: it is not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("[\n{},\n{\"id\": }]", "f.json: it is not valid JSON: expected value at line 3 column 8"),
        ("[] []", "f.json: it is not valid JSON: trailing characters at line 1 column 4"),
        ("\n[\n1\n2]", "f.json: it is not valid JSON: expected `,` or `]` at line 4 column 1"),
        ("{}", "f.json: a catalogue file is a JSON array of entries"),
        ("\"x\"", "f.json: a catalogue file is a JSON array of entries"),
        ("[\n7]", "f.json: [0]: invalid type: integer `7`, expected an object"),
        (&deep, "f.json: it is not valid JSON: recursion limit exceeded at line 1 column 134"),
        ("[{\"rank\": 1e999}]", "f.json: it is not valid JSON: number out of range at line 1 column 15"),
    ] {
        assert_eq!(told(text), want, "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let text = format!("\u{feff}{}", json!([entry()]));
    assert_eq!(Catalog::from_text("f.json", &text).unwrap().modules().len(), 1);
    assert!(told(&format!("\u{feff}{text}")).contains("it is not valid JSON"), "one is enough");
}

#[test]
fn only_the_first_kind_of_mistakes_in_an_entry_is_reported() {
    let changed = |changes: Value| with(entry(), &changes);
    // A form that cannot be read comes first, then limits, then what makes no sense.
    let text = json!([
        changed(json!({"id": "a", "rank": 0, "hit": [{"regex": "("}]})),
        changed(json!({"id": "b", "plattform": "B", "rank": 0})),
    ]);
    let told = told(&text.to_string());
    assert!(told.starts_with("f.json: a: rank: ") && told.contains("\nf.json: b: plattform: "), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn a_duplicate_id_is_reported_with_both_files() {
    let text = format!("[{},\n\n{}]", entry(), entry());
    assert_eq!(
        told(&text),
        "f.json: site: id: f.json already has an entry with this id (Site); ids must be unique over all files"
    );
    let folder = Folder::new();
    let mut github = entry();
    github["id"] = json!("github");
    let file = folder.file("own.json", &json!([github]).to_string());
    let error =
        Catalog::load(true, &[PathBuf::from(&file), PathBuf::from(&file)], None).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{file}: github: id: {file} already has an entry with this id (Site); ids must be unique over all files"
        )
    );
}

#[test]
fn files_that_are_not_text_are_reported() {
    let folder = Folder::new();
    let path = PathBuf::from(folder.path("utf16.json"));
    std::fs::write(&path, [b'[', 0xff, 0xfe]).unwrap();
    let error = Catalog::load(false, std::slice::from_ref(&path), None).unwrap_err().to_string();
    assert_eq!(error, format!("{}: byte 1 is not UTF-8; save the file as UTF-8", path.display()));
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    for (path, why) in [(path, "more than 16777216 bytes"), (folder.path("").into(), "it cannot be read: ")] {
        let error = Catalog::load(false, &[path], None).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn the_first_mistakes_are_listed_and_the_others_counted() {
    let entries = format!("[{}]", vec!["{}"; 20_001].join(","));
    assert_eq!(told(&entries), "f.json: it has more than 20000 entries; split it into several files");

    // Over all files.
    let error = Catalog::from_text("f.json", &format!("[{}]", vec!["5"; 1000].join(","))).unwrap_err();
    assert_eq!(error.to_string().lines().count(), 201);
    assert!(error.to_string().ends_with("\n800 more mistakes"), "{error}");

    // Each message is short, whatever the file contains.
    let mut wild = entry();
    wild["x".repeat(100_000)] = json!(1);
    wild["type"] = json!("y".repeat(100_000));
    assert!(told(&json!([wild]).to_string()).len() < 2_500);
}
