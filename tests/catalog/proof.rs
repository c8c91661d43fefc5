//! `catalog check`: the built-in catalogue proves itself on the simulated web; what is wrong with a module
//! shows, on a site of the test's own and on the simulated one.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::*;
use crate::checks::cases::served;
use crate::cli::{Folder, Ran, ran, sightline};
use crate::support::process::signal;
use crate::support::site::{Site, hold};

fn report_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
}

fn list_of<'v>(report: &'v Value, what: &str) -> &'v Vec<Value> {
    report[what].as_array().unwrap()
}

/// Returns how often each kind of question was asked.
fn asked(module: &Value) -> BTreeMap<&str, usize> {
    list_of(module, "answers").iter().fold(BTreeMap::new(), |mut asked, answer| {
        *asked.entry(answer["asks"].as_str().unwrap()).or_default() += 1;
        asked
    })
}

#[test]
fn every_built_in_module_passes_the_test_on_the_simulated_web() {
    // The simulated web generates its answers at the first request, which takes long on a busy machine.
    let check = ["catalog", "check", "--sandbox", "--faults", "--timeout", "2m", "--format", "json"];
    // All sites of an engine have the same rules.
    let sites = [
        "--module=0xdd.org.ru",
        "--module=1857ironcountymilitia.com",
        "--module=2ndcareers-community.discourse.group",
        "--module=a.nti.social",
        "--module=ampmod.flarum.cloud",
        "--module=git.2ki.xyz",
    ];
    let ran = [&[][..], &sites].map(|sites| ran(&[&check, sites].concat(), &[]));
    let reports = ran.each_ref().map(report_of);
    let modules: Vec<&Value> = reports.iter().flat_map(|report| list_of(report, "modules")).collect();
    let wrong: Vec<String> = modules
        .iter()
        .filter(|module| module["verdict"] != "ok" || module["unread"] != json!([]))
        .map(|module| {
            format!("{}: {} {} {}", module["module"], module["verdict"], module["why"], module["unread"])
        })
        .collect();
    assert!(wrong.is_empty(), "{} modules:\n{}", wrong.len(), wrong.join("\n"));
    for ran in ran {
        let ran = ran.code_is(0);
        assert!(ran.err.contains("SIMULATED"), "{}", ran.err);
    }

    let catalog = builtin();
    let entries = catalog.modules().iter().map(|module| module.entry());
    let enabled = entries.filter(|entry| entry.enabled && !entry.needs_engines()).count() + sites.len();
    assert!(enabled > 100 && modules.len() == enabled, "{} of {enabled}", modules.len());
    for module in &modules {
        let (id, asked) = (&module["module"], asked(module));
        let real = asked.get("known").or(asked.get("stand_in"));
        assert!(real.is_some_and(|count| *count > 0) && asked["made_up"] > 0, "{id}: {asked:?}");
        for trouble in
            ["challenge", "empty_page", "server_error", "connection_reset", "rate_limit", "silence"]
        {
            assert_eq!(asked.get(trouble), Some(&1), "{id}: {trouble}");
        }
        let entry = catalog.get(id.as_str().unwrap()).unwrap().entry();
        let reads_the_target = entry.contact == sightline::modules::definition::Contact::TargetWeb;
        assert_eq!(asked.contains_key("login_wall"), !reads_the_target, "{id}");
        let is_guarded = entry.control.unwrap_or(entry.search_type != SearchType::Domain);
        assert_eq!(asked.contains_key("yes_to_all"), is_guarded, "{id}");
        let is_feed = entry.probes.iter().all(|probe| probe.feed.is_some());
        for answer in list_of(module, "answers") {
            // A feed is cached after the first check.
            let is_sent = answer["requests"].as_u64().unwrap() > 0 || is_feed;
            assert!(is_sent && answer["is_as_wanted"] == true, "{id}: {answer}");
        }
    }
    let twice = modules.iter().filter(|module| asked(module)["made_up"] == 2).count();
    assert!(twice * 10 > enabled * 9, "only {twice} of {enabled} take two forms of made-up names");
}

/// A site with a part for each kind of module: `/PART/NAME`. Counts how many it serves at once.
fn site(most_at_once: &Arc<AtomicUsize>) -> Site {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::clone(most_at_once));
    Site::start(move |stream, request| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // A slow site, so that requests at the same time meet. The request ends before its answer: afterwards the client
        // may already send the next one.
        thread::sleep(Duration::from_millis(5));
        now.fetch_sub(1, Ordering::SeqCst);
        if request.path().starts_with("/silent/") {
            return hold(stream);
        }
        // The client may have disconnected.
        let _ = stream.write_all(&served(include_str!("proven.txt"), request.path(), 0));
    })
}

