//! The operator's keys for services that need one (`{config.NAME}`).

use std::collections::BTreeMap;

use crate::base::secret::Secret;

/// The keys by name, without the prefix `config.`. They are never printed.
#[derive(Debug, Clone, Default)]
pub struct OperatorKeys {
    keys: BTreeMap<String, Secret<String>>,
}

impl OperatorKeys {
    /// Creates the keys from pairs of name and value. An empty value counts as no key.
    pub fn new(keys: impl IntoIterator<Item = (String, String)>) -> Self {
        let keys = keys
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, Secret::new(value)));
        Self { keys: keys.collect() }
    }

    /// Returns the key with that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.keys.get(name).map(|key| key.expose().as_str())
    }
}
