//! Turns content into lines that can be written, and lines back into content.
//!
//! Content is checked here and only here: no reserved field, and no more than `limits.messageBytes`. Strings above
//! 32 KB go to the blob store before any line refers to them. The line keeps the head and the tail of the text, and
//! its field `blobs` gives the digest of the whole text by JSON pointer. Content cannot pose as a reference,
//! because it cannot have that field.

use ship_message::json::{Json, Object};

use super::blobs;
use super::store_env::Env;
use crate::line::{HEAD, LineKind, PURGED, RESERVED, RawLine, UnnumberedLine};
use crate::{
    AppendError, BlobError, LedgerSeq, MessageId, NewLine, RefusedInput, StorageError,
    StorageProblem, StorageProblemKind,
};

/// The length above which a string is stored as a blob.
pub(crate) const BLOB_BYTES_MIN: usize = 32 * 1024;
/// The maximal length of an `id` or `key`. They are compared with others, so they stay whole in the line.
const NAME_BYTES_MAX: usize = 1000;
/// The number of bytes of each end of a long string that stay in the line.
const PREVIEW_BYTES: usize = 512;

/// The reason why content could not become a line.
pub(crate) enum PrepareError {
    Refused(RefusedInput),
    Storage(StorageError),
}

impl From<RefusedInput> for PrepareError {
    fn from(refused: RefusedInput) -> Self {
        Self::Refused(refused)
    }
}

impl From<StorageError> for PrepareError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl From<PrepareError> for AppendError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Refused(refused) => Self::Refused(refused),
            PrepareError::Storage(error) => Self::Storage(error),
        }
    }
}

/// A checked line that can be written, and its id.
#[derive(Debug, Clone)]
pub(crate) struct PreparedLine {
    pub(crate) id: MessageId,
    pub(crate) draft: UnnumberedLine,
}

/// Makes a line from a message or an event.
pub(crate) fn prepare_line(env: &Env, entry: NewLine) -> Result<PreparedLine, PrepareError> {
    match entry {
        NewLine::Message(new) => {
            let id = check_message(&new.message)?;
            let mut draft = prepare_body(env, LineKind::Message, new.message, id.as_str())?;
            draft.rev = new.rev;
            draft.inbox = new.inbox.map(LedgerSeq::get);
            Ok(PreparedLine { id, draft })
        }
        NewLine::Event(event) => {
            if [HEAD, PURGED].contains(&event.event.as_str()) {
                return Err(RefusedInput::Reserved(event.event).into());
            }
            let id = MessageId::new(event.id.clone())
                .ok_or(RefusedInput::NotAMessage("an event needs a non-empty `id`"))?;
            let inbox = event.inbox.map(LedgerSeq::get);
            let mut draft = prepare_body(env, LineKind::Event, event.into_body(), id.as_str())?;
            draft.inbox = inbox;
            Ok(PreparedLine { id, draft })
        }
    }
}

fn check_message(message: &Object) -> Result<MessageId, RefusedInput> {
    let id = message.str("id").and_then(MessageId::new);
    let id = id.ok_or(RefusedInput::NotAMessage("its `id` is no text or is empty"))?;
    match message.str("role") {
        Some("user" | "assistant" | "system") => {}
        _ => {
            return Err(RefusedInput::NotAMessage("its `role` is none of user, assistant, system"));
        }
    }
    match message.get("parts").and_then(Json::as_array) {
        Some(_) => Ok(id),
        None => Err(RefusedInput::NotAMessage("its `parts` are no list")),
    }
}

/// Checks content and makes a line from it; long strings are stored as blobs.
pub(crate) fn prepare_body(
    env: &Env,
    kind: LineKind,
    mut content: Object,
    name: &str,
) -> Result<UnnumberedLine, PrepareError> {
    if name.len() > NAME_BYTES_MAX {
        let (start, bytes) = (name.chars().take(40).collect(), name.len());
        return Err(RefusedInput::LongName { start, bytes, max: NAME_BYTES_MAX }.into());
    }
    if let Some(field) = RESERVED.iter().find(|field| content.has(field)) {
        return Err(RefusedInput::Reserved((*field).to_owned()).into());
    }
    let draft = UnnumberedLine::new(kind, content.clone());
    // The two braces are not part of `draft.body`.
    let (bytes, max) = (draft.body.len() + 2, env.options.message_bytes_max);
    if bytes > max {
        return Err(RefusedInput::TooLarge { id: name.to_owned(), bytes, max }.into());
    }
    // No string in it can be longer than the whole content.
    if bytes <= BLOB_BYTES_MIN {
        return Ok(draft);
    }
    let mut refs = Object::new();
    for pointer in long_strings(&content) {
        let Some(Json::String(text)) = value_at(&mut content, &pointer) else { continue };
        let kept = blobs::put_blob(env, text.as_bytes(), "text/plain; charset=utf-8")?;
        let mut blob = Object::new();
        blob.set("sha256", kept.sha256.as_str());
        blob.set("size", kept.size);
        blob.set("mediaType", kept.media_type);
        *text = preview(text, &kept.sha256).into();
        refs.set(pointer, blob);
    }
    let blobs = (!refs.is_empty()).then(|| Json::from(refs).to_string());
    Ok(UnnumberedLine { blobs, ..UnnumberedLine::new(kind, content) })
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

/// Puts the whole texts in the place of their previews. If a blob is missing, the preview stays and
/// a problem is added.
pub(crate) fn resolve_blobs(
    env: &Env,
    line: &mut RawLine,
    file: &str,
    problems: &mut Vec<StorageProblem>,
) -> Result<(), StorageError> {
    let Some(blobs) = line.blobs.take() else { return Ok(()) };
    for (pointer, blob) in blobs.iter() {
        let sha256 = blob.get("sha256").and_then(Json::as_str).unwrap_or_default();
        let place = value_at(&mut line.body, pointer);
        match (blobs::read_blob(env, sha256), place) {
            (Ok(bytes), Some(place)) => *place = String::from_utf8_lossy(&bytes).as_ref().into(),
            (Ok(_), None) => {}
            (Err(BlobError::Storage(error)), _) => return Err(error),
            (Err(error @ (BlobError::Missing(_) | BlobError::Damaged(_))), _) => {
                let message = format!("line {} at {pointer}: {error}", line.seq);
                let remedy = "restore the blob from a copy; the line shows a preview";
                problems.push(StorageProblem::new(file, StorageProblemKind::Blob, message, remedy));
            }
        }
    }
    Ok(())
}
