//! A collection of findings without duplicates.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use crate::modules::definition::ResultType;

/// A finding: its type, value and metadata.
pub(super) type Found = (ResultType, String, Map<String, Value>);

/// The identity of a finding: its type, its value, and the metadata members that identify it.
type Identity = (ResultType, String, Vec<Option<String>>);

/// A list of findings without those of equal type, value and identifying members. It only removes plain
/// repetitions. The run decides whether two differently written values are the same entity.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    found: Vec<Found>,
    places: BTreeMap<Identity, usize>,
}

impl Distinct {
    /// Adds a finding. If an equal one exists, only the metadata that it lacks is added to it.
    pub(super) fn add(&mut self, (result_type, value, metadata): Found) {
        match self.places.entry(identity(result_type, &value, &metadata)) {
            Entry::Vacant(place) => {
                place.insert(self.found.len());
                self.found.push((result_type, value, metadata));
            }
            Entry::Occupied(place) => {
                let known = &mut self.found[*place.get()].2;
                for (name, value) in metadata {
                    known.entry(name).or_insert(value);
                }
            }
        }
    }

    /// Returns whether it contains an equal finding.
    pub(super) fn has(&self, (result_type, value, metadata): &Found) -> bool {
        self.places.contains_key(&identity(*result_type, value, metadata))
    }

    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    pub(super) fn into_found(self) -> impl Iterator<Item = Found> {
        self.found.into_iter()
    }
}

fn identity(result_type: ResultType, value: &str, metadata: &Map<String, Value>) -> Identity {
    let members = result_type.identifying().iter();
    let members = members.map(|name| metadata.get(*name).map(Value::to_string)).collect();
    (result_type, value.to_owned(), members)
}
