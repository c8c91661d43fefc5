//! Lists together with built-in modules, the operator's files and other lists.

use super::*;
use crate::support::folder::Folder;

fn own(id: &str, platform: &str, url: &str) -> Value {
    json!([{
        "id": id, "platform": platform, "type": "username", "category": "test",
        "probes": [{"url": url}], "hit": [{"status": [200]}],
    }])
}

fn write(folder: &Folder, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path(name);
    std::fs::write(&path, content).unwrap();
    path.into()
}

fn list(folder: &Folder, name: &str, sites: &[(&str, &str)]) -> PathBuf {
    let changed = |(site, url): &_| (*site, json!({"url": url, "regexCheck": "(?=a)"}));
    let sites: Vec<_> = sites.iter().map(changed).collect();
    write(folder, name, sherlock(&sites).to_string().replace("site.example", "pond.example"))
}

fn ids(catalog: &Catalog) -> Vec<String> {
    catalog.modules().iter().map(|module| module.id().to_string()).collect()
}

#[test]
fn each_format_is_recognised_with_any_file_name() {
    let folder = Folder::new();
    let files: Vec<PathBuf> = samples()
        .iter()
        .enumerate()
        .map(|(index, list)| {
            let text = list.to_string().replace("site.example", &format!("s{index}.example"));
            let mark = if index == 0 { "\u{feff} \n" } else { " " };
            write(&folder, &format!("{index}.txt"), format!("{mark}{text}"))
        })
        .collect();
    let catalog = Catalog::load(false, &files, None).unwrap();
    assert_eq!(ids(&catalog), ["wmn.lake-view", "sherlock.pond", "maigret.meadow"]);
    let formats: Vec<String> = catalog.lists().iter().map(|list| list.format.as_str().to_owned()).collect();
    assert_eq!(formats, ["WhatsMyName", "Sherlock", "Maigret"]);
    assert!(catalog.get("sherlock.pond").is_some());
}

#[test]
fn a_site_of_a_list_is_left_out_if_a_module_covers_it() {
    let folder = Folder::new();
    let sites = [
        ("GitHub", "https://www.github.com/{}"),
        ("Pond", "https://pond.example/{}"),
        ("Lake", "https://lake.example/{}"),
    ];
    let first = list(&folder, "first.json", &sites);
    // The operator's files take precedence in any order.
    let mine = format!("\u{feff} \n{}", own("mine", "Mine", "https://lake.example/{query}/"));
    let mine = write(&folder, "own.json", mine);
    let second = list(
        &folder,
        "second.json",
        &[("Second", "http://POND.example/{}"), ("New", "https://new.example/{}")],
    );
    let catalog = Catalog::load(true, &[first, second, mine], None).unwrap();
    let listed: Vec<String> = ids(&catalog).into_iter().filter(|id| id.starts_with("sherlock.")).collect();
    assert_eq!(listed, ["sherlock.pond", "sherlock.new"]);
    assert!(catalog.get("github").is_some() && catalog.get("mine").is_some());
    let [first, second] = catalog.lists() else { panic!() };
    assert_eq!(notes(first, NoteKind::AlreadyThere), ["GitHub: github", "Lake: mine"]);
    assert_eq!(notes(second, NoteKind::AlreadyThere), ["Second: sherlock.pond"]);
    // A list that adds no module changes nothing.
    assert_eq!(notes(first, NoteKind::Changed).len(), 1, "{first:?}");
    assert_eq!((first.entries, first.taken_over), (3, 1));
    let shown = first.summary();
    assert!(shown.ends_with("list of Sherlock: 1 of 3 entries imported, 2 already covered"), "{shown}");
}

#[test]
fn a_site_of_a_list_is_asked_with_the_rule_of_its_engine() {
    let folder = Folder::new();
    let file = list(&folder, "list.json", &[("Forum", "https://adsbx.discourse.group/u/{}")]);
    let catalog = Catalog::load(true, &[file], None).unwrap();
    assert_eq!(notes(&catalog.lists()[0], NoteKind::AlreadyThere), ["Forum: adsbx.discourse.group"]);
    let needs_engines = |id: &str| catalog.get(id).unwrap().entry().needs_engines();
    assert!(!needs_engines("adsbx.discourse.group") && needs_engines("aleph.discourse.group"));
}

#[test]
fn a_site_that_no_enabled_module_covers_is_kept() {
    let folder = Folder::new();
    let file = list(&folder, "list.json", &[("GitHub", "https://www.github.com/{}")]);
    let catalog = Catalog::load(false, std::slice::from_ref(&file), None).unwrap();
    assert_eq!(ids(&catalog), ["sherlock.github"]);
    // A second copy of the list adds nothing.
    let catalog = Catalog::load(false, &[file.clone(), file], None).unwrap();
    assert_eq!(ids(&catalog), ["sherlock.github"]);
    assert_eq!(notes(&catalog.lists()[1], NoteKind::AlreadyThere), ["GitHub: sherlock.github"]);

    let mut off = own("off", "Pond", "https://pond.example/{query}");
    off[0]["enabled"] = json!(false);
    let mine = write(&folder, "own.json", off.to_string());
    let file = list(&folder, "list.json", &[("Pond", "https://pond.example/{}")]);
    assert_eq!(ids(&Catalog::load(false, &[mine, file], None).unwrap()), ["off", "sherlock.pond"]);
    // Two entries of one list are both kept.
    let file = list(&folder, "list.json", &[("A", "https://a.example/{}"), ("a", "https://a.example/{}")]);
    assert_eq!(ids(&Catalog::load(false, &[file], None).unwrap()), ["sherlock.a", "sherlock.a-2"]);
}

#[test]
fn a_file_that_is_not_a_list_is_an_error() {
    let folder = Folder::new();
    let good = list(&folder, "good.json", &[("A", "https://a.example/{}")]);
    for (content, why) in [
        (&b"{\"a\": 1}"[..], "unknown format"),
        (b"{\"a\": ", "it is not valid JSON"),
        (b"\xff\xfe{\0}\0", "byte 0 is not UTF-8 (it looks like UTF-16); save the file as UTF-8"),
        (b"{\"A\": {\"url\": \"\xe9\"}}", "byte 15 is not UTF-8; save the file as UTF-8"),
        (b"", "it is not valid JSON"),
        (b"[{\"errorType\": 1}]", "unknown field `errorType`"),
    ] {
        let bad = write(&folder, "bad.json", content);
        let error = Catalog::load(false, &[good.clone(), bad], None).unwrap_err().to_string();
        assert!(error.contains("bad.json:") && error.contains(why), "{error}");
    }
}

#[test]
fn the_formatter_recognises_a_list() {
    for (list, kind) in samples().iter().zip(["WhatsMyName", "Sherlock", "Maigret"]) {
        let error =
            sightline::modules::catalog::format::format("f.json", &list.to_string()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("a list of {kind}")) && error.contains("`--catalog` takes"),
            "{error}"
        );
    }
}
