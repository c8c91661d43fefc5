//! Bundles from an address.

use std::io::Write as _;

use super::*;
use crate::support::site::{Site, answer, to, with_headers};

/// Starts a site with these files.
fn start_site(files: Vec<(&'static str, Vec<u8>)>) -> Site {
    Site::start(move |socket, request| {
        let answer = match files.iter().find(|(name, _)| *name == request.path()) {
            Some((_, body)) => with_headers("", body),
            None if request.path() == "/moved" => to(302, "/good"),
            None => answer(404, "text/plain", ""),
        };
        // The client may have disconnected.
        let _ = socket.write_all(&answer);
    })
}

#[test]
fn a_bundle_is_downloaded_through_the_guard_and_in_bounded_size() {
    let (signer, folder) = (Signer::new(), Folder::new());
    let database = folder.database();
    ran(&["migrate", "--database", &database], &[]).code_is(0);
    let good = std::fs::read(signer.bundle(1, &[super::super::entry()])).unwrap();
    let long = vec![b' '; 16 * 1024 * 1024 + 1];
    let site = start_site(vec![
        ("/good", good.clone()),
        ("/half", good[..good.len() / 2].to_vec()),
        ("/long", long),
    ]);
    let url = site.url("");
    let update = |source: &str, lab: bool| {
        let mut words = vec!["catalog", "update", source, &signer.trust, "--database", &database];
        words.extend(lab.then_some("--allow-private-targets"));
        ran(&words, &[])
    };
    let allowed = "a file or an https:// address is allowed";
    update(&format!("{url}/good"), false).code_is(2).err_has(allowed);
    update("http://example.org/good", true).code_is(2).err_has(allowed);
    update("ftp://127.0.0.1/good", true).code_is(2).err_has(allowed);
    update(&url.replace("http://", "https://"), false).code_is(3).err_has("the address is not allowed");
    update(&format!("{url}/none"), true)
        .code_is(3)
        .err_has("the answer has the status 404, only 200 is allowed");
    update(&format!("{url}/half"), true).code_is(3).err_has("not a complete catalogue bundle");
    update(&format!("{url}/long"), true).code_is(3).err_has("it has more than 16777216 bytes");
    let moved = update(&format!("{url}/moved"), true).code_is(0);
    assert!(moved.out.starts_with("catalogue bundle 1 of "), "{}", moved.out);
}
