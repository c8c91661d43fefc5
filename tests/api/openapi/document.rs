//! The document itself: it is valid, and the same from the server and the
//! command.

use super::{DOCUMENT, operations, resolve};
use crate::cli::ran;
use crate::support::folder::Folder;
use crate::support::python::venv;
use crate::support::server::Setup;
use serde_json::Value;

const VALIDATOR: &str = "openapi-spec-validator==0.9.0";

#[test]
fn the_command_prints_what_the_server_serves() {
    let base_url = "https://search.example.org/sightline";
    let printed = ran(&["openapi", "--base-url", base_url], &[]).code_is(0);
    let printed_document: Value = serde_json::from_str(&printed.out).unwrap();
    assert!(printed.out.lines().count() > 1000, "not pretty");
    let server = Setup::new().flag(&format!("--base-url={base_url}")).start();
    let served = server.request("GET", "/openapi.json").send();
    assert_eq!((served.status, served.header("content-type")), (200, Some("application/json")));
    assert_eq!(served.json(), printed_document);
    assert_eq!(printed_document["servers"][0]["url"], base_url);
    let capabilities = server.request("GET", "/v1/capabilities").send().json();
    assert_eq!(capabilities["openapi_url"], format!("{base_url}/openapi.json"));
    let default: Value = serde_json::from_str(&ran(&["openapi"], &[]).code_is(0).out).unwrap();
    assert_eq!(default, *DOCUMENT);
    ran(&["openapi", "--base-url", "ftp://x"], &[]).code_is(2).err_has("--base-url");
}

#[test]
fn every_answer_has_a_description() {
    for (path, method, operation) in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let text = resolve(response)["description"].as_str();
            assert!(text.is_some_and(|text| !text.is_empty()), "{method} {path} {status}");
        }
    }
}

mod campaigns {
    use super::*;

    #[test]
    fn the_document_is_valid_openapi_3_1() {
        let folder = Folder::new();
        let validated = |name: &str, document: &Value| {
            let file = folder.path(name);
            std::fs::write(&file, document.to_string()).unwrap();
            let output = venv(&[VALIDATOR])
                .command("openapi-spec-validator")
                .args(["--schema", "3.1", "--errors", "all", &file])
                .output()
                .unwrap();
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            (output.status.success(), said)
        };
        let (valid, said) = validated("openapi.json", &DOCUMENT);
        assert!(valid, "{said}");
        assert_eq!(DOCUMENT["openapi"], "3.1.0");
        let mut broken = DOCUMENT.clone();
        broken["paths"]["/v1/health"]["get"]["responses"]["200"]["description"].take();
        assert!(!validated("broken.json", &broken).0, "the validator finds nothing");
    }
}
