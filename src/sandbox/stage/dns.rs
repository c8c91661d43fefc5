//! DNS records as resolvers write them in JSON: `type` is a number, and tells what `data` looks like.

use serde_json::{Value, json};

use super::document::merged;
use super::sample::Sampler;

/// Completes the records of a resolver's answer that rules asked for by their type alone.
pub(super) fn complete(sampler: &Sampler<'_>, document: &mut Value, domain: Option<&str>) {
    let Some(records) = document.get_mut("Answer").and_then(Value::as_array_mut) else { return };
    for (index, element) in records.iter_mut().enumerate() {
        let more = record(sampler, element, domain.unwrap_or("example.org"), index);
        if let Some(joined) = more.and_then(|more| merged(element, &more)) {
            *element = joined;
        }
    }
}

/// Members for a record of the type that stands in `element`; `None`: it is no DNS record.
pub(super) fn record(sampler: &Sampler<'_>, element: &Value, domain: &str, index: usize) -> Option<Value> {
    let number = element.get("type").filter(|_| element.get("data").is_none())?.as_u64()?;
    let n = index + 1;
    let data = match number {
        1 => format!("192.0.2.{}", 10 + sampler.seed("address") % 200 + index as u64),
        2 => format!("ns{n}.example.net."),
        5 => "edge.example.net.".to_owned(),
        6 => "ns1.example.net. hostmaster.example.net. 2024010101 7200 3600 1209600 300".to_owned(),
        12 => format!("host{n}.example.net."),
        15 => format!("{} mx{n}.example.net.", 10 * n),
        16 => format!("\"sample={n}\""),
        28 => format!("2001:db8::{n:x}"),
        33 => format!("{} 5 443 srv{n}.example.net.", 10 * n),
        43 => format!("{} 13 2 {:016X}{0:048X}", 1_000 + n, sampler.seed("digest")),
        48 => format!("{} 3 13 {:016x}", if n == 1 { 257 } else { 256 }, sampler.seed("key")),
        65 => format!("{n} . alpn=\"h3,h2\" ipv4hint=192.0.2.{n}"),
        257 => "0 issue \"ca.example.net\"".to_owned(),
        _ => return None,
    };
    Some(json!({"name": format!("{domain}."), "TTL": 300, "data": data}))
}
