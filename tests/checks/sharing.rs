//! What concurrent checks share: control checks, feeds, and memory.

use parking_lot::Condvar;

use super::*;

/// A count for which threads wait.
#[derive(Default)]
struct Counter(Mutex<usize>, Condvar);

impl Counter {
    fn add(&self) {
        *self.0.lock() += 1;
        self.1.notify_all();
    }

    fn wait_for(&self, least: usize) {
        self.1.wait_while(&mut self.0.lock(), |count| *count < least);
    }

    fn count(&self) -> usize {
        *self.0.lock()
    }
}

/// Makes that many checks at once, of `bob0` and so on.
fn at_once(bench: &Bench, site: &Module, checks: usize, is_right: impl Fn(&Report) -> bool + Sync) {
    std::thread::scope(|scope| {
        for index in 0..checks {
            let is_right = &is_right;
            scope.spawn(move || {
                let report = bench.check(site, &username(&format!("bob{index}")));
                assert!(is_right(&report), "{report:?}");
            });
        }
    });
}

#[test]
fn checks_of_one_module_share_one_control_check() {
    let (controls, hits) = (Arc::new(Counter::default()), Counter::default());
    let counted = controls.clone();
    let bench = Bench::new(move |request| {
        if request.trace.control {
            counted.add();
            // The control check is answered when every check has its hit.
            hits.wait_for(8);
            return Ok(respond(404, &[], ""));
        }
        hits.add();
        Ok(respond(200, &[], "page"))
    });
    at_once(&bench, &module(&json!({})), 8, |report| report.outcome == Outcome::Hit);
    // A check that began after the control check needs another one.
    assert!((1..=2).contains(&controls.count()));
}

/// Hosts that may be asked, with the number of checks that lend what they hold.
#[derive(Default)]
struct Lending(Counter);

impl HostAccess for Lending {
    fn access(&self, _: &str) -> Access {
        Access::Granted
    }

    fn lend(&self, wait: &mut dyn FnMut()) {
        self.0.add();
        wait();
    }
}

#[test]
fn a_hit_that_waits_for_the_control_check_of_another_lends_what_it_holds() {
    let lending = Arc::new(Lending::default());
    let lent = lending.clone();
    let bench = Bench::new(move |request| {
        if request.trace.control {
            lent.0.wait_for(1);
            return Ok(respond(404, &[], ""));
        }
        Ok(respond(200, &[], "page"))
    });
    let terms = Terms { hosts: &*lending, ..Terms::from(Instant::now() + Duration::from_secs(60)) };
    let (bench, site) = (&bench, module(&json!({})));
    std::thread::scope(|scope| {
        let checks = ["ann", "bob"].map(|name| {
            let site = &site;
            scope.spawn(move || bench.checker.check(site, &username(name), terms).outcome)
        });
        assert_eq!(checks.map(|check| check.join().unwrap()), [Outcome::Hit; 2]);
    });
    assert_eq!(lending.0.count(), 1);
}

/// The site of [`module`] with the known account `ann`.
fn with_a_known_account() -> Arc<Module> {
    module(&json!({"known": ["ann"]}))
}

#[test]
fn checks_share_the_control_check_of_misses_and_wait_for_it_until_their_deadline() {
    let [misses, controls, ended] = [(); 3].map(|()| Arc::new(Counter::default()));
    let (missed, controlled, may_end) = (misses.clone(), controls.clone(), ended.clone());
    let bench = Bench::new(move |request| {
        if &*request.trace.query == "ann" {
            controlled.add();
            // The known account is answered when every check has its miss and one of them has ended.
            missed.wait_for(8);
            may_end.wait_for(1);
            return Ok(respond(200, &[], "page"));
        }
        missed.add();
        Ok(respond(404, &[], "page"))
    });
    let site = with_a_known_account();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let is_right = |report: &Report| (report.outcome, report.reason) == (Outcome::Miss, None);
            at_once(&bench, &site, 7, is_right);
        });
        controls.wait_for(1);
        let until = Instant::now() + Duration::from_secs(5);
        let hurried = bench.checker.check(&site, &username("carol"), until);
        assert_eq!((hurried.outcome, hurried.reason), (Outcome::Miss, Some(Reason::KnownUnclear)));
        ended.add();
    });
    assert_eq!((controls.count(), misses.count()), (1, 8));
}

