//! Hostile text from sites and callers, and how it is read back.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use sightline::model::account::Account;
use sightline::model::audit::Origin;
use sightline::model::drive::{Delta, Ending, Write};
use sightline::model::run::{ModuleReport, ResultRecord, RunError};
use sightline::model::start::NewRun;
use sightline::modules::query::SearchType;

use super::{Fixture, added, both_ended, failed, new_account, result, search};

fn metadata(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("no object") };
    map
}

impl Fixture {
    /// Stores a record and returns what is read back.
    fn stored(&self, record: &ResultRecord) -> ResultRecord {
        let run = self.started();
        self.save(&run, &added(std::slice::from_ref(record)));
        self.store.results(run.id, 0, 10).unwrap().pop().unwrap()
    }
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(
        json!("core"),
        |inner, level| {
            if level % 2 == 0 { json!([inner]) } else { json!({ "in": inner }) }
        },
    )
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no NaN", |n| n.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_result() -> impl Strategy<Value = ResultRecord> {
    let metadata = prop::collection::vec((any::<String>(), any_json()), 0..5);
    (any::<String>(), any::<Option<String>>(), any::<Option<String>>(), 0.0..=1.0f64, metadata).prop_map(
        |(source, platform, value, confidence, members)| ResultRecord {
            source,
            platform,
            value,
            confidence,
            metadata: members.into_iter().collect(),
            ..result(1, "")
        },
    )
}

on_both! {
    fn any_result_is_read_back_as_it_was_stored(f) {
        let run = f.started();
        let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
        let id = std::cell::Cell::new(0);
        runner.run(&any_result(), |mut record| {
            id.set(id.get() + 1);
            record.id = id.get();
            // Makes each record a result of its own.
            match &mut record.value {
                Some(value) => value.push_str(&record.id.to_string()),
                None => record.source.push_str(&record.id.to_string()),
            }
            f.save(&run, &added(std::slice::from_ref(&record)));
            let stored = f.store.results(run.id, record.id - 1, 1).unwrap();
            // Equal, and with the members in the same order.
            prop_assert_eq!(format!("{:?}", stored), format!("{:?}", [record]));
            Ok(())
        }).unwrap();
    }

    fn odd_characters_and_huge_metadata_of_a_site_are_kept(f) {
        let odd = "a\0b\u{1}\u{7f}\u{FFFE}\u{202E}💥e\u{301}'\";--\\u0000 \r\n";
        let record = ResultRecord {
            platform: Some(odd.into()),
            source: odd.into(),
            metadata: metadata(json!({ odd: [odd, { "deep": odd }] })),
            ..result(1, odd)
        };
        assert_eq!(f.stored(&record), record);
        let huge = ResultRecord {
            metadata: metadata(json!({ "page": "ü\0".repeat(2_000_000), "list": vec!["x"; 100_000] })),
            ..result(1, "a")
        };
        assert_eq!(f.stored(&huge), huge);
        for confidence in [f64::NAN, f64::INFINITY] {
            let stored = f.stored(&ResultRecord { confidence, ..result(1, "a") });
            assert_eq!(stored, ResultRecord { confidence: 0.0, ..result(1, "a") });
        }
    }

    fn nul_in_reports_and_errors_is_kept(f) {
        let run = f.started();
        let report = ModuleReport { platform: "a\0b".into(), ..both_ended().reports[0].clone() };
        let last = Delta { reports: vec![report], ..both_ended() };
        let error = RunError { code: "internal_error".into(), message: "a\0b 💥".into() };
        let ending = Ending { error: Some(error.clone()), ..failed() };
        assert_eq!(f.store.finish(run.id, f.me.lease(0), &last, &ending).unwrap(), Write::Done);
        assert_eq!(f.store.modules(run.id).unwrap(), last.reports);
        assert_eq!(f.summary(&run).error, Some(error));
    }

    fn nul_in_a_plain_text_is_replaced(f) {
        let account = Account { email: "a\0b@example.com".into(), ..new_account("") };
        assert!(f.store.add_account(&account, &Origin::CLI).unwrap());
        let stored = f.store.account(account.id).unwrap().unwrap();
        assert_eq!(stored.email, "a\u{FFFD}b@example.com");
        assert_eq!(f.store.account_by_email("a\0b@example.com").unwrap(), Some(stored));
        let run = NewRun { search: search("x\0"), modules: vec!["m\0".into()], ..f.new_run() };
        let run = f.start(super::with_key(run, "k\0", 1));
        assert_eq!(f.summary(&run).query, "x\u{FFFD}");
    }

    fn a_query_comes_back_to_the_letter(f) {
        for query in ["İstanbul", "e\u{301}", " \t@x\n", "'; DROP TABLE runs; --", "🏳️‍🌈", "\u{202E}abc"] {
            assert_eq!(f.summary(&f.started_for(SearchType::Username, query)).query, query);
        }
    }

    fn five_hundred_results_and_reports_fit_in_one_write(f) {
        let run = f.started();
        let all: Vec<_> = (1..=500).map(|id| result(id, &format!("https://example.com/{id}"))).collect();
        f.save(&run, &added(&all));
        let report = both_ended().reports[1].clone();
        let modules: Vec<_> =
            (0..500).map(|n| ModuleReport { module: format!("module-{n}"), ..report.clone() }).collect();
        let last = Delta { reports: modules.clone(), ..both_ended() };
        f.store.finish(run.id, f.me.lease(0), &last, &super::completed()).unwrap();
        assert_eq!(f.store.results(run.id, 0, 1000).unwrap(), all);
        assert_eq!(f.store.modules(run.id).unwrap(), modules);
    }

    fn values_that_nest_too_deep_become_text_and_stay_readable(f) {
        let fits = ResultRecord { metadata: metadata(json!({ "a": nested(64) })), ..result(1, "a") };
        assert_eq!(f.stored(&fits), fits);
        for levels in [65, 127, 128, 300] {
            let deep = ResultRecord { metadata: metadata(json!({ "a": nested(levels), "b": 1 })), ..result(1, "a") };
            let stored = f.stored(&deep);
            assert_eq!(stored.metadata["b"], 1);
            let mut inner = &stored.metadata["a"];
            while let Some(next) = inner.get(0).or_else(|| inner.get("in")) {
                inner = next;
            }
            let text = inner.as_str().unwrap();
            assert_eq!(text, nested(levels - 64).to_string());
        }
    }
}
