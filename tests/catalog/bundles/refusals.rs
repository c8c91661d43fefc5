//! Bundles that are refused: nothing of them is stored, and the message says what is wrong.

use super::*;

/// A database that holds no bundle yet.
fn database(folder: &Folder) -> String {
    let database = folder.database();
    ran(&["migrate", "--database", &database], &[]).code_is(0);
    database
}

fn update(signer: &Signer, database: &str, source: &str) -> Ran {
    ran(&["catalog", "update", source, &signer.trust, "--database", database], &[])
}

fn is_empty(database: &str) -> bool {
    ran(&["catalog", "rollback", "--database", database], &[]).err.contains("no catalogue bundle is in use")
}

#[test]
fn a_changed_truncated_or_foreign_bundle_is_refused() {
    let (signer, folder) = (Signer::new(), Folder::new());
    let database = database(&folder);
    let good = read(&signer.bundle(1, &[super::super::entry()]));
    let other = Signer::new();
    let foreign = read(&other.bundle(1, &[super::super::entry()]));
    let catalogue = json!([super::super::entry()]).to_string();
    let oversized = format!("{good}{}", " ".repeat(16 * 1024 * 1024));
    for (name, text, want) in [
        ("changed", good.replace("site.example", "evil.example"), "the signature does not fit the key"),
        ("serial", good.replace("\"serial\": 1", "\"serial\": 2"), "the signature does not fit the key"),
        ("truncated", good[..good.len() - 20].to_owned(), "not a complete catalogue bundle"),
        ("empty", String::new(), "not a complete catalogue bundle"),
        ("foreign", foreign, "which is not trusted: --catalog-key allows only "),
        ("catalogue", catalogue, "not a complete catalogue bundle, as `sightline catalog bundle` makes it"),
        ("oversized", oversized, "it has more than 16777216 bytes"),
    ] {
        assert_ne!(text, good, "{name}");
        let file = folder.file(&format!("{name}.json"), &text);
        update(&signer, &database, &file).code_is(3).err_has(&file).err_has(want);
        assert!(is_empty(&database), "{name}");
    }
    update(&signer, &database, "/nowhere/b.json").code_is(3).err_has("/nowhere/b.json: it cannot be read");
    let good = folder.file("good.json", &good);
    ran(&["catalog", "update", &good, "--database", &database], &[]).code_is(2).err_has("no key is trusted");
    let trusted = [("SIGHTLINE_CATALOG_KEY", signer.trust.split_once('=').unwrap().1)];
    ran(&["catalog", "update", &good, "--database", &database], &trusted).code_is(0);
    assert!(!is_empty(&database));
}

#[test]
fn a_mistake_in_a_signed_entry_names_file_line_module_and_field() {
    let (signer, folder) = (Signer::new(), Folder::new());
    let database = database(&folder);
    let key = SigningKey::from_pem(&read(&signer.folder.path("key.pem"))).unwrap();
    let mut wrong = super::super::entry();
    wrong["needs"] = serde_json::json!(["config.unused"]);
    let wrong = serde_json::from_value(wrong).unwrap();
    let text = Bundle::write(vec![wrong], 1, jiff::Timestamp::UNIX_EPOCH, &key).unwrap();
    let file = folder.file("wrong.json", &text);
    let line = 1 + text.lines().position(|line| line.contains("config.unused")).unwrap();
    let refused = update(&signer, &database, &file).code_is(3);
    refused.err_has("the bundle is not used").err_has(&format!("{file}:{line}: site: needs[0]: "));
    assert!(is_empty(&database));
}

#[test]
fn an_older_bundle_is_refused_until_the_newer_one_is_removed() {
    let (signer, folder) = (Signer::new(), Folder::new());
    let database = database(&folder);
    let [old, new] = [1, 2].map(|serial| signer.bundle(serial, &[super::super::entry()]));
    assert!(update(&signer, &database, &new).code_is(0).out.contains("with 1 modules: servers use it"));
    assert!(update(&signer, &database, &new).code_is(0).out.contains("is in use already"));
    update(&signer, &database, &old)
        .code_is(3)
        .err_has("it is older than bundle 2")
        .err_has("catalog rollback");
    let mut entry = super::super::entry();
    entry["platform"] = json!("Another");
    let same = signer.bundle(2, &[entry]);
    update(&signer, &database, &same).code_is(3).err_has("another bundle with this serial is in use");
    let back = ran(&["catalog", "rollback", "--database", &database], &[]).code_is(0);
    assert!(
        back.out.contains("bundle 2 is removed: servers use the catalogue without a bundle"),
        "{}",
        back.out
    );
    update(&signer, &database, &old).code_is(0);
    update(&signer, &database, &same).code_is(0);
    let back = ran(&["catalog", "rollback", "--database", &database], &[]).code_is(0);
    assert!(back.out.contains("bundle 2 is removed: servers use catalogue bundle 1 of "), "{}", back.out);
}
