//! Moves long strings of a line into blobs, and back into the line.
//!
//! The line keeps the head and the tail of each text, and its field `blobs` gives the digest of the whole text by JSON
//! pointer. Content cannot pose as a reference, because it cannot have that field.

use sha2::{Digest, Sha256};
use ship_message::json::{Json, Object};

use crate::chat_folder::hex;
use crate::line::RawLine;
use crate::{BlobError, BlobRef, StorageError, StorageProblem, StorageProblemKind};

/// The length above which a string is stored as a blob.
pub(super) const BLOB_BYTES_MIN: usize = 32 * 1024;
/// The number of bytes of each end of a long string that stay in the line.
const PREVIEW_BYTES: usize = 512;

/// A long string of a line. It is stored, durably, before the line that refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBlob {
    /// The reference to the text.
    pub blob: BlobRef,
    /// The whole text.
    pub text: String,
}

/// A text that a line refers to and that cannot be read. The line shows its preview.
#[derive(Debug)]
pub struct LostText {
    message: String,
}

impl LostText {
    /// Describes the loss as a problem of the log at `place`.
    pub fn into_problem(self, place: &str) -> StorageProblem {
        let remedy = "restore the blob from a backup; until then, the line shows a preview";
        StorageProblem::new(place, StorageProblemKind::Blob, self.message, remedy)
    }
}

/// Returns the reference under which a store keeps these bytes.
pub fn blob_ref(bytes: &[u8], media_type: &str) -> BlobRef {
    let (sha256, size) = (hex(&Sha256::digest(bytes)), bytes.len() as u64);
    BlobRef { sha256, size, media_type: media_type.to_owned() }
}

fn digest(blob: &Json) -> &str {
    blob.get("sha256").and_then(Json::as_str).unwrap_or_default()
}

/// Puts the whole texts in the place of their previews. Returns those that are missing or damaged; their previews stay.
/// `read` gives the bytes of a blob by its digest.
pub fn restore_texts(
    line: &mut RawLine,
    mut read: impl FnMut(&str) -> Result<Vec<u8>, BlobError>,
) -> Result<Vec<LostText>, StorageError> {
    let mut lost = Vec::new();
    let Some(blobs) = line.blobs.take() else { return Ok(lost) };
    for (pointer, blob) in blobs.iter() {
        let place = value_at(&mut line.body, pointer);
        match (read(digest(blob)), place) {
            (Ok(bytes), Some(place)) => *place = String::from_utf8_lossy(&bytes).as_ref().into(),
            (Ok(_), None) => {}
            (Err(BlobError::Storage(error)), _) => return Err(error),
            (Err(error @ (BlobError::Missing(_) | BlobError::Damaged(_))), _) => {
                lost.push(LostText { message: format!("line {} at {pointer}: {error}", line.seq) });
            }
        }
    }
    Ok(lost)
}

/// Replaces the long strings of content by their previews. Returns the texts, and the field `blobs` of the line.
pub(super) fn extract_texts(content: &mut Object) -> (Vec<TextBlob>, Option<String>) {
    let (mut texts, mut refs) = (Vec::new(), Object::new());
    for pointer in long_strings(content) {
        let Some(place @ Json::String(_)) = value_at(content, &pointer) else { continue };
        let text = place.as_str().unwrap_or_default().to_owned();
        let blob = blob_ref(text.as_bytes(), "text/plain; charset=utf-8");
        let mut reference = Object::new();
        reference.set("sha256", blob.sha256.as_str());
        reference.set("size", blob.size);
        reference.set("mediaType", blob.media_type.as_str());
        refs.set(pointer, reference);
        *place = preview(&text, &blob.sha256).into();
        texts.push(TextBlob { blob, text });
    }
    (texts, (!refs.is_empty()).then(|| Json::from(refs).to_string()))
}

