//! JSON pointers (RFC 6901) with one extension: the segment `*` selects every element or member.

use serde_json::Value;

use super::definition::text::entry_text;

/// The most values that a pointer selects.
const MAX_SELECTED: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    Every,
}

/// A compiled JSON pointer.
#[derive(Debug, Clone, Default)]
pub struct Pointer {
    text: String,
    segments: Vec<Segment>,
}

entry_text!(Pointer, text, Pointer::parse);

/// A selected value, with its member name or index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected<'v> {
    pub(crate) value: &'v Value,
    pub(crate) key: Key<'v>,
}

/// The member name or index of a selected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key<'v> {
    Root,
    Member(&'v str),
    Index(usize),
}

impl Pointer {
    /// Parses a pointer. The error is a message that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self { text: String::new(), segments: Vec::new() });
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(format!("the JSON pointer `{text}` must be empty or begin with `/`"));
        };
        if text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            return Err(format!(
                "the JSON pointer `{text}` contains a lone `~`; write `~0` for `~` and `~1` for `/`"
            ));
        }
        let segments = rest.split('/').map(|segment| match segment {
            "*" => Segment::Every,
            name => Segment::Name(name.replace("~1", "/").replace("~0", "~")),
        });
        Ok(Self { text: text.to_owned(), segments: segments.collect() })
    }

    /// Returns whether the pointer can select several values.
    pub(crate) fn is_plural(&self) -> bool {
        self.segments.contains(&Segment::Every)
    }

    /// Returns the selected values in document order, at most 10,000.
    pub(crate) fn select<'v>(&self, root: &'v Value) -> Vec<Selected<'v>> {
        self.select_known(root).0
    }

    /// Returns the selected values like [`Pointer::select`], and whether the limit did not cut them off.
    pub(crate) fn select_known<'v>(&self, root: &'v Value) -> (Vec<Selected<'v>>, bool) {
        let mut found = vec![Selected { value: root, key: Key::Root }];
        let mut is_whole = true;
        for segment in &self.segments {
            let mut next = Vec::new();
            for selected in &found {
                step(selected.value, segment, &mut next);
                if next.len() >= MAX_SELECTED {
                    next.truncate(MAX_SELECTED);
                    is_whole = false;
                    break;
                }
            }
            found = next;
        }
        (found, is_whole)
    }
}

fn step<'v>(value: &'v Value, segment: &Segment, out: &mut Vec<Selected<'v>>) {
    match (value, segment) {
        (Value::Array(elements), Segment::Every) => {
            let elements = elements.iter().enumerate().take(MAX_SELECTED);
            out.extend(elements.map(|(index, value)| Selected { value, key: Key::Index(index) }));
        }
        (Value::Object(members), Segment::Every) => {
            let members = members.iter().take(MAX_SELECTED);
            out.extend(members.map(|(name, value)| Selected { value, key: Key::Member(name) }));
        }
        (Value::Array(elements), Segment::Name(name)) => {
            // RFC 6901, section 4: an index has no leading zeros and no sign.
            let index = name.parse().ok().filter(|index: &usize| index.to_string() == *name);
            let element = |index| Some(Selected { value: elements.get(index)?, key: Key::Index(index) });
            out.extend(index.and_then(element));
        }
        (Value::Object(members), Segment::Name(name)) => {
            let member = members.get_key_value(name);
            out.extend(member.map(|(name, value)| Selected { value, key: Key::Member(name) }));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn select(pointer: &str, root: &Value) -> Vec<Value> {
        Pointer::parse(pointer).unwrap().select(root).iter().map(|found| found.value.clone()).collect()
    }

    #[test]
    fn pointers_follow_rfc_6901_and_the_star() {
        let root =
            json!({"a": [{"b": 1}, {"b": null}, 7], "": 0, "x/y~z": 5, "o": {"p": {"q": 1}, "r": {"q": 2}}});
        for (pointer, want) in [
            ("", vec![root.clone()]),
            ("/", vec![json!(0)]),
            ("/x~1y~0z", vec![json!(5)]),
            ("/a/0/b", vec![json!(1)]),
            ("/a/00/b", vec![]),
            ("/a/+1", vec![]),
            ("/a/*/b", vec![json!(1), json!(null)]),
            ("/o/*/q", vec![json!(1), json!(2)]),
            ("/a/9", vec![]),
        ] {
            assert_eq!(select(pointer, &root), want, "{pointer}");
        }
        let keys = Pointer::parse("/o/*").unwrap();
        assert_eq!(keys.select(&root)[1].key, Key::Member("r"));
    }

    proptest! {
        #[test]
        fn a_pointer_without_a_star_finds_what_serde_json_finds(path in "(/[a-c0-2~]{0,2}(~0|~1)?){0,4}") {
            let root = json!({"a": {"b": [1, {"c": 2}]}, "0": ["x", ["y"]], "": {"": 1}, "a~": 3, "b/": 4});
            if let Ok(pointer) = Pointer::parse(&path) {
                let found = pointer.select(&root);
                prop_assert_eq!(found.first().map(|found| found.value), root.pointer(&path));
            }
        }
    }
}
