//! Bundles from an address.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use super::*;
use crate::support::connections::answer_all;

/// Starts a site with these files, and returns its address.
fn site(files: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    answer_all(listener, move |mut socket| {
        let mut lines = BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok);
        let Some(head) = lines.next() else { return };
        for _ in lines.take_while(|line| !line.is_empty()) {}
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let answer = match files.iter().find(|(name, _)| *name == path) {
            Some((_, body)) => {
                [format!("200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
            }
            None if path == "/moved" => b"302 Found\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n".to_vec(),
            None => b"404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        };
        // The client may have disconnected.
        let _ = socket.write_all(b"HTTP/1.1 ").and_then(|()| socket.write_all(&answer));
    });
    format!("http://{address}")
}

#[test]
fn a_bundle_is_downloaded_through_the_guard_and_in_bounded_size() {
    let (signer, folder) = (Signer::new(), Folder::new());
    let database = folder.database();
    ran(&["account", "create", "--email", "a@example.org", "--plan", "pro", "--database", &database], &[])
        .code_is(0);
    let good = std::fs::read(signer.bundle(1, &[super::super::entry()])).unwrap();
    let long = vec![b' '; 16 * 1024 * 1024 + 1];
    let url =
        site(vec![("/good", good.clone()), ("/half", good[..good.len() / 2].to_vec()), ("/long", long)]);
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
