//! [`Avatar`]: what a result says about its profile picture.

use serde_json::{Map, Value, json};

use super::likeness::Likeness;
use crate::model::entity::identified::web_address;

/// The metadata member with the address of the picture, which modules extract.
pub const AVATAR_URL: &str = "avatar_url";
/// The metadata member that describes the picture, once it was fetched.
pub const AVATAR: &str = "avatar";

/// The hashes of a profile picture that was fetched. The thumbnail is stored beside the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Avatar {
    /// The SHA-256 of the file, in hex.
    pub sha256: String,
    /// The perceptual hash. It is `None` for a picture of only one or two colours, which is no evidence.
    pub likeness: Option<Likeness>,
}

impl Avatar {
    /// Reads the member [`AVATAR`]. Returns `None` if there is none.
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        let avatar = metadata.get(AVATAR)?;
        let sha256 = avatar.get("sha256")?.as_str()?;
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        let likeness = avatar.get("phash").and_then(Value::as_str).and_then(Likeness::parse);
        is_hash.then(|| Self { sha256: sha256.to_ascii_lowercase(), likeness })
    }

    /// Returns the value of the member [`AVATAR`].
    pub fn to_value(&self) -> Value {
        match self.likeness {
            Some(likeness) => json!({"sha256": self.sha256, "phash": likeness.to_string()}),
            None => json!({"sha256": self.sha256}),
        }
    }
}

/// Returns the address of the picture that a module has extracted, if it is a web address.
pub fn picture_address(metadata: &Map<String, Value>) -> Option<url::Url> {
    let address = match metadata.get(AVATAR_URL)? {
        Value::Array(several) => several.first()?.as_str()?,
        one => one.as_str()?,
    };
    web_address(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_avatar_is_read_as_it_was_written() {
        for likeness in [None, Some(Likeness(7))] {
            let avatar = Avatar { sha256: "0f".repeat(32), likeness };
            assert_eq!(Avatar::of(&members(&json!({"avatar": avatar.to_value()}))), Some(avatar));
        }
        for other in
            [json!({}), json!({"avatar": "x"}), json!({"avatar": {"sha256": "0f"}}), json!({"avatar": [1]})]
        {
            assert_eq!(Avatar::of(&members(&other)), None);
        }
    }

    #[test]
    fn only_web_addresses_lead_to_pictures() {
        let address = |value: Value| picture_address(&members(&json!({"avatar_url": value})));
        assert!(address(json!("https://a.example/p.png")).is_some());
        assert!(address(json!(["http://a.example/p.png", "https://b.example"])).is_some());
        for other in [
            json!("data:image/png;base64,AA"),
            json!("/p.png"),
            json!("file:///etc/passwd"),
            json!(7),
            json!([]),
        ] {
            assert_eq!(address(other.clone()), None, "{other}");
        }
    }
}
