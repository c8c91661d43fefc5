//! The operator's keys for services that want one (`{config.NAME}`).

use std::collections::BTreeMap;

use crate::base::secret::Secret;

/// Keys by name, without the `config.` in front. Never printed.
#[derive(Debug, Clone, Default)]
pub struct OperatorKeys {
    keys: BTreeMap<String, Secret<String>>,
}

impl OperatorKeys {
    /// Keys from names and values; an empty value counts as none.
    pub fn new(keys: impl IntoIterator<Item = (String, String)>) -> Self {
        let keys = keys
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, Secret::new(value)));
        Self { keys: keys.collect() }
    }

    /// Whether there is a key of that name.
    pub fn has(&self, name: &str) -> bool {
        self.keys.contains_key(name)
    }

    /// The key of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.keys.get(name).map(|key| key.expose().as_str())
    }
}
