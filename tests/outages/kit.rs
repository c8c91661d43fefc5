//! The scenario that all tests share: a search runs while the database fails, each time in another way.

use serde_json::{Value, json};

use crate::support::held_site::Site;
use crate::support::server::{Answer, Server, Setup};
use crate::support::{awaited, eventually};

/// Sites that answer before the database fails, and while it is unavailable.
pub(super) const BEFORE: usize = 5;
pub(super) const DURING: usize = 20;

/// A server with a search that is partly done, and its account.
pub(super) struct Scene {
    pub(super) server: Server,
    pub(super) site: Site,
    pub(super) key: String,
    pub(super) run: String,
    found_before: Vec<Value>,
}

impl Scene {
    /// Starts a server on that database.
    pub(super) fn on(database: &str) -> Self {
        Self::with(|setup| setup.database(database))
    }

    pub(super) fn with(change: impl FnOnce(Setup) -> Setup) -> Self {
        let site = Site::start();
        let setup = Setup::real().flags(&site.flags(BEFORE, DURING));
        let server = change(setup).start();
        let key = server.new_key("pro");
        let run = started(&search(&server, &key, "alice"));
        let scene = Self { server, site, key, run, found_before: Vec::new() };
        eventually("the first sites are found and shown", || scene.results().len() == BEFORE);
        eventually("the others are asked", || scene.site.asked_by("alice") == BEFORE + DURING);
        Self { found_before: scene.results(), ..scene }
    }

    fn results(&self) -> Vec<Value> {
        let answer = self.get(&format!("/v1/searches/{}", self.run));
        answer.json()["results"].as_array().cloned().unwrap_or_default()
    }

    /// Sends a request of the account. The failure lasts until the answer comes, so that a request without a limit of its
    /// time would wait in vain.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.server.request("GET", path).key(&self.key).send()
    }

    /// Checks what the service does while the database has failed, and `mend`s it.
    pub(super) fn survives(&self, mend: impl FnOnce()) {
        self.is_out();
        self.finds_the_rest();
        mend();
        self.recovers();
    }

    /// Checks what the service does while the database can only be read, and `mend`s it.
    pub(super) fn survives_readably(&self, mend: impl FnOnce()) {
        self.refuses_writes();
        self.finds_the_rest();
        assert_eq!(self.get("/v1/credits").json()["credits_used"], 1, "reading goes on");
        mend();
        self.recovers();
    }

    /// Checks a failed database: health reports it, requests are refused with a `Retry-After`.
    pub(super) fn is_out(&self) {
        eventually("health is degraded", || self.health()["status"] == "degraded");
        assert_eq!(self.health()["database"], "unavailable");
        self.refuses_writes();
        let refused = self.get("/v1/credits");
        is_refused(&refused);
        // Logged once with its reason, under the request id that the client got.
        let (id, log) = (refused.header("x-request-id").unwrap(), self.server.log());
        let told = log.lines().filter(|line| line.contains(id) && line.contains("answers 503"));
        let told: Vec<&str> = told.collect();
        assert!(matches!(told[..], [line] if line.contains("the store is unavailable")), "{told:?}");
        is_refused(&self.get("/v1/searches"));
        assert_eq!(self.server.request("GET", "/v1/capabilities").send().status, 200, "it needs no database");
        assert_eq!(self.health()["status"], "degraded");
    }

    fn refuses_writes(&self) {
        for name in ["bob", "carol"] {
            is_refused(&search(&self.server, &self.key, name));
        }
        eventually("health is degraded", || self.health()["status"] == "degraded");
    }

    pub(super) fn health(&self) -> Value {
        self.server.request("GET", "/v1/health").send().json()
    }

    /// Lets the other sites answer while the database is unavailable.
    fn finds_the_rest(&self) {
        self.site.open_all();
        eventually("every check has ended", || self.server.figure("sightline_check_workers_busy") == 0.0);
        // Results are not shown before they are stored.
        let shown = self.server.request("GET", &format!("/v1/searches/{}", self.run)).key(&self.key).send();
        if shown.status == 200 {
            let run = shown.json();
            assert_eq!(run["status"], "running");
            assert_eq!(run["total_results"].as_u64(), Some(BEFORE as u64));
        }
    }

    /// Checks a database that is back: everything is stored once, and the refused searches cost nothing.
    pub(super) fn recovers(&self) {
        eventually("health is good again", || self.health()["status"] == "ok");
        let run = ended(&self.server, &self.key, &self.run);
        assert_eq!((&run["status"], &run["error"]), (&json!("completed"), &Value::Null), "{run}");
        let results = run["results"].as_array().unwrap();
        assert_eq!(results[..BEFORE], self.found_before, "results keep their ids");
        let ids: Vec<u64> = results.iter().map(|result| result["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (1..=(BEFORE + DURING) as u64).collect::<Vec<_>>());
        assert_eq!(self.site.asked_again("alice"), [] as [String; 0], "a site was asked twice");
        assert_eq!(self.get("/v1/credits").json()["credits_used"], 1, "one search was taken on");
        // New searches work as before.
        let run = ended(&self.server, &self.key, &started(&search(&self.server, &self.key, "dave")));
        assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(BEFORE + DURING)));
    }
}

