//! The head of a stored index: how far it has read its chat, and which segments it has.
//!
//! A head is a checksum of the rest, a line of JSON, and the bytes of small segments. Large segments are pieces of their
//! own, named after their bytes, so a head can never mean other bytes than those that it was written with.

use std::sync::Arc;

use ship_message::json::{Array, Json, Object};
use ship_store::{ChatSizes, LedgerSeq, LinesCursor, RecordName, Seq};

use super::index_reader::ReadPlace;

/// The name of the head among the pieces of an index.
pub(super) const HEAD: &str = "head";

/// The form of a head. A head of another form is that of another program, and the index is made again.
const FORM: u64 = 1;

/// The most bytes of a segment that is kept in the head.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// The head of a stored index.
#[derive(Debug, Default, PartialEq)]
pub(super) struct IndexHead {
    pub(super) place: ReadPlace,
    /// The sizes of the logs that were read; `None` if more may be found than the index has.
    pub(super) sizes: Option<ChatSizes>,
    pub(super) segments: Vec<HeadSegment>,
}

/// A segment in a head.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HeadSegment {
    /// A segment whose bytes are in the head.
    Inline(Arc<Vec<u8>>),
    /// A segment in a piece of its own, by the name of that piece.
    Named(RecordName),
}

impl HeadSegment {
    /// Says how a segment is kept.
    pub(super) fn of(bytes: &Arc<Vec<u8>>) -> Option<Self> {
        if bytes.len() <= INLINE_BYTES_MAX {
            return Some(Self::Inline(Arc::clone(bytes)));
        }
        let name = format!("segment-{}-{:08x}", bytes.len(), crc32c::crc32c(bytes));
        Some(Self::Named(name.parse().ok()?))
    }

    /// Whether a piece has the bytes that its name says.
    pub(super) fn is_of(&self, bytes: &Arc<Vec<u8>>) -> bool {
        Self::of(bytes).as_ref() == Some(self)
    }
}

impl IndexHead {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut line = Object::from([("v", Json::from(FORM))]);
        if let Some(LinesCursor { seq, crc, purge }) = self.place.lines {
            let mut cursor =
                Object::from([("seq", Json::from(seq.get())), ("purge", purge.into())]);
            cursor.set_or_remove("crc", crc.map(|crc| u64::from(crc).into()));
            line.set("lines", cursor);
        }
        if let Some((seq, key)) = &self.place.entry {
            line.set("entry", seq.get());
            line.set("key", key.as_str());
        }
        line.set("gaps", self.place.has_gaps);
        if let Some(sizes) = self.sizes {
            line.set("contextBytes", sizes.context_bytes);
            line.set("ledgerBytes", sizes.ledger_bytes);
        }
        let kept = |segment: &HeadSegment| match segment {
            HeadSegment::Inline(bytes) => Json::from(bytes.len() as u64),
            HeadSegment::Named(name) => name.as_str().into(),
        };
        line.set("segments", self.segments.iter().map(kept).collect::<Array>());
        let mut rest = format!("{}\n", Json::from(line)).into_bytes();
        for segment in &self.segments {
            if let HeadSegment::Inline(bytes) = segment {
                rest.extend(bytes.iter());
            }
        }
        let mut head = format!("{:08x}\n", crc32c::crc32c(&rest)).into_bytes();
        head.extend(rest);
        head
    }

    /// Reads a head; `None` if it is damaged or of another form.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (sum, rest) = bytes.split_at_checked(9)?;
        if sum != format!("{:08x}\n", crc32c::crc32c(rest)).as_bytes() {
            return None;
        }
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = Json::parse_bytes(rest.get(..end)?).ok()?;
        let mut inline = rest.get(end + 1..)?;
        if line.get("v")?.as_u64()? != FORM {
            return None;
        }
        let number = |name: &str| line.get(name).and_then(Json::as_u64);
        let lines = line.get("lines").and_then(|cursor| {
            let field = |name: &str| cursor.get(name).and_then(Json::as_u64);
            let crc = field("crc").and_then(|crc| u32::try_from(crc).ok());
            Some(LinesCursor { seq: Seq::new(field("seq")?), crc, purge: field("purge")? })
        });
        let key = line.get("key").and_then(Json::as_str).unwrap_or_default();
        let entry = number("entry").map(|seq| (LedgerSeq::new(seq), key.to_owned()));
        let has_gaps = line.get("gaps")?.as_bool()?;
        let sizes = number("contextBytes").zip(number("ledgerBytes"));
        let mut segments = Vec::new();
        for kept in line.get("segments")?.as_array()? {
            segments.push(match (kept.as_u64(), kept.as_str()) {
                (Some(len), _) => {
                    let (bytes, rest) = inline.split_at_checked(usize::try_from(len).ok()?)?;
                    inline = rest;
                    HeadSegment::Inline(Arc::new(bytes.to_vec()))
                }
                (None, Some(name)) => HeadSegment::Named(name.parse().ok()?),
                (None, None) => return None,
            });
        }
        let sizes = sizes.map(|(context_bytes, ledger_bytes)| ChatSizes {
            context_bytes,
            ledger_bytes,
            ..ChatSizes::default()
        });
        Some(Self { place: ReadPlace { lines, entry, has_gaps }, sizes, segments })
    }

    /// Whether the index has read logs of these sizes to their ends.
    pub(super) fn is_of_sizes(&self, sizes: ChatSizes) -> bool {
        let of_logs = ChatSizes { journal_bytes: 0, ..sizes };
        of_logs != ChatSizes::default() && self.sizes == Some(of_logs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> IndexHead {
        let large = Arc::new(vec![7; INLINE_BYTES_MAX + 1]);
        let small = Arc::new(b"small\n".to_vec());
        IndexHead {
            place: ReadPlace {
                lines: Some(LinesCursor { seq: Seq::new(9), crc: Some(3), purge: 5 }),
                entry: Some((LedgerSeq::new(4), "send:1".to_owned())),
                has_gaps: true,
            },
            sizes: Some(ChatSizes { context_bytes: 10, ledger_bytes: 20, journal_bytes: 0 }),
            segments: [large, small].iter().filter_map(HeadSegment::of).collect(),
        }
    }

    #[test]
    fn a_head_reads_back_and_any_changed_byte_is_noticed() {
        let bytes = head().write();
        assert_eq!(IndexHead::read(&bytes), Some(head()));
        assert!(matches!(head().segments[0], HeadSegment::Named(_)));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(IndexHead::read(&damaged), None, "byte {at}");
            assert_eq!(IndexHead::read(&bytes[..at]), None, "{at} bytes");
        }
    }

    #[test]
    fn logs_of_other_sizes_are_not_those_that_were_read() {
        let sizes = ChatSizes { context_bytes: 10, ledger_bytes: 20, journal_bytes: 99 };
        assert!(head().is_of_sizes(sizes));
        assert!(!head().is_of_sizes(ChatSizes { ledger_bytes: 21, ..sizes }));
        assert!(!IndexHead::default().is_of_sizes(ChatSizes::default()), "a store without sizes");
    }
}
