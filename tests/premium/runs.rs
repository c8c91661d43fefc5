//! Checks in browsers in the run engine: workers of their own, shared fairly, dropped with their run. The web and
//! the browsers are played; threads, runs and the store are real.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use sightline::base::clock::{Clock, SystemClock};
use sightline::model::audit::Origin;
use sightline::model::batch::RowRefusal;
use sightline::model::refusal::Code;
use sightline::model::run::Status;
use sightline::model::start::{Idempotency, NewRun};
use sightline::modules::catalog::Choice;
use sightline::modules::definition::Via;
use sightline::modules::outcome::Outcome;
use sightline::modules::probe::{Browsers, CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::reason::Reason;
use sightline::runs::live::LiveRun;
use sightline::runs::service::{RunsConfig, StartResult};

use crate::runs;
use crate::support::databases::databases;
use crate::support::folder::Folder;
use crate::support::server::PATIENCE;
use crate::support::{eventually, has_ended};

/// Longer than any wait of the tests, so that no check exceeds its deadline.
const CHECK_TIMEOUT: Duration = Duration::from_secs(600);

/// An opened page: the query of its run, its module and its deadline.
#[derive(Debug, Clone)]
struct Opened {
    query: String,
    module: String,
    deadline: Instant,
}

/// Browsers whose pages are drawn when the test says so, those of made-up names at once. Sites without a browser
/// answer at once.
#[derive(Default)]
struct Stage {
    sessions: usize,
    /// The number of pages that may still be drawn.
    tickets: Mutex<usize>,
    drawn: Condvar,
    opened: Mutex<Vec<Opened>>,
    open_now: AtomicUsize,
    most_open: AtomicUsize,
    /// All browsers have ended.
    dead: AtomicBool,
}

impl Stage {
    fn with(sessions: usize) -> Arc<Self> {
        Arc::new(Self { sessions, ..Self::default() })
    }

    fn draw(&self, pages: usize) {
        *self.tickets.lock() += pages;
        self.drawn.notify_all();
    }

    fn opened(&self) -> Vec<Opened> {
        self.opened.lock().clone()
    }

    fn open_now(&self) -> usize {
        self.open_now.load(Ordering::SeqCst)
    }

    fn render(&self, request: &Request, deadline: Instant) -> Result<Response, ProbeError> {
        if self.dead.load(Ordering::SeqCst) {
            return Err(Reason::Browser.because("the browser died"));
        }
        let open = self.open_now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
        let (query, module) = (request.trace.query.to_string(), request.trace.module.to_string());
        self.opened.lock().push(Opened { query, module, deadline });
        let mut tickets = self.tickets.lock();
        while !request.trace.control && *tickets == 0 && !self.dead.load(Ordering::SeqCst) {
            self.drawn.wait(&mut tickets);
        }
        if !request.trace.control {
            *tickets = tickets.saturating_sub(1);
        }
        self.open_now.fetch_sub(1, Ordering::SeqCst);
        drop(tickets);
        let shown = if request.trace.control { "Nobody" } else { "Somebody" };
        answer(request, &format!("<p>{shown}</p>"))
    }
}

impl Prober for Stage {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        match request.via {
            Via::Browser => self.render(request, deadline),
            Via::Http | Via::Whois => answer(request, "somebody"),
        }
    }
}

fn answer(request: &Request, body: &str) -> Result<Response, ProbeError> {
    Ok(Response {
        status: 200,
        final_url: request.url.clone(),
        headers: vec![("content-type".into(), "text/html".into())],
        body: body.into(),
        truncated: false,
    })
}

impl Browsers for Stage {
    fn sessions(&self) -> usize {
        self.sessions
    }

    fn is_available(&self) -> bool {
        !self.dead.load(Ordering::SeqCst)
    }
}

fn plain(number: usize) -> Value {
    json!({
        "id": format!("plain-{number:02}"), "platform": format!("P{number}"), "type": "username", "category": "plain",
        "control": false, "probes": [{"url": format!("https://plain{number}.example/{{query}}")}],
        "hit": [{"words": ["somebody"]}], "miss": [{"status": [404]}]
    })
}

fn drawn(number: usize) -> Value {
    json!({
        "id": format!("drawn-{number:02}"), "platform": format!("D{number}"), "type": "username", "category": "drawn",
        "probes": [{"url": format!("https://drawn{number}.example/{{query}}"), "via": "browser"}],
        "hit": [{"text": ["Somebody"]}], "miss": [{"text": ["Nobody"]}]
    })
}

type Bench = runs::Bench<Stage>;

/// Creates a catalogue with this many modules without and with a browser, on a new SQLite file.
fn bench(stage: &Arc<Stage>, plains: usize, browsers: usize) -> Bench {
    let folder = Folder::new();
    let url = format!("sqlite:{}", folder.path("runs.db"));
    bench_on(&url, folder, stage, plains, browsers)
}

