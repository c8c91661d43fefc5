//! Catalogue bundles: the one with the greatest serial is in use, and the ones before it are kept.

use jiff::Timestamp;
use sightline::model::audit::{AuditFilter, Origin};
use sightline::model::bundle::{AddedBundle, KEPT_BUNDLES, StoredBundle};

use super::at;

fn bundle(serial: u64, text: &str) -> StoredBundle {
    StoredBundle {
        serial,
        created_at: at("2026-03-01T12:00:00Z"),
        stored_at: at("2026-03-02T12:00:00.123Z"),
        text: text.to_owned(),
    }
}

fn moment() -> Timestamp {
    at("2026-03-03T12:00:00Z")
}

on_both! {
    fn the_newest_bundle_is_in_use_on_all_instances(f) {
        let (store, other) = (&f.store, f.another());
        assert_eq!((store.bundle().unwrap(), store.bundle_version().unwrap()), (None, None));
        assert_eq!(store.remove_bundle(moment(), &Origin::CLI).unwrap(), None);
        let first = bundle(10, "first");
        assert_eq!(store.add_bundle(&first, &Origin::CLI).unwrap(), AddedBundle::Added);
        assert_eq!(other.bundle().unwrap().as_ref(), Some(&first));
        assert_eq!(other.bundle_version().unwrap(), Some((10, first.stored_at)));
        assert_eq!(other.add_bundle(&first, &Origin::CLI).unwrap(), AddedBundle::InUse);
        assert_eq!(other.add_bundle(&bundle(10, "other"), &Origin::CLI).unwrap(), AddedBundle::SameSerial);
        assert_eq!(other.add_bundle(&bundle(9, "older"), &Origin::CLI).unwrap(), AddedBundle::Older(10));
        assert_eq!(store.bundle().unwrap(), Some(first));
    }

    fn rolling_back_returns_to_the_bundle_before_and_to_none(f) {
        let (store, other) = (&f.store, f.another());
        let last = KEPT_BUNDLES as u64 + 1;
        for serial in 1..=last {
            let added = store.add_bundle(&bundle(serial, "text"), &Origin::CLI).unwrap();
            assert_eq!(added, AddedBundle::Added);
        }
        for serial in (2..=last).rev() {
            assert_eq!(store.bundle_version().unwrap().map(|(serial, _)| serial), Some(serial));
            assert_eq!(other.remove_bundle(moment(), &Origin::CLI).unwrap(), Some(serial));
        }
        assert_eq!(store.bundle_version().unwrap(), None, "only so many are kept");
        // After going back, the removed serial is allowed again.
        assert_eq!(store.add_bundle(&bundle(last, "again"), &Origin::CLI).unwrap(), AddedBundle::Added);
        let noted = store.audit(&AuditFilter::default(), 100).unwrap();
        let of = |action: &str| -> Vec<u64> {
            let found = noted.iter().filter(|entry| entry.action == action);
            found.map(|entry| entry.detail["serial"].as_u64().unwrap()).collect()
        };
        assert_eq!(of("catalog.updated"), (1..=last).chain([last]).collect::<Vec<_>>());
        assert_eq!(of("catalog.rolled_back"), (2..=last).rev().collect::<Vec<_>>());
    }
}
