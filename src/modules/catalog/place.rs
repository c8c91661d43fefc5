//! Line numbers of entries in a file, and of fields in an entry.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// Computes the line numbers of successive positions while reading the text only once.
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// Returns the line number of a piece of the text. The piece must not start before the previous one.
    pub(super) fn of(&mut self, piece: &str) -> usize {
        let to = offset(self.text, piece).max(self.at);
        self.line +=
            memchr::memchr_iter(b'\n', self.text.as_bytes().get(self.at..to).unwrap_or_default()).count();
        self.at = to;
        self.line
    }
}

/// Returns the offset of `piece` in `text`, of which it is a slice.
fn offset(text: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Returns the number of lines between the first line of the entry and the field at `path` (such as
/// `probes[0].url`). If the path leads nowhere, the deepest existing part of it counts.
pub(super) fn lines_down(entry: &str, path: &str) -> usize {
    let (mut value, mut path) = (entry, path);
    while let Some((part, rest)) = step(value, path) {
        (value, path) = (part, rest);
    }
    memchr::memchr_iter(b'\n', &entry.as_bytes()[..offset(entry, value)]).count()
}

/// Returns the part of `value` that the beginning of `path` names, and the rest of the path.
fn step<'v, 'p>(value: &'v str, path: &'p str) -> Option<(&'v str, &'p str)> {
    if let Some(rest) = path.strip_prefix('[') {
        let (index, rest) = rest.split_once(']')?;
        let elements: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        return Some((elements.get(index.parse::<usize>().ok()?)?.get(), rest));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return None;
    }
    let members: HashMap<String, &RawValue> = serde_json::from_str(value).ok()?;
    // A name may contain dots and brackets itself, so the longest matching name is used.
    let fits = |name: &&String| {
        path.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let name = members.keys().filter(fits).max_by_key(|name| name.len())?;
    Some((members.get(name)?.get(), &path[name.len()..]))
}
