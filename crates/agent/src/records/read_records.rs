//! Reads the recorded model calls of a chat.

use std::collections::HashMap;

use ship_message::json::{Json, Object};
use ship_provider::Recipe;
use ship_store::{Chat, ReadError, Store};

use super::request_record::{RecordedRequest, RequestAnswer, RequestRecord};

/// Returns a frame by its digest, if it still exists.
pub(super) async fn read_frame(store: &dyn Store, sha256: &str) -> Option<Object> {
    let bytes = store.blob(sha256).await.ok()?;
    match Json::parse(&String::from_utf8(bytes).ok()?) {
        Ok(Json::Object(frame)) => Some(frame),
        _ => None,
    }
}

/// Makes a substitute for a frame that is gone; rebuilding the request then reports the loss.
fn lost_frame(sha256: &str) -> Object {
    let block = Object::from([("name", "(all of them)"), ("sha256", sha256)]);
    Object::from([
        ("system", Json::from(vec![Json::from(block)])),
        ("tools", sha256.into()),
        ("recipe", Recipe::plain("unknown", "unknown").to_object().into()),
        ("toolOutputChars", 0u64.into()),
    ])
}

/// Reads the calls of the last `lines` lines, the oldest first.
pub(crate) async fn read_records(
    store: &dyn Store,
    chat: &dyn Chat,
    lines: usize,
) -> Result<Vec<RecordedRequest>, ReadError> {
    let mut calls: Vec<RecordedRequest> = Vec::new();
    let mut frames: HashMap<String, Object> = HashMap::new();
    for mut line in chat.runs().requests(lines).await? {
        if let Some(sha256) = line.str("frame").map(str::to_owned) {
            if !frames.contains_key(&sha256)
                && let Some(frame) = read_frame(store, &sha256).await
            {
                frames.insert(sha256.clone(), frame);
            }
            let frame = frames.get(&sha256).cloned().unwrap_or_else(|| lost_frame(&sha256));
            for (key, value) in frame.into_entries() {
                line.set(key, value);
            }
        }
        if let Some(record) = RequestRecord::from_object(&line) {
            calls.push(RecordedRequest { record, answer: None });
        } else if let Some((id, answer)) = RequestAnswer::from_object(&line)
            && let Some(call) = calls.iter_mut().rev().find(|call| call.record.id == id)
        {
            call.answer = Some(answer);
        }
    }
    Ok(calls)
}
