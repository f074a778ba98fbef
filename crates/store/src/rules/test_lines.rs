//! Lines for the tests of the rules.

use ship_message::json::{Array, Json, Object};

use super::content::{PreparedLine, prepare_line};
use super::log_head::NewLog;
use crate::line::{RawLine, UnnumberedLine, decode};
use crate::{BlobError, ChatKey, ContextId, Head, LedgerSeq, NewMessage, Seq, Timestamp};

pub(super) fn chat() -> ChatKey {
    "a".parse().expect("a key")
}

/// Returns the line of a user message.
pub(super) fn prepared(id: &str, text: &str) -> PreparedLine {
    line_of(id, text, 0, None)
}

/// Returns a later revision of a message.
pub(super) fn revised(id: &str, text: &str, rev: u64) -> PreparedLine {
    line_of(id, text, rev, None)
}

/// Returns a message that promotes a ledger entry.
pub(super) fn promoted(id: &str, entry: u64) -> PreparedLine {
    line_of(id, id, 0, Some(LedgerSeq::new(entry)))
}

fn line_of(id: &str, text: &str, rev: u64, inbox: Option<LedgerSeq>) -> PreparedLine {
    let message = Object::from([
        ("id", Json::from(id)),
        ("role", "user".into()),
        ("parts", Array::default().into()),
        ("text", text.into()),
    ]);
    let new = NewMessage { message, rev, inbox }.into();
    prepare_line(new, 1_000_000).expect("a message").0
}

/// Returns a log with these lines below its head.
pub(super) fn log(lines: &[PreparedLine]) -> Vec<RawLine> {
    let now = Timestamp::from_millis(1_770_286_500_000);
    let lines = lines.iter().map(|line| line.line.clone()).collect();
    let head = Head::new(ContextId::new(now, 1));
    let log = NewLog { head, first: Seq::FIRST, lines, copies: Vec::new() };
    let lines = log.into_lines(&chat(), now);
    lines.iter().zip(1..).map(|(line, seq)| numbered(line, seq)).collect()
}

/// Reads a blob of a store that has none.
pub(super) fn no_blobs(digest: &str) -> Result<Vec<u8>, BlobError> {
    Err(BlobError::Missing(digest.to_owned()))
}

/// Returns a line as a reader finds it.
pub(super) fn numbered(line: &UnnumberedLine, seq: u64) -> RawLine {
    let mut bytes = Vec::new();
    line.write(seq, None, &mut bytes);
    decode(bytes.trim_ascii_end()).expect("a line")
}
