//! The headers of a probe.

use crate::modules::definition::ProbeEntry;
use crate::modules::mistake::Mistakes;
use crate::modules::probe::OF_THE_CONNECTION;
use crate::modules::scope::Scope;
use crate::modules::template::{FillError, Kind, Template, Values};

/// Returns whether an entry cannot set a header, because the program does. `name` is in lower case.
pub(crate) fn is_reserved(name: &str) -> bool {
    OF_THE_CONNECTION.contains(&name) || name == "accept-encoding"
}

/// Compiles the headers of a probe. The case of their names is kept.
pub(super) fn compile(entry: &ProbeEntry, scope: &Scope, mistakes: &mut Mistakes) -> Vec<(String, Template)> {
    let mut seen: Vec<String> = Vec::new();
    mistakes.field("headers", |mistakes| {
        let headers = entry.headers.iter().filter_map(|(name, text)| {
            let lower = name.to_ascii_lowercase();
            if is_reserved(&lower) {
                mistakes.add(format!("`{name}` is set by the program"));
            }
            if seen.contains(&lower) {
                mistakes.add(format!("`{name}` is repeated; case does not matter"));
            }
            seen.push(lower);
            mistakes.field(name, |mistakes| {
                let template = scope.template(text, Kind::Header, mistakes)?;
                if template.texts().any(|text| text.chars().any(|c| c.is_control() || !c.is_ascii())) {
                    mistakes.add("a header value may contain only printable ASCII");
                }
                Some((name.clone(), template))
            })
        });
        headers.collect()
    })
}

/// Returns the filled headers, without those that contain a missing optional key.
pub(super) fn fill(
    headers: &[(String, Template)],
    values: &Values<'_>,
) -> Result<Vec<(String, String)>, FillError> {
    let mut filled = Vec::with_capacity(headers.len() + 2);
    for (name, template) in headers {
        match template.fill(values) {
            Ok(value) => filled.push((name.clone(), value)),
            Err(FillError::LeftOut) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