fn bench_on(url: &str, folder: Folder, stage: &Arc<Stage>, plains: usize, browsers: usize) -> Bench {
    let catalog: Vec<Value> = (0..plains).map(plain).chain((0..browsers).map(drawn)).collect();
    let (check_timeout, run_timeout) = (CHECK_TIMEOUT, 2 * CHECK_TIMEOUT);
    let config = RunsConfig { check_workers: 8, check_timeout, run_timeout, ..runs::config() };
    runs::bench_on(url, folder, &catalog, config, Arc::clone(stage), Arc::clone(stage) as _)
}

fn premium(bench: &Bench, query: &str) -> NewRun {
    bench.order_where(query, |search| search.premium = true)
}

/// Starts a premium run with only this many browser modules.
fn drawn_only(bench: &Bench, query: &str, count: usize) -> Arc<LiveRun> {
    let modules = (0..count).map(|number| format!("drawn-{number:02}")).collect();
    let choice = Choice { modules, ..Choice::default() };
    bench.start_order(bench.order_where(query, |search| (search.premium, search.choice) = (true, choice)))
}

/// The queries of real pages in the order in which they were opened.
fn order_of(stage: &Stage, queries: &[&str]) -> Vec<String> {
    let opened = stage.opened().into_iter().map(|page| page.query);
    opened.filter(|query| queries.contains(&query.as_str())).collect()
}

#[test]
fn standard_results_do_not_wait_for_browsers() {
    // More pages than check workers: in their lane they would take all of them.
    let bench = bench(&Stage::with(2), 40, 12);
    let run = bench.start_order(premium(&bench, "alice"));
    eventually("all standard modules have ended", || run.summary().progress.modules_completed == 40);
    eventually("both browsers are busy", || bench.web.open_now() == 2);
    // All of them have ended and are published while not one page has been drawn.
    let (summary, results) = (run.summary(), bench.results(&run));
    assert_eq!(
        (summary.status, results.len(), summary.coverage.count_of(Outcome::Hit)),
        (Status::Running, 40, 40)
    );
    assert_eq!((bench.runs.scheduler.busy_in_browsers(), bench.runs.browsers.sessions()), (2, 2));
    bench.web.draw(1000);
    bench.finish(&run);
    let (summary, results) = (run.summary(), bench.results(&run));
    assert_eq!((summary.status, results.len(), summary.coverage.checked), (Status::Completed, 52, 52));
    // Each hit was confirmed by the page of a made-up name, by the same worker.
    assert_eq!((bench.web.opened().len(), bench.web.most_open.load(Ordering::SeqCst)), (24, 2));
}

#[test]
fn premium_runs_share_the_browsers_fairly() {
    let bench = bench(&Stage::with(2), 1, 12);
    let large = drawn_only(&bench, "large", 12);
    eventually("the large run has both browsers", || bench.web.open_now() == 2);
    let small = drawn_only(&bench, "small", 3);
    // No page of the large run is drawn before the small one has its place in the queue.
    eventually("the checks of both runs wait", || bench.runs.scheduler.waiting() == 10 + 3);
    let mut pages = 2;
    while !has_ended(&small, Instant::now()) && pages < 40 {
        bench.web.draw(1);
        pages += 1;
        let opened = || order_of(&bench.web, &["large", "small"]).len();
        eventually("the next page is open", || opened() >= pages || small.summary().status.is_terminal());
    }
    let order = order_of(&bench.web, &["large", "small"]);
    let last = order.iter().rposition(|query| query == "small").unwrap();
    let before = order[..last].iter().filter(|query| *query == "large").count();
    // First come, first served would open all twelve pages of the large run first.
    assert!(before <= 7, "{before} pages of the large run came before the small one's third: {order:?}");
    assert!(!large.summary().status.is_terminal());
    bench.web.draw(1000);
    bench.finish(&large);
    assert_eq!(large.summary().coverage.count_of(Outcome::Hit), 12);
}

#[test]
fn the_deadline_begins_when_a_browser_is_free() {
    let bench = bench(&Stage::with(1), 1, 3);
    let first = drawn_only(&bench, "first", 1);
    eventually("the browser is busy", || bench.web.open_now() == 1);
    let deleted = drawn_only(&bench, "deleted", 3);
    let second = drawn_only(&bench, "second", 2);
    eventually("all runs are driven", || bench.runs.load().0 == 3);
    assert!(bench.runs.delete(deleted.id(), bench.account, false, &Origin::CLI).unwrap());
    eventually("the deleted run's driver ends", || bench.runs.load().0 == 2);
    let released = Instant::now();
    bench.web.draw(1000);
    bench.finish(&first);
    bench.finish(&second);
    let opened = bench.web.opened();
    assert!(opened.iter().all(|page| page.query != "deleted"), "{opened:?}");
    let waited: Vec<&Opened> = opened.iter().filter(|page| page.query == "second").collect();
    assert_eq!(waited.len(), 2, "{opened:?}");
    for page in waited {
        assert!(page.deadline >= released + CHECK_TIMEOUT, "{}: its time ran in the queue", page.module);
    }
}

