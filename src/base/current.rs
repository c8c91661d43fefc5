//! [`Current`]: a shared value that is replaced as a whole.

use std::sync::Arc;

use parking_lot::RwLock;

/// A shared value that is replaced as a whole. A reader keeps the value that it got, also after a replacement.
#[derive(Debug, Default)]
pub struct Current<T>(RwLock<Arc<T>>);

impl<T> Current<T> {
    /// Creates the holder of a first value.
    pub fn new(value: Arc<T>) -> Self {
        Self(RwLock::new(value))
    }

    /// Replaces the value.
    pub fn set(&self, value: Arc<T>) {
        *self.0.write() = value;
    }

    /// Returns the value that is valid now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read())
    }
}
