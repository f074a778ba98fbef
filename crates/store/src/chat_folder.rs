//! Makes the name of a chat's folder from its key.
//!
//! The name is the key as JavaScript's `encodeURIComponent` writes it, so that a person finds a chat by its key. A
//! name over 200 bytes is cut, and a digest of the whole key is added. The key is never read from the name:
//! `chat.json` holds it, and a folder with another key in its `chat.json` is refused.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::ChatKey;

/// The maximal length of a name: file systems allow 255 bytes, and the names of quarantined files add to it.
const NAME_BYTES_MAX: usize = 200;

/// Returns the folder of a chat, relative to the project folder. A person may put texts there; the other files
/// belong to the store.
pub fn chat_folder(key: &ChatKey) -> PathBuf {
    Path::new(".ship/chat").join(folder_name(key))
}

/// Returns the name of the folder of a chat.
pub(crate) fn folder_name(key: &ChatKey) -> String {
    let encoded = encode_uri_component(key.as_str());
    if encoded.len() <= NAME_BYTES_MAX {
        return encoded;
    }
    let digest = hex(&Sha256::digest(key.as_str()));
    // The cut never falls inside a `%XX`: a name that does not decode would puzzle people.
    let mut cut = NAME_BYTES_MAX - 33;
    while encoded.as_bytes()[cut - 2..cut].contains(&b'%') {
        cut -= 1;
    }
    format!("{}~{}", &encoded[..cut], &digest[..32])
}

/// Returns the key that a folder is named after; `None` if the name may be cut, so that it tells no key.
pub(crate) fn key_of_folder(folder: &str) -> Option<ChatKey> {
    let is_digest = |end: &str| end.len() == 32 && end.bytes().all(|b| b.is_ascii_hexdigit());
    // At most two bytes more than usual are cut off, in front of the digest.
    let may_be_cut = folder.len() >= NAME_BYTES_MAX - 2
        && folder.rsplit_once('~').is_some_and(|(_, end)| is_digest(end));
    decoded_name(folder).filter(|key| !may_be_cut && folder_name(key) == folder)
}

/// Returns the key that a folder may be named after. The caller confirms it with [`folder_name`].
pub(crate) fn decoded_name(folder: &str) -> Option<ChatKey> {
    let mut bytes = Vec::with_capacity(folder.len());
    let mut rest = folder.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()?.parse().ok()
}

fn encode_uri_component(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// Writes bytes as lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(key: &str) -> String {
        folder_name(&key.parse().expect("a key"))
    }

    #[test]
    fn a_folder_is_named_as_javascript_would_encode_the_key() {
        assert_eq!(name("telegram-chat--100123-topic-7"), "telegram-chat--100123-topic-7");
        assert_eq!(name("api:chat:7"), "api%3Achat%3A7");
        assert_eq!(name("../x"), "..%2Fx");
        assert_eq!(name("🦜"), "%F0%9F%A6%9C");
    }

    #[test]
    fn a_folder_tells_its_key_unless_its_name_is_cut() {
        for key in ["api:chat:7", "🦜", "a~0123456789abcdef0123456789abcdef"] {
            assert_eq!(key_of_folder(&name(key)), key.parse().ok(), "{key}");
        }
        for length in 195..300 {
            let key = format!("{}é", "k".repeat(length));
            let told = key_of_folder(&name(&key));
            assert!(told.is_none_or(|told| told.as_str() == key), "{key}");
        }
        assert_eq!(key_of_folder("%ZZ"), None);
    }

    #[test]
    fn long_keys_with_one_beginning_have_different_names() {
        let (a, b) =
            (name(&format!("{}a", "é".repeat(150))), name(&format!("{}b", "é".repeat(150))));
        assert_ne!(a, b);
        assert!(a.len() <= 200 && b.len() <= 200, "{a}");
        assert!(!a.split('~').next().is_some_and(|cut| cut.ends_with('%')), "{a}");
    }
}