/// A module that requests `/ID/NAME`, with these fields changed.
fn part(site: &Site, id: &str, changes: &Value) -> Value {
    let mut entry = entry();
    entry["id"] = json!(id);
    entry["known"] = json!(["alice"]);
    entry["probes"][0]["url"] = json!(site.url(&format!("/{id}/{{query}}")));
    with(entry, changes)
}

fn check(file: &str, more: &[&str]) -> Ran {
    let args = ["catalog", "check", "--no-builtin", "--catalog", file, "--format", "json"];
    ran(&args.iter().chain(more).collect::<Vec<_>>(), &[])
}

#[test]
fn each_verdict_is_reported_and_hosts_get_two_checks_at_once() {
    let most = Arc::new(AtomicUsize::new(0));
    let site = site(&most);
    let folder = Folder::new();
    let key = json!({"needs": ["config.k"], "probes": [{"url": site.url("/key/{query}?k={config.k}")}]});
    let home = json!({"probes": [{"url": site.url("/led_home/{query}"), "follow": true}]});
    let cases = [
        ("good", json!({}), "ok", ""),
        ("second", json!({"known": ["alice"]}), "ok", ""),
        (
            "renamed",
            json!({}),
            "broken",
            "`alice` is not found: unreliable known_missed by miss[0]: status 404;",
        ),
        ("odd", json!({}), "broken", "no conclusion: error unrecognized status 418 of 127.0.0.1, 6 bytes"),
        ("stranger_s", json!({}), "broken", "gives no conclusion: error other_account by hit[0]"),
        ("led_home", home, "broken", "gives no conclusion: error front_page by hit[0]"),
        ("empty", json!({}), "broken", "gives no conclusion: error empty status 200"),
        ("yes", json!({}), "unreliable", "a made-up name is found as well as `alice`"),
        ("yes", json!({"id": "unguarded", "control": false}), "unreliable", "the made-up name `"),
        ("walled", json!({}), "blocked", "cloudflare_challenge by barrier: cloudflare_challenge; status 403"),
        ("broken_site", json!({}), "error", "error server_error status 500 of 127.0.0.1, 4 bytes"),
        ("silent", json!({}), "timeout", "timeout_first_byte"),
        ("stranger", json!({"known": []}), "unproven", "it has no `known` name"),
        ("key", key, "unproven", "it needs --key k=…"),
    ];
    let entries: Vec<Value> = cases.iter().map(|(id, changes, ..)| part(&site, id, changes)).collect();
    let file = folder.file("own.json", &Value::from(entries.clone()).to_string());
    let flags = ["--allow-private-targets", "--timeout", "6s", "--host-concurrency", "2"];
    let report = report_of(&check(&file, &flags).code_is(1));
    assert_eq!(report["finished"], true);
    for (entry, (_, _, verdict, why)) in entries.iter().zip(&cases) {
        let id = &entry["id"];
        let module = list_of(&report, "modules").iter().find(|it| it["module"] == *id).unwrap();
        let told = module["why"].as_str().unwrap_or_default();
        assert!(module["verdict"] == *verdict && told.contains(why), "{id}: {module:#}");
    }
    let counts = json!({"ok": 2, "broken": 5, "unreliable": 2, "blocked": 1, "error": 1, "timeout": 1,
        "unproven": 2, "unfinished": 0});
    assert_eq!(report["counts"], counts);
    let most = most.load(Ordering::SeqCst);
    assert!((1..=2).contains(&most), "{most} at once");

    // The report for people lists everything that is not ok, the worst first, and the counts in one line.
    let args =
        ["catalog", "check", "--no-builtin", "--catalog", &file, "--module", "good", "--module", "renamed"];
    let args: Vec<&str> = args.into_iter().chain(flags).collect();
    let text = ran(&args, &[]).code_is(1).out;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 3 && lines[1].starts_with("broken   renamed  the known name `alice`"), "{text}");
    assert_eq!(lines[2], "2 modules: 1 ok, 1 broken");
    ran(&[&args[..5], &["--module", "good"], &flags].concat(), &[]).code_is(0);
}