/// Returns the JSON pointers of all strings that are stored as blobs.
fn long_strings(content: &Object) -> Vec<String> {
    let mut found = Vec::new();
    // A stack of our own instead of recursion, so that deep content cannot overflow the thread's.
    let mut pending: Vec<(String, &Json)> =
        content.iter().map(|(key, value)| (pointer_step("", key), value)).collect();
    while let Some((pointer, value)) = pending.pop() {
        match value {
            Json::String(text) if text.len() > BLOB_BYTES_MIN => found.push(pointer),
            Json::Array(array) => {
                let items = array.iter().enumerate();
                pending.extend(
                    items
                        .filter(|(_, v)| may_contain_long_string(v))
                        .map(|(i, v)| (format!("{pointer}/{i}"), v)),
                );
            }
            Json::Object(object) => {
                let entries = object.iter().filter(|(_, value)| may_contain_long_string(value));
                pending.extend(entries.map(|(key, value)| (pointer_step(&pointer, key), value)));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
    found
}

fn may_contain_long_string(value: &Json) -> bool {
    match value {
        Json::String(text) => text.len() > BLOB_BYTES_MIN,
        Json::Array(_) | Json::Object(_) => true,
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn pointer_step(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Returns the value at a JSON pointer.
fn value_at<'a>(content: &'a mut Object, pointer: &str) -> Option<&'a mut Json> {
    let mut steps = pointer.strip_prefix('/')?.split('/');
    // The order matters: otherwise `~01`, which stands for `~1`, would become `/` (RFC 6901).
    let key = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut value = content.get_mut(&key(steps.next()?))?;
    for step in steps {
        value = match value {
            Json::Array(array) => array.get_mut(step.parse::<usize>().ok()?)?,
            Json::Object(object) => object.get_mut(&key(step))?,
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return None,
        };
    }
    Some(value)
}

/// Returns the head and the tail of a long text, with the number of bytes between them.
fn preview(text: &str, sha256: &str) -> String {
    let head = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - PREVIEW_BYTES)..];
    let hidden = text.len() - head.len() - tail.len();
    format!("{head}\n… {hidden} bytes of blob {} …\n{tail}", &sha256[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{LineKind, UnnumberedLine};
    use crate::rules::test_lines::numbered;

    fn line(mut content: Object) -> (Vec<TextBlob>, RawLine) {
        let (texts, blobs) = extract_texts(&mut content);
        let line = UnnumberedLine { blobs, ..UnnumberedLine::new(LineKind::Message, content) };
        (texts, numbered(&line, 7))
    }

    #[test]
    fn a_text_leaves_the_line_and_comes_back() {
        let long = "0123456789 漢字 🦜 ".repeat(3000);
        let inner = Object::from([("a/b~c", Json::from(vec![Json::Null, long.as_str().into()]))]);
        let content = Object::from([("id", Json::from("m1")), ("metadata", inner.into())]);
        let (texts, mut line) = line(content.clone());
        assert_eq!(texts[0].text, long);
        assert_ne!(line.body, content);
        let lost = restore_texts(&mut line, |_| Ok(long.clone().into_bytes())).expect("restored");
        assert!(lost.is_empty() && line.body == content);
    }

    #[test]
    fn a_missing_text_leaves_its_preview_and_is_told() {
        let content = Object::from([("id", "m1".to_owned()), ("text", "x".repeat(40_000))]);
        let (_, mut line) = line(content);
        let before = line.body.clone();
        let missing = |digest: &str| Err(BlobError::Missing(digest.to_owned()));
        let lost = restore_texts(&mut line, missing).expect("restored");
        assert_eq!(line.body, before);
        let problem = lost.into_iter().next().expect("a loss").into_problem("the log");
        assert!(problem.message.starts_with("line 7 at /text: blob "), "{}", problem.message);
    }

    #[test]
    fn short_strings_stay_in_the_line() {
        let (texts, line) = line(Object::from([("text", "x".repeat(BLOB_BYTES_MIN))]));
        assert_eq!((texts.len(), line.blobs), (0, None));
    }
}
