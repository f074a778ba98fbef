//! Compares the content of lines without keeping it.

use sha2::{Digest, Sha256};
use ship_message::json::Json;

use crate::line::UnnumberedLine;

/// The digest of the content of a line. The order of keys does not matter, and neither does the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentDigest(u128);

impl ContentDigest {
    /// Returns the digest of a line. It is the sum of one number for each value, which depends on the value and on its
    /// place in the content.
    pub(super) fn of(line: &UnnumberedLine) -> Self {
        let body = Json::parse(&format!("{{{}}}", line.body)).unwrap_or_default();
        let blobs = line.blobs.as_deref().and_then(|text| Json::parse(text).ok());
        let mut sum = 0u128;
        // A stack of our own instead of recursion, so that deep content cannot overflow the thread's.
        let mut pending = vec![(step(0, "body"), &body)];
        pending.extend(blobs.as_ref().map(|blobs| (step(0, "blobs"), blobs)));
        while let Some((place, value)) = pending.pop() {
            let leaf = match value {
                Json::Object(object) => {
                    pending.extend(object.iter().map(|(key, value)| (step(place, key), value)));
                    "{}".to_owned()
                }
                Json::Array(array) => {
                    let items = array.iter().enumerate();
                    pending.extend(items.map(|(at, value)| (step(place, &at.to_string()), value)));
                    "[]".to_owned()
                }
                leaf @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => {
                    leaf.to_string()
                }
            };
            sum = sum.wrapping_add(step(place, &leaf));
        }
        Self(sum)
    }
}

/// Returns the number of a place below another.
fn step(place: u128, name: &str) -> u128 {
    let digest = Sha256::new().chain_update(place.to_le_bytes()).chain_update(name).finalize();
    digest.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::LineKind;

    fn digest(text: &str) -> ContentDigest {
        let Ok(Json::Object(body)) = Json::parse(text) else { panic!("{text}") };
        ContentDigest::of(&UnnumberedLine::new(LineKind::Message, body))
    }

    #[test]
    fn only_the_order_of_keys_does_not_matter() {
        let one = digest(r#"{"id":"m1","parts":[{"a":1,"b":[]},"x"]}"#);
        assert_eq!(one, digest(r#"{"parts":[{"b":[],"a":1},"x"],"id":"m1"}"#));
        for other in [
            r#"{"id":"m1","parts":["x",{"a":1,"b":[]}]}"#,
            r#"{"id":"m1","parts":[{"a":1,"b":{}},"x"]}"#,
            r#"{"id":"m1","parts":[{"a":"1","b":[]},"x"]}"#,
            r#"{"id":"m1","parts":[{"b":1,"a":[]},"x"]}"#,
            r#"{"id":"m1","parts":[{"a":1,"b":[]},"x"],"c":null}"#,
        ] {
            assert_ne!(one, digest(other), "{other}");
        }
    }

    #[test]
    fn deep_content_has_a_digest() {
        let deep = format!(r#"{{"id":{}{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(digest(&deep), digest(&deep));
    }
}
