//! Recognition of a list by its JSON document.

use serde_json::Value;

use super::fields::type_name;
use super::kind::ListKind;

/// Returns the kind of list that a document is, by its form.
///
/// # Errors
/// Returns an error if the document is none of the known lists. It says for each kind what is missing.
pub fn recognise(root: &Value) -> Result<ListKind, String> {
    let mut reasons = Vec::new();
    for kind in ListKind::ALL {
        match why_not(kind, root) {
            None => return Ok(kind),
            Some(reason) => reasons.push(format!("{kind} has {reason}")),
        }
    }
    Err(format!(
        "unknown format: Sightline's own has an array of entries (here: {}); {}",
        type_name(root),
        reasons.join("; ")
    ))
}

fn why_not(kind: ListKind, root: &Value) -> Option<String> {
    let sites = root.get("sites");
    let here = sites.map_or("none", type_name);
    match kind {
        ListKind::WhatsMyName => match sites {
            Some(Value::Array(_)) => None,
            _ => Some(format!("an array `sites` (here: {here})")),
        },
        ListKind::Sherlock => {
            let members = root.as_object().into_iter().flatten();
            let is_entry = |value: &&Value| value.get("errorType").is_some() && value.get("url").is_some();
            let count = members.clone().filter(|(_, value)| is_entry(value)).count();
            let all = members.count();
            (count == 0).then(|| format!("entries with `url` and `errorType` (here: 0 of {all} members)"))
        }
        ListKind::Maigret => match sites {
            Some(Value::Object(_)) => None,
            _ => Some(format!("an object `sites` (here: {here})")),
        },
    }
}