#[test]
fn a_disabled_module_is_tested_if_it_is_named() {
    let site = site(&Arc::default());
    let folder = Folder::new();
    let off = part(&site, "off", &json!({"enabled": false}));
    let file = folder.file("own.json", &json!([part(&site, "on", &json!({})), off]).to_string());
    let report = report_of(&check(&file, &["--allow-private-targets"]).code_is(0));
    assert_eq!((&report["asked"], &report["left_out"]), (&json!(1), &json!(1)));
    let report = report_of(&check(&file, &["--allow-private-targets", "--module", "off"]).code_is(0));
    assert_eq!(report["modules"][0]["verdict"], "ok", "{report}");
}

#[test]
fn without_a_network_nothing_is_proven() {
    let folder = Folder::new();
    let mut entry = entry();
    entry["known"] = json!(["alice"]);
    entry["probes"][0]["url"] =
        json!(format!("http://127.0.0.1:{}/{{query}}", crate::support::site::closed_port()));
    let file = folder.file("own.json", &json!([entry]).to_string());
    check(&file, &["--allow-private-targets"]).code_is(3).err_has("no site could be reached");
}

#[test]
fn ctrl_c_ends_with_a_partial_report() {
    let (tell, told) = channel();
    let site = Site::start(move |stream, _| {
        let _ = tell.send(());
        hold(stream);
    });
    let folder = Folder::new();
    let file = folder.file("own.json", &json!([part(&site, "silent", &json!({}))]).to_string());
    let args = ["catalog", "check", "--no-builtin", "--catalog", &file, "--allow-private-targets"];
    let args = [&args[..], &["--timeout", "10m"]].concat();
    let child = sightline(&args, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The test is in progress, so the signal reaches the handler.
    told.recv().unwrap();
    signal(child.id(), "INT");
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{out}");
    assert!(
        out.contains("unfinished  silent") && out.contains("stopped before all modules were tested"),
        "{out}"
    );
}

#[test]
fn a_report_file_is_written_completely_or_not_at_all() {
    let site = site(&Arc::default());
    let folder = Folder::new();
    let file = folder.file("own.json", &json!([part(&site, "good", &json!({}))]).to_string());
    let path = folder.path("report.json");
    let written = check(&file, &["--allow-private-targets", "--output", &path]).code_is(0);
    assert_eq!(written.out, "");
    written.err_has("1 modules: 1 ok");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(report["counts"]["ok"], 1);
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 2, "nothing is left beside it");

    let before = site.received().len();
    for nowhere in [folder.path("no/report.json"), folder.path("")] {
        check(&file, &["--allow-private-targets", "--output", &nowhere]).code_is(3).err_has("cannot write ");
    }
    assert_eq!(site.received().len(), before, "a report that cannot be written costs no request");
}

/// Returns the verdict on one module on the simulated web with all faults, and its reason.
fn simulated(changes: &Value) -> (String, String) {
    let folder = Folder::new();
    let mut entry = entry();
    entry["hit"] = json!([{"status": [200], "words": ["{query}"]}]);
    let file = folder.file("own.json", &json!([with(entry, changes)]).to_string());
    let ran = check(&file, &["--sandbox", "--faults"]);
    let report = report_of(&ran);
    let module = &report["modules"][0];
    ran.code_is(i32::from(module["verdict"] != "ok"));
    (module["verdict"].as_str().unwrap().to_owned(), module["why"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn the_simulated_web_shows_rules_that_misread_failures() {
    for (changes, verdict, why) in [
        (json!({}), "ok", ""),
        (
            json!({"miss": [{"status": [500]}]}),
            "broken",
            "server_error is reported as miss by miss[0]: status",
        ),
        (json!({"miss": [{"status": [404]}, {"body_is": ""}]}), "broken", "empty_page is reported as miss"),
        (json!({"hit": [{"status": [200]}], "control": false}), "ok", ""),
        (
            json!({"hit": [{"status": [200], "words": ["a"]}], "miss": [{"status": [404], "words": ["b"]}, {"status": ["3xx"], "header": {"Location": "login"}}]}),
            "broken",
            "login_wall is reported as miss",
        ),
        (
            json!({"hit": [{"words": ["gone"]}], "miss": [{"regex": "gone"}]}),
            "broken",
            "cannot satisfy its rules",
        ),
        (json!({"hit": [{"words": ["{query}"]}], "miss": []}), "broken", "it has no `miss` rule"),
        (json!({"accepts": "[0-9]{3}"}), "unproven", "the module has no known name that it accepts"),
    ] {
        let (found, told) = simulated(&changes);
        assert!(found == verdict && told.contains(why), "{changes}: {found}: {told}");
    }
}
