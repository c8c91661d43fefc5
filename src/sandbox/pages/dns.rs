//! DNS records in the JSON format of resolvers: `type` is a number that determines the format of `data`.

use serde_json::{Value, json};

use super::context::Context;
use super::json::place;

/// Completes the records of a resolver's answer for which rules require only a type.
pub(super) fn complete(context: &Context<'_>, document: &mut Value) {
    let records = document.get_mut("Answer").and_then(Value::as_array_mut).into_iter().flatten();
    for (index, element) in records.enumerate() {
        if let Some(more) = record(context, element, index) {
            place(element, &[], &more);
        }
    }
}

/// Returns the members of a DNS record with the type in `element`, or `None` if `element` is not a DNS record.
pub(super) fn record(context: &Context<'_>, element: &Value, index: usize) -> Option<Value> {
    let number = element.get("type").filter(|_| element.get("data").is_none())?.as_u64()?;
    let domain = context.query.domain().unwrap_or("example.org");
    let sampler = &context.sampler;
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