/// Hosts that may be asked, for a module without further checks.
struct UsedUp;

impl HostAccess for UsedUp {
    fn access(&self, _: &str) -> Access {
        Access::Granted
    }

    fn reserve(&self, _: Instant, _: Instant) -> Option<Instant> {
        None
    }
}

#[test]
fn a_control_check_keeps_to_the_rate_of_its_module() {
    let bench = Bench::new(|_| Ok(respond(404, &[], "page")));
    let terms = Terms { hosts: &UsedUp, ..Terms::from(Instant::now() + Duration::from_secs(60)) };
    let site = with_a_known_account();
    let report = bench.checker.check(&site, &username("alice"), terms);
    let asked = bench.asked().len();
    assert_eq!((report.outcome, report.reason, asked), (Outcome::Miss, Some(Reason::KnownUnclear), 1));
    let again = bench.check(&site, &username("alice"));
    assert_eq!(again.outcome, Outcome::Unreliable, "that is not cached");
}

#[test]
fn checks_share_a_feed_and_wait_for_it_until_their_deadline() {
    let [asked, begun, late] = [(); 3].map(|()| Arc::new(Counter::default()));
    let (told, started, may_end) = (asked.clone(), begun.clone(), late.clone());
    let bench = Bench::new(move |_| {
        told.add();
        // The list is sent when all checks wait for it, as far as this can be observed, and one of them has ended.
        started.wait_for(8);
        may_end.wait_for(1);
        Ok(respond(200, &[("content-type", "application/json")], r#"[{"name": "example.org"}]"#))
    });
    let site = module(&json!({
        "type": "domain", "control": false, "results": [{"type": "breach", "each": "json:/*"}],
        "probes": [{"url": "https://site.example/list.json", "feed": {"keep_s": 3600}}],
        "hit": [{"status": [200], "json": [{"at": "/*/name", "equals_query": true}]}],
    }));
    let query = Query::parse(SearchType::Domain, "example.org").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                begun.add();
                assert_eq!(bench.check(&site, &query).outcome, Outcome::Hit);
            });
        }
        asked.wait_for(1);
        let report = bench.checker.check(&site, &query, Instant::now() + Duration::from_secs(1));
        let ended = (report.outcome, report.reason.map(Reason::as_str), report.evidence.requests);
        assert_eq!(ended, (Outcome::Timeout, Some("timeout_first_byte"), 0));
        late.add();
    });
    assert_eq!(bench.asked().len(), 1);
}

/// Chains and control checks of many concurrent checks, with memory for one answer.
#[test]
fn checks_wait_for_scarce_memory() {
    let bench = Bench::new(|request| {
        let query = request.trace.query.to_string();
        Ok(match request.trace.control {
            true => respond(404, &[], "{}"),
            false => respond(200, &[], json!({"name": query, "id": 7, "list": ["a", "b"]}).to_string()),
        })
    });
    let bench = Bench { checker: bench.checker.with_answer_memory(1), ..bench };
    let site = module(&json!({
        "probes": [
            {"url": "https://site.example/{query}", "save": {"id": "json:/id"}},
            {"url": "https://site.example/{query}/{saved.id}"},
        ],
        "hit": [{"status": [200], "json": [{"at": "/name", "equals_query": true}]}],
        "results": [{"type": "username", "each": "json:/list/*"}],
    }));
    let is_right = |report: &Report| (report.outcome, report.findings.len()) == (Outcome::Hit, 2);
    at_once(&bench, &site, 16, is_right);
}
