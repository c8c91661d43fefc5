//! URLs with keys that may be missing. The parameter of a missing key is omitted as a whole.

use super::place::FillError;
use super::slot::{Part, Values, write_parts};

/// Writes a URL without those query parameters that contain a missing optional key.
pub(super) fn write_url(parts: &[Part], values: &Values<'_>, out: &mut String) -> Result<(), FillError> {
    let (front, parameters) = split(parts);
    write_parts(&front, values, out)?;
    let mut separator = '?';
    for parameter in parameters {
        let before = out.len();
        out.push(separator);
        match write_parts(&parameter, values, out) {
            Ok(()) => separator = '&',
            Err(FillError::LeftOut) => out.truncate(before),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the parts before the query, and the parameters of the query. Values are escaped, so only the
/// template's own text contains separators.
fn split(parts: &[Part]) -> (Vec<Part>, Vec<Vec<Part>>) {
    let mut front = Vec::new();
    let mut parameters: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let Part::Text(text) = part else {
            parameters.last_mut().unwrap_or(&mut front).push(part.clone());
            continue;
        };
        let mut rest = text.as_str();
        if parameters.is_empty() {
            let (before, query) = match rest.split_once('?') {
                Some((before, query)) => (before, Some(query)),
                None => (rest, None),
            };
            front.push(Part::Text(before.to_owned()));
            let Some(query) = query else { continue };
            parameters.push(Vec::new());
            rest = query;
        }
        for (index, piece) in rest.split('&').enumerate() {
            if index > 0 {
                parameters.push(Vec::new());
            }
            if let Some(parameter) = parameters.last_mut().filter(|_| !piece.is_empty()) {
                parameter.push(Part::Text(piece.to_owned()));
            }
        }
    }
    (front, parameters)
}