#[test]
fn checks_of_a_dead_browser_fail_with_a_reason() {
    let bench = bench(&Stage::with(2), 3, 4);
    let run = bench.start_order(premium(&bench, "alice"));
    eventually("both browsers are busy", || bench.web.open_now() == 2);
    bench.web.dead.store(true, Ordering::SeqCst);
    bench.web.draw(2);
    bench.finish(&run);
    let summary = run.summary();
    assert_eq!(summary.status, Status::Completed);
    let reports = bench.store.modules(run.id()).unwrap();
    let failed: Vec<_> = reports.iter().filter(|report| report.module.starts_with("drawn")).collect();
    let died = failed.iter().filter(|report| report.reason.map(Reason::as_str) == Some("browser")).count();
    assert!(died >= 2, "{failed:?}");
    assert_eq!(
        (
            summary.coverage.count_of(Outcome::Hit) + summary.coverage.count_of(Outcome::Error),
            summary.coverage.checked
        ),
        (7, 7)
    );
    assert_eq!(summary.coverage.count_of(Outcome::Error) as usize, died, "{failed:?}");
}

#[test]
fn a_premium_run_resumed_without_browsers_skips_browser_modules() {
    let bench = bench(&Stage::with(1), 2, 3);
    let run = bench.start_order(premium(&bench, "alice"));
    eventually("the browser is busy, and all else is done", || {
        bench.web.open_now() == 1 && run.summary().progress.modules_completed == 2
    });
    bench.runs.shut_down(Instant::now() + PATIENCE);
    let other = bench.another_process(&bench.web);
    eventually("the run ends elsewhere", || {
        other.dispatch();
        let found = bench.store.run(run.id(), bench.account).unwrap().unwrap();
        found.status.is_terminal()
    });
    let found = bench.store.run(run.id(), bench.account).unwrap().unwrap();
    let reports = bench.store.modules(run.id()).unwrap();
    let drawn = reports.iter().filter(|report| report.module.starts_with("drawn"));
    let ends: Vec<_> = drawn.map(|it| (it.status.to_string(), it.reason.map(Reason::as_str))).collect();
    assert_eq!(ends, vec![("skipped".to_owned(), Some("unavailable")); 3]);
    assert_eq!((found.status, bench.web.opened().len()), (Status::Completed, 1));
    // The open page is abandoned, and its worker ends with the process.
    bench.web.draw(1);
    other.shut_down(Instant::now() + PATIENCE);
}

#[test]
fn without_a_browser_no_premium_run_starts_but_a_repeated_one_is_found() {
    for database in databases() {
        let stage = Stage::with(1);
        let bench = bench_on(&database.url, Folder::new(), &stage, 1, 1);
        let keyed = |query: &str| {
            let idempotency = Idempotency { key: "k".into(), body_hash: [7; 32], at: SystemClock.now() };
            NewRun { idempotency: Some(idempotency), ..premium(&bench, query) }
        };
        let used = || bench.store.credits_used(&[(bench.account, bench.order("x").charge.cycle)]).unwrap()[0];
        stage.draw(1000);
        let run = bench.start_order(keyed("alice"));
        bench.finish(&run);
        assert_eq!(used(), 1);
        stage.dead.store(true, Ordering::SeqCst);
        eventually("the browser is known to be dead", || !bench.runs.browsers.is_available());
        assert!(
            matches!(bench.runs.start(premium(&bench, "bob")), Err(refusal) if refusal.code == Code::PremiumUnavailable)
        );
        assert!(matches!(bench.runs.start(keyed("alice")), Ok(StartResult::Repeated(id)) if id == run.id()));
        assert_eq!(used(), 1);
        bench.finish(&bench.start("carol"));
        let add = || {
            let rows = vec![(1, premium(&bench, "erin").search)];
            bench.runs.create_batch(bench.account, None, rows, None, &Origin::CLI).unwrap()
        };
        let row = |batch| bench.store.batch_rows(batch, 0, 1).unwrap().remove(0);
        let (batch, charge) = (add(), premium(&bench, "erin").charge);
        bench.runs.feed_batches();
        assert_eq!(row(batch).status, "pending", "it waits for a browser");
        stage.dead.store(false, Ordering::SeqCst);
        eventually("the browser is back", || bench.runs.browsers.is_available());
        bench.runs.feed_batches();
        eventually("the row is searched", || row(batch).status == "completed");
        let (batch, unpaid) = (add(), Box::new(move |_| Ok(Some((charge, false)))));
        bench.another_process_with(runs::config(), unpaid).feed_batches();
        assert_eq!(row(batch).reason, Some(RowRefusal::PlanRequired));
        bench.finish(&bench.start_order(premium(&bench, "dave")));
    }
}
