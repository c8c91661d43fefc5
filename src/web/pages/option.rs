//! The options of a select field.

/// An option of a select field.
#[derive(Debug, Clone)]
pub(super) struct FormOption {
    pub(super) value: &'static str,
    pub(super) label: &'static str,
    pub(super) is_chosen: bool,
}

impl FormOption {
    pub(super) fn new(value: &'static str, label: &'static str, is_chosen: bool) -> Self {
        Self { value, label, is_chosen }
    }
}
