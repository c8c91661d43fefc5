//! One attempt: signs a message and sends it.

use std::time::{Duration, Instant};

use url::Url;

use super::secret::SealingKey;
use crate::model::webhook::{Attempt, Claimed, MOST_HEAD_BYTES};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober, Request, Response, Trace};

/// The longest duration of an attempt, from the resolution of the host's name to the end of the answer's head.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The error of an attempt whose secret cannot be decrypted.
const NO_SECRET: &str = "secret_unreadable";

/// Sends the message of a delivery, and waits for the head of the answer. The body of the answer is not read.
pub(super) fn attempt(prober: &dyn Prober, key: &SealingKey, delivery: &Claimed) -> Attempt {
    let began = Instant::now();
    let ended = |http_status, error: Option<&str>, response_head| {
        let latency_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Attempt { at: delivery.now, http_status, error: error.map(Into::into), latency_ms, response_head }
    };
    let Some(request) = request(key, delivery) else {
        log::error!(
            "the secret of webhook {} cannot be decrypted: give all instances the key file with which it was \
             created, or rotate the secret",
            delivery.webhook
        );
        return ended(None, Some(NO_SECRET), None);
    };
    match prober.send(&request, &mut CookieJar::default(), began + TIME_LIMIT) {
        Ok(response) => ended(Some(response.status), None, Some(head(&response))),
        Err(error) => ended(None, Some(error.reason.as_str()), None),
    }
}

/// Returns the signed request, or `None` if a secret or the address cannot be read.
fn request(key: &SealingKey, delivery: &Claimed) -> Option<Request> {
    let (id, timestamp) = (delivery.id.to_string(), delivery.now.as_second());
    let secrets = std::iter::once(&delivery.secret).chain(&delivery.earlier_secret);
    let sign = |sealed| Some(key.open(delivery.webhook, sealed)?.sign(&id, timestamp, &delivery.body));
    let signatures: Vec<String> = secrets.map(sign).collect::<Option<_>>()?;
    let header = |name: &str, value: String| (name.to_owned(), value);
    Some(Request {
        method: Method::Post,
        via: Via::Http,
        url: Url::parse(&delivery.url).ok()?,
        headers: vec![
            header("user-agent", concat!("Sightline-Webhooks/", env!("CARGO_PKG_VERSION")).into()),
            header("accept", "*/*".into()),
            header("webhook-id", id),
            header("webhook-timestamp", timestamp.to_string()),
            header("webhook-signature", signatures.join(" ")),
        ],
        body: Some(("application/json".into(), delivery.body.clone().into_bytes())),
        max_redirects: 0,
        body_limit: 0,
        marks: Vec::new(),
        trace: Trace { module: "webhook".into(), probe: 0, query: "".into(), control: false },
    })
}

/// Returns the status and the headers of an answer, cut to the limit at the end of a line if possible.
fn head(response: &Response) -> String {
    let mut head = format!("HTTP {}", response.status);
    for (name, value) in &response.headers {
        let line = format!("\n{name}: {value}");
        if head.len() + line.len() > MOST_HEAD_BYTES {
            break;
        }
        head.push_str(&line);
    }
    head
}
