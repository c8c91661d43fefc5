//! Signed bundles: made, checked, used by running servers without a restart, and taken back.

use std::path::Path;

use serde_json::{Value, json};
use sightline::base::signature::{PublicKey, SigningKey};
use sightline::modules::catalog::{Bundle, Catalog, Sources};

use crate::cli::{Folder, Ran, ran};
use crate::support::modules::builtin;

mod downloads;
mod refusals;
mod servers;

/// A key, and bundles that are signed with it.
struct Signer {
    folder: Folder,
    /// The option with the public key.
    trust: String,
}

impl Signer {
    fn new() -> Self {
        let folder = Folder::new();
        let key = folder.path("key.pem");
        let made = ran(&["catalog", "bundle", "--new-key", &key], &[]).code_is(0);
        Self { folder, trust: format!("--catalog-key={}", made.out.trim()) }
    }

    fn public_key(&self) -> PublicKey {
        PublicKey::parse(self.trust.split_once('=').unwrap().1).unwrap()
    }

    /// Returns the path of a new bundle of these entries.
    fn bundle(&self, serial: u64, entries: &[Value]) -> String {
        let file = self.folder.file(&format!("{serial}.json"), &Value::from(entries.to_vec()).to_string());
        let name = format!("{serial}.bundle.json");
        let catalog = format!("--catalog={file}");
        self.made(serial, &name, &["--no-builtin", &catalog]).code_is(0);
        self.folder.path(&name)
    }

    fn made(&self, serial: u64, name: &str, choice: &[&str]) -> Ran {
        let path = |name: &str| self.folder.path(name);
        let (key, output, serial) = (path("key.pem"), path(name), serial.to_string());
        let fixed = ["catalog", "bundle", "--key", &key, "--output", &output, "--serial", &serial];
        ran(&[&fixed, choice].concat(), &[])
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn opened(signer: &Signer, path: &str) -> Bundle {
    Bundle::open("b.json", read(path), &[signer.public_key()]).unwrap()
}

#[test]
fn an_entry_of_a_bundle_replaces_the_built_in_one_and_a_file_replaces_both() {
    let signer = Signer::new();
    let named = |platform: &str| {
        let mut entry = super::entry();
        (entry["id"], entry["platform"]) = (json!("github"), json!(platform));
        entry
    };
    let mut new = super::entry();
    new["id"] = json!("new");
    let bundle = opened(&signer, &signer.bundle(1, &[named("Of the bundle"), new]));
    let file = signer.folder.file("mine.json", &Value::from(vec![named("Of the file")]).to_string());
    let platform = |files: &[&str], bundle: Option<&Bundle>| {
        let files: Vec<_> = files.iter().map(|file| Path::new(file).to_owned()).collect();
        let catalog = Catalog::of(&Sources::read(true, &files), bundle).unwrap();
        let all = catalog.modules().len();
        (catalog.get("github").unwrap().platform().to_owned(), all)
    };
    let (built_in, count) = platform(&[], None);
    assert_eq!(built_in, "GitHub");
    assert_eq!(platform(&[], Some(&bundle)), ("Of the bundle".to_owned(), count + 1));
    assert_eq!(platform(&[&file], Some(&bundle)), ("Of the file".to_owned(), count + 1));
    assert_eq!(platform(&[&file], None), ("Of the file".to_owned(), count));
}

#[test]
fn a_bundle_has_the_chosen_modules_and_equal_input_gives_equal_signed_bytes() {
    let signer = Signer::new();
    let ids = |name: &str, choice: &[&str]| -> Vec<String> {
        signer.made(7, name, choice).code_is(0);
        let path = signer.folder.path(name);
        let catalog = Catalog::of_bundle(&opened(&signer, &path)).unwrap();
        catalog.modules().iter().map(|module| module.id().to_string()).collect()
    };
    let named = ids("named.json", &["--module", "lichess", "--module", "github", "--module", "github"]);
    assert_eq!(named, ["github", "lichess"]);
    let all = ids("all.json", &[]);
    assert_eq!(all.len(), builtin().modules().len());
    let domains = ids("domains.json", &["--type", "domain"]);
    assert!(domains.len() > 50 && domains.len() < all.len(), "{}", domains.len());
    assert!(!ids("again.json", &["--module", "github"]).is_empty());
    signer.made(7, "none.json", &["--module", "githob"]).code_is(2).err_has("did you mean \"github\"?");

    let key = SigningKey::from_pem(&read(&signer.folder.path("key.pem"))).unwrap();
    let catalog = builtin();
    let text = |ids: [&str; 2]| {
        let entries = ids.map(|id| catalog.get(id).unwrap().entry().clone()).to_vec();
        Bundle::write(entries, 1, "2026-05-06T07:08:09Z".parse().unwrap(), &key).unwrap()
    };
    assert_eq!(text(["github", "lichess"]), text(["lichess", "github"]));
}

#[test]
fn a_new_key_is_private_and_never_replaces_a_file() {
    use std::os::unix::fs::PermissionsExt as _;

    let signer = Signer::new();
    let path = signer.folder.path("key.pem");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&path).unwrap();
    ran(&["catalog", "bundle", "--new-key", &path], &[]).code_is(3).err_has("cannot write");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let public = signer.folder.file("public.pem", &signer.trust);
    let output = signer.folder.path("out.json");
    let made = ran(&["catalog", "bundle", "--key", &public, "--output", &output], &[]);
    made.code_is(2).err_has("a private Ed25519 key in PEM is allowed").never_prints(&signer.trust[20..]);
    assert!(!Path::new(&output).exists());
}