pub(super) fn search(server: &Server, key: &str, name: &str) -> Answer {
    server.request("POST", "/v1/searches").key(key).json(&json!({"type": "username", "query": name})).send()
}

pub(super) fn started(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

pub(super) fn is_refused(answer: &Answer) {
    answer.is_error(503, "unavailable");
    let seconds = answer.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds > 0), "{answer}");
}

/// Polls a run to its end, through refusals.
pub(super) fn ended(server: &Server, key: &str, run: &str) -> Value {
    awaited("the run ends", || {
        let answer = server.request("GET", &format!("/v1/searches/{run}")).key(key).send();
        let is_over = answer.status == 200 && answer.json()["status"] != "running";
        if is_over { Ok(answer.json()) } else { Err(answer) }
    })
}

/// Inconsistencies that a database must never have, on both backends: each query counts them.
const FAULTS: [(&str, &str); 6] = [
    (
        "runs without a charge",
        "SELECT count(*) FROM runs r WHERE NOT EXISTS \
         (SELECT 1 FROM charges c WHERE c.run = r.id AND c.kind = 'charge')",
    ),
    (
        "failed runs without a refund, or others with one",
        "SELECT count(*) FROM runs r WHERE (r.status = 'failed') <> EXISTS \
         (SELECT 1 FROM charges c WHERE c.run = r.id AND c.kind = 'refund')",
    ),
    (
        "runs that say another price than their charge and refund",
        "SELECT count(*) FROM runs r WHERE r.credits_charged <> \
         (SELECT sum(CASE c.kind WHEN 'charge' THEN c.credits ELSE -c.credits END) FROM charges c \
          WHERE c.run = r.id)",
    ),
    (
        "cycles that count another use than their charges and refunds",
        "SELECT count(*) FROM credit_usage u WHERE u.used <> \
         (SELECT coalesce(sum(CASE c.kind WHEN 'charge' THEN c.credits ELSE -c.credits END), 0) FROM charges c \
          WHERE c.account = u.account AND c.cycle_start = u.cycle_start)",
    ),
    (
        "runs with gaps in the ids of their results",
        "SELECT count(*) FROM (SELECT run FROM results GROUP BY run HAVING max(id) <> count(*)) AS gaps",
    ),
    (
        "runs that count another number of results",
        "SELECT count(*) FROM runs r WHERE r.total_results <> \
         (SELECT count(*) FROM results x WHERE x.run = r.id)",
    ),
];

/// Runs all queries, for a database from which no run was deleted.
pub(crate) fn has_no_faults(mut count: impl FnMut(&str) -> i64) {
    let alone = "SELECT count(*) FROM charges c WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = c.run)";
    assert_eq!(count(alone), 0, "charges without a run");
    has_no_faults_but_deleted_runs(count);
}

pub(crate) fn has_no_faults_but_deleted_runs(mut count: impl FnMut(&str) -> i64) {
    for (what, sql) in FAULTS {
        assert_eq!(count(sql), 0, "{what}");
    }
}
