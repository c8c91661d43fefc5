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
        ("", "f.json:1: it is not valid JSON: EOF while parsing a value"),
        ("{", "f.json: a catalogue file is a JSON array of entries"),
        ("[\n{},\n{\"id\": }]", "f.json:3: it is not valid JSON: expected value"),
        ("[] []", "f.json:1: it is not valid JSON: trailing characters"),
        ("\n[\n1\n2]", "f.json:4: it is not valid JSON: expected `,` or `]`"),
        ("{}", "f.json: a catalogue file is a JSON array of entries"),
        ("\"x\"", "f.json: a catalogue file is a JSON array of entries"),
        ("[{\"id\": \"a\",\n \"id\": \"b\"}]", "f.json:2: b: id: duplicate field `id`"),
        ("[\n7]", "f.json:2: [0]: invalid type: integer `7`, expected an object"),
        (&deep, "f.json:1: [0]: it is nested too deep; expected at most 127 levels"),
        ("[{\"rank\": 1e999}]", "f.json:1: [0]: number out of range"),
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
fn every_mistake_has_the_line_of_its_field() {
    let entry = |id: &str, rank: &str, header: &str, regex: &str| {
        format!(
            "{{\n    \"id\": \"{id}\", \"platform\": \"A\",\n    \"type\": \"username\",\n    \
             \"category\": \"c\",\n    \"rank\": {rank},\n    \"probes\": [\n      \
             {{\"url\": \"https://a.example/{{query}}\",\n       \"headers\": {{\n        \"X.Y\": \"{header}\"}}}}],\n    \
             \"hit\": [{{\"status\": [200]}},\n      {{\"regex\": \"{regex}\"}}]\n  }}"
        )
    };
    // Texts that cannot be parsed come first, then limits, then what makes no sense.
    let text = format!(
        "[\n{},\n{},\n{},\n  {{\"id\": \"d\",\n   \"plattform\": \"B\"}}\n]",
        entry("a", "0", "x", "("),
        entry("b", "1", "{no}", "("),
        entry("c", "1", "x", "("),
    );
    let told = told(&text);
    for (line, what) in [
        ("f.json:6:", "a: rank:"),
        ("f.json:22:", "b: probes[0].headers.X.Y:"),
        ("f.json:36:", "c: hit[1].regex:"),
        ("f.json:39:", "d: plattform: unknown field `plattform`"),
    ] {
        assert!(told.contains(&format!("{line} {what}")), "{line} {what}\n{told}");
    }
    assert!(!told.contains("a: hit[1]") && !told.contains("b: hit[1]"), "{told}");
}

#[test]
fn a_duplicate_id_is_reported_with_both_positions() {
    let text = format!("[{},\n\n{}]", entry(), entry());
    assert_eq!(
        told(&text),
        "f.json:3: site: id: f.json:1 already has an entry with this id (Site); ids must be unique over all files"
    );
    let folder = Folder::new();
    let mut github = entry();
    github["id"] = json!("github");
    let file = folder.file("own.json", &json!([github]).to_string());
    let error = Catalog::load(true, &[PathBuf::from(&file), PathBuf::from(&file)]).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "{file}:1: github: id: {file}:1 already has an entry with this id (Site); ids must be unique over all files"
        )
    );
}

#[test]
fn files_that_are_not_text_are_reported() {
    let folder = Folder::new();
    let path = PathBuf::from(folder.path("utf16.json"));
    std::fs::write(&path, [b'[', 0xff, 0xfe]).unwrap();
    let error = Catalog::load(false, std::slice::from_ref(&path)).unwrap_err().to_string();
    assert_eq!(error, format!("{}: byte 1 is not UTF-8; save the file as UTF-8", path.display()));
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    for (path, why) in [(path, "more than 16777216 bytes"), (folder.path("").into(), "it cannot be read: ")] {
        let error = Catalog::load(false, &[path]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn the_first_mistakes_are_listed_and_the_others_counted() {
    let entries = format!("[{}]", vec!["{}"; 20_001].join(","));
    assert_eq!(told(&entries), "f.json: it has more than 20000 entries; split it into several files");

    let mut large = entry();
    large["note"] = json!("x".repeat(300_000));
    let size = large.to_string().len();
    let want = format!("f.json:1: [0]: it has {size} bytes; an entry has at most 262144");
    assert_eq!(told(&json!([large]).to_string()), want);

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
