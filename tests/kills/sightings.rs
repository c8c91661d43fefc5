//! The results that readers have seen of all runs: what one reader saw, every later one must see.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// The results that readers have seen of one run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// The members of each result that never change, by its id.
    pub(crate) results: BTreeMap<u64, Value>,
    /// The terminal status and the number of results.
    pub(crate) end: Option<(String, u64)>,
}

/// The seen results by run id. A contradiction fails the test.
#[derive(Default)]
pub(crate) struct Sightings(Mutex<HashMap<String, Seen>>);

impl Sightings {
    /// Returns what readers have seen of a run so far.
    pub(crate) fn of(&self, run: &str) -> Seen {
        self.0.lock().get(run).cloned().unwrap_or_default()
    }

    pub(crate) fn results(&self) -> usize {
        self.0.lock().values().map(|seen| seen.results.len()).sum()
    }

    /// Records a result that a reader saw.
    pub(crate) fn result(&self, run: &str, result: &Value) {
        let (id, lasting) = (result["id"].as_u64().unwrap(), lasting(result));
        let mut all = self.0.lock();
        let seen = all.entry(run.to_owned()).or_default();
        if let Some((_, total)) = seen.end {
            assert!(id <= total, "run {run} ended with {total} results: {result}");
        }
        let before = seen.results.entry(id).or_insert_with(|| lasting.clone());
        assert_eq!(*before, lasting, "id {id} of run {run} came to mean something else");
    }

    /// Records all results of a run so far; `before` is what readers had seen when the request was sent.
    pub(crate) fn whole(&self, run: &str, shown: &Value, before: &Seen) {
        let results = shown["results"].as_array().unwrap();
        results.iter().for_each(|result| self.result(run, result));
        let ids: Vec<u64> = results.iter().map(|result| result["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "run {run}");
        assert_eq!(shown["total_results"], ids.len(), "run {run}");
        let newest = before.results.keys().next_back().copied().unwrap_or(0);
        assert!(ids.len() as u64 >= newest, "run {run}: result {newest} had been seen: {shown}");
        self.status(run, shown, before);
    }

    /// Records a status, with the number of results if it is terminal.
    pub(crate) fn status(&self, run: &str, shown: &Value, before: &Seen) {
        let status = shown["status"].as_str().unwrap();
        if status == "running" {
            assert_eq!(before.end, None, "run {run} had ended");
            return;
        }
        let end = (status.to_owned(), shown["total_results"].as_u64().unwrap());
        let mut all = self.0.lock();
        let seen = all.entry(run.to_owned()).or_default();
        let known = seen.end.get_or_insert_with(|| end.clone());
        assert_eq!(*known, end, "run {run} ended in two ways");
        let newest = seen.results.keys().next_back().copied().unwrap_or(0);
        assert!(newest <= end.1, "run {run} ended with {} results, and {newest} were seen", end.1);
    }
}

/// Returns the members of a result that never change: sources, and what they add, may grow.
fn lasting(result: &Value) -> Value {
    json!(["type", "entity_type", "platform", "value", "source", "created_at"].map(|field| &result[field]))
}

impl Seen {
    /// Returns the values of the results, each once.
    pub(crate) fn values(&self) -> BTreeSet<String> {
        let values = self.results.values().map(|lasting| lasting[3].as_str().unwrap().to_owned());
        let distinct: BTreeSet<String> = values.collect();
        assert_eq!(distinct.len(), self.results.len(), "a result is there twice: {:?}", self.results);
        distinct
    }
}
