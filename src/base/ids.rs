//! Identifiers. Each kind has its own type, so that one cannot be used in place of another.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::{Builder, Uuid};

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// Generates an id of version 7: the text order is the order of creation, to the millisecond.
            #[expect(clippy::new_without_default, reason = "each call gives another value")]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            /// Accepts only the hyphenated form, so that a run has one address.
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                let id = Uuid::try_parse(text)?;
                if text.len() == 36 { Ok(Self(id)) } else { Uuid::try_parse("").map(Self) }
            }
        }
    )*};
}

uuid_ids! {
    /// Identifies a run (`run_id` in the API).
    RunId;
    /// Identifies a batch of searches.
    BatchId;
    /// Identifies an account (`user_id` in the API).
    AccountId;
    /// Identifies an API key; it is not the key itself.
    KeyId;
    /// Identifies a session of the web app; it is not the token of the session.
    SessionId;
    /// Identifies a webhook.
    WebhookId;
    /// Identifies a delivery to a webhook. Receivers get it as `webhook-id`, the same at each attempt.
    DeliveryId;
    /// Identifies a watch.
    WatchId;
    /// Identifies a change that a watch has found.
    WatchChangeId;
}

/// Returns the UUID of version 5 of a name (RFC 9562, section 5.5).
pub fn named_uuid(namespace: &Uuid, name: &[u8]) -> Uuid {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[namespace.as_bytes(), name].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// Identifies an HTTP request: the caller's own `X-Request-Id`, or a generated one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Returns the caller's id if it is 1 to 64 characters of `[A-Za-z0-9._-]`, and otherwise a new one.
    pub fn accept(offered: Option<&str>) -> Self {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let accepted = offered.filter(|id| (1..=64).contains(&id.len()) && id.bytes().all(is_allowed));
        Self(accepted.map_or_else(|| Uuid::new_v4().simple().to_string(), str::to_owned))
    }

    /// Returns the text for headers, bodies and log lines.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hyphenated_form_of_a_uuid_is_an_id() {
        let id = RunId::new();
        assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
        for bad in ["", "x", &id.0.simple().to_string(), &format!("{{{id}}}"), &format!("urn:uuid:{id}")] {
            assert!(bad.parse::<RunId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_id_of_another_form_is_replaced() {
        assert_eq!(RequestId::accept(Some("abc.DEF-1_2")).as_str(), "abc.DEF-1_2");
        let long = "a".repeat(65);
        for bad in [None, Some(""), Some("a b"), Some("ä"), Some("a\n"), Some(long.as_str())] {
            assert_eq!(RequestId::accept(bad).as_str().len(), 32, "{bad:?}");
        }
    }
}
