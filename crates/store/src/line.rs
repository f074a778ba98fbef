//! Encodes and decodes one line of a log: a JSON object with the store's own fields around the body.
//!
//! `{"seq":7,"type":"msg","rev":1,"in":3,"batch":[7,8], …body… ,"blobs":{…},"crc":"0a1b2c3d"}`
//!
//! `seq` stands first, where a person looks for it. `crc` stands last: it is the CRC-32C of
//! every byte before `,"crc"`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use ship_message::json::{Json, Object};

use crate::Seq;

/// The fields that only the store writes. A body that has one of them is refused.
pub(crate) const RESERVED: [&str; 7] = ["seq", "type", "rev", "in", "batch", "blobs", "crc"];

/// The events that only the store writes.
pub(crate) const HEAD: &str = "head";
pub(crate) const PURGED: &str = "purged";

/// The length of `,"crc":"0a1b2c3d"}`, with which each line ends.
const CRC_LEN: usize = 18;
const CRC_FIELD: &[u8] = b",\"crc\":\"";

/// Tells messages from events; the `type` of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum LineKind {
    /// A message of a context, or an entry of the ledger.
    #[serde(rename = "msg")]
    Message,
    /// Anything else that a log must remember, such as its head.
    #[serde(rename = "evt")]
    Event,
}

impl LineKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Message => "msg",
            Self::Event => "evt",
        }
    }
}

/// A line that is ready to be written, except for its number and its batch.
#[derive(Debug, Clone)]
pub struct UnnumberedLine {
    /// Tells a message from an event.
    pub kind: LineKind,
    /// The revision of the message; 0 for its first line.
    pub rev: u64,
    /// The ledger position of the entry that became this message.
    pub inbox: Option<u64>,
    /// The fields of the body as JSON, without the braces.
    pub body: String,
    /// The `blobs` field as JSON text.
    pub blobs: Option<String>,
}

impl UnnumberedLine {
    /// Makes a line from `body`, which must not have a reserved field.
    pub fn new(kind: LineKind, body: Object) -> Self {
        let text = Json::from(body).to_string();
        // The braces go, because the store's own fields stand in the same object.
        let inner = text[1..text.len() - 1].to_owned();
        Self { kind, rev: 0, inbox: None, body: inner, blobs: None }
    }

    /// Appends the line and its newline to `out`. `batch` has the first and the last number of the lines that
    /// are written together.
    pub fn write(&self, seq: u64, batch: Option<(u64, u64)>, out: &mut Vec<u8>) {
        use std::io::Write as _;
        let start = out.len();
        // Writing to a `Vec` cannot fail.
        let _ = write!(out, "{{\"seq\":{seq},\"type\":\"{}\"", self.kind.as_str());
        if self.rev > 0 {
            let _ = write!(out, ",\"rev\":{}", self.rev);
        }
        if let Some(inbox) = self.inbox {
            let _ = write!(out, ",\"in\":{inbox}");
        }
        if let Some((first, last)) = batch {
            let _ = write!(out, ",\"batch\":[{first},{last}]");
        }
        if !self.body.is_empty() {
            out.push(b',');
            out.extend_from_slice(self.body.as_bytes());
        }
        if let Some(blobs) = &self.blobs {
            let _ = write!(out, ",\"blobs\":{blobs}");
        }
        let crc = crc32c::crc32c(&out[start..]);
        let _ = writeln!(out, ",\"crc\":\"{crc:08x}\"}}");
    }
}

/// A line as it was read: the store's own fields, and the body without them.
#[derive(Debug, Clone, PartialEq)]
pub struct RawLine {
    /// The number of the line.
    pub seq: u64,
    /// Tells a message from an event.
    pub kind: LineKind,
    /// The revision of the message; 0 for its first line.
    pub rev: u64,
    /// The ledger position of the entry that became this message.
    pub inbox: Option<u64>,
    /// The first and the last number of the lines that were written together.
    pub batch: Option<(u64, u64)>,
    /// The references to long texts, by JSON pointer into the body.
    pub blobs: Option<Object>,
    /// The checksum of the line.
    pub crc: u32,
    /// The content of the line.
    pub body: Object,
}

impl RawLine {
    /// Returns a line with the same content that can be written under another number.
    pub fn into_draft(self) -> UnnumberedLine {
        let blobs = self.blobs.map(|blobs| Json::from(blobs).to_string());
        UnnumberedLine {
            rev: self.rev,
            inbox: self.inbox,
            blobs,
            ..UnnumberedLine::new(self.kind, self.body)
        }
    }

    /// Whether the line is a tombstone, which stands for lines that were purged.
    pub fn is_tombstone(&self) -> bool {
        self.event() == Some(PURGED)
    }

    /// Returns the name of the event if the line is an event.
    pub fn event(&self) -> Option<&str> {
        if self.kind == LineKind::Event { self.body.str("event") } else { None }
    }
}

/// Reads one line, given without its newline. Returns `None` if any byte of it is wrong.
///
/// A carriage return at the end is accepted: git adds one to each line where `core.autocrlf` is set.
pub fn decode(bytes: &[u8]) -> Option<RawLine> {
    let bytes = without_return(bytes);
    // The checksum comes first: it costs less than parsing, and finds nearly all damage.
    let crc = checksum(bytes)?;
    let Json::Object(mut body) = Json::parse_bytes(bytes).ok()? else { return None };
    body.remove("crc");
    let seq = line_number(&body.remove("seq")?)?;
    let kind = match body.remove("type")?.as_str()? {
        "msg" => LineKind::Message,
        "evt" => LineKind::Event,
        _ => return None,
    };
    let rev = body.remove("rev").map_or(Some(0), |rev| line_number(&rev))?;
    let inbox = body.remove("in").map(|inbox| line_number(&inbox).ok_or(())).transpose().ok()?;
    let batch = body.remove("batch").map(|batch| read_range(&batch).ok_or(())).transpose().ok()?;
    let blobs = match body.remove("blobs") {
        None => None,
        Some(Json::Object(blobs)) => Some(blobs),
        Some(_) => return None,
    };
    if kind == LineKind::Event && body.str("event") == Some(HEAD) && !head_leaves_room(&body) {
        return None;
    }
    // The lines of a view are kept for long, and half of their fields are gone now.
    body.shrink_to_fit();
    Some(RawLine { seq, kind, rev, inbox, batch, blobs, crc, body })
}

/// The store's own fields of a line and its names, without the rest of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct LineOutline<'a> {
    pub(crate) seq: u64,
    #[serde(rename = "type")]
    pub(crate) kind: LineKind,
    #[serde(default, deserialize_with = "present")]
    rev: Option<u64>,
    #[serde(default, rename = "in", deserialize_with = "present")]
    pub(crate) inbox: Option<u64>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) batch: Option<(u64, u64)>,
    /// The id of a message or an event.
    pub(crate) id: Option<&'a str>,
    /// The key of an entry of the ledger.
    pub(crate) key: Option<&'a str>,
    #[serde(default, deserialize_with = "object")]
    blobs: (),
    #[serde(skip)]
    pub(crate) crc: u32,
}

/// Reads a field that is there; unlike a field that is missing, it must have a value.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

/// Reads a field that must be an object, and keeps nothing of it.
fn object<'de, D: Deserializer<'de>>(field: D) -> Result<(), D::Error> {
    // `IgnoredAny` alone would accept values of other types, which `decode` refuses.
    BTreeMap::<Cow<'_, str>, IgnoredAny>::deserialize(field).map(drop)
}

/// Returns the number at the start of a line without checking the checksum.
pub(crate) fn claimed_seq(bytes: &[u8]) -> Option<u64> {
    Some(read_number(bytes.strip_prefix(b"{\"seq\":")?)?.0)
}

/// Reads the outline of a line at a fraction of the cost of [`decode`]: the line is checked as a whole, and nothing of
/// it is kept. Returns `None` if the line cannot be read or is a revision, or if only [`decode`] can read it.
pub(crate) fn outline(bytes: &[u8]) -> Option<LineOutline<'_>> {
    let crc = checksum(bytes)?;
    let line: LineOutline<'_> = serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()?;
    let is_in_batch = line.batch.is_none_or(|(first, last)| (first..=last).contains(&line.seq));
    let numbers = [Some(line.seq), line.inbox, line.batch.map(|(_, last)| last)];
    let leave_room = numbers.into_iter().flatten().all(leaves_room);
    (line.rev.is_none() && is_in_batch && leave_room).then_some(LineOutline { crc, ..line })
}

/// Reads the outline from the first fields of a line alone, where this program writes them. Returns `None` if they are
/// in another form. Nothing after the id is looked at, except for the checksum: a list of chats shows no more.
pub(crate) fn quick_outline(bytes: &[u8]) -> Option<LineOutline<'_>> {
    let crc = checksum(bytes)?;
    let (seq, rest) = read_number(bytes.strip_prefix(b"{\"seq\":")?)?;
    let rest = rest.strip_prefix(b",\"type\":\"")?;
    let (kind, rest) = match rest.split_at_checked(3)? {
        (b"msg", rest) => (LineKind::Message, rest),
        (b"evt", rest) => (LineKind::Event, rest),
        _ => return None,
    };
    let mut rest = rest.strip_prefix(b"\"")?;
    let (mut inbox, mut batch) = (None, None);
    if let Some(behind) = rest.strip_prefix(b",\"in\":") {
        let (seq, behind) = read_number(behind)?;
        (inbox, rest) = (Some(seq), behind);
    }
    if let Some(behind) = rest.strip_prefix(b",\"batch\":[") {
        let (first, behind) = read_number(behind)?;
        let (last, behind) = read_number(behind.strip_prefix(b",")?)?;
        (batch, rest) = (Some((first, last)), behind.strip_prefix(b"]")?);
    }
    let id = rest.strip_prefix(b",\"id\":\"")?;
    // An escape ends the search too; then the line is not read in this quick way.
    let id = std::str::from_utf8(&id[..memchr::memchr2(b'"', b'\\', id)?]).ok()?;
    let is_whole = rest.get(b",\"id\":\"".len() + id.len()) == Some(&b'"');
    let (id, key) = (Some(id).filter(|id| !id.is_empty()), None);
    let line = LineOutline { seq, kind, rev: None, inbox, batch, id, key, blobs: (), crc };
    (is_whole && id.is_some()).then_some(line)
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(len);
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    leaves_room(number).then_some((number, rest))
}

fn line_number(json: &Json) -> Option<u64> {
    json.as_u64().filter(|number| leaves_room(*number))
}

/// The numbers in the data of a head that a writer counts on from.
const HEAD_NUMBERS: [&str; 4] = ["gen", "inbox", "archives", "archivedTo"];

/// Whether numbers can be given after those in a head.
fn head_leaves_room(body: &Object) -> bool {
    let Some(data) = body.get("data") else { return true };
    let published = data.get("published").and_then(|record| record.get("last"));
    let numbers = HEAD_NUMBERS.into_iter().map(|name| data.get(name)).chain([published]);
    let mut numbers = numbers.flatten().filter(|value| value.as_number().is_some());
    numbers.all(|number| line_number(number).is_some())
}

/// Whether numbers can be given after this one. Only a forged line has one that leaves no room.
pub(crate) fn leaves_room(number: u64) -> bool {
    number <= Seq::MAX.get()
}

/// Returns the bytes of a line without the carriage return at their end.
pub(crate) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn read_range(batch: &Json) -> Option<(u64, u64)> {
    match batch.as_array()? {
        [first, last] => Some((line_number(first)?, line_number(last)?)).filter(|(a, b)| a <= b),
        _ => None,
    }
}

/// Returns the checksum of a line if it matches the content.
fn checksum(line: &[u8]) -> Option<u32> {
    let (content, field) = line.split_at_checked(line.len().checked_sub(CRC_LEN)?)?;
    let digits = field.strip_prefix(CRC_FIELD)?.strip_suffix(b"\"}")?;
    // Only one spelling is accepted; otherwise a flipped bit in the case of a hex digit would go unnoticed.
    if !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let crc = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (crc == crc32c::crc32c(content)).then_some(crc)
}

/// Reads the line at the start of `bytes` and returns its length with it; `None` if `bytes` do not
/// start with a line.
///
/// Another line may follow without a newline between them, so the checksum decides where the line ends: at the
/// first `,"crc":"xxxxxxxx"}` whose digits match everything before it. The checksum is carried on from one
/// candidate to the next, so that content full of candidates still costs only one pass.
pub(crate) fn decode_first(bytes: &[u8]) -> Option<(usize, RawLine)> {
    let (mut crc, mut summed) = (0, 0);
    let mut tries = 0;
    for at in positions(bytes, CRC_FIELD) {
        let Some(field) = bytes.get(at..at + CRC_LEN) else { break };
        crc = crc32c::crc32c_append(crc, &bytes[summed..at]);
        summed = at;
        let digits = &field[CRC_FIELD.len()..CRC_LEN - 2];
        if field.ends_with(b"\"}") && digits == format!("{crc:08x}").as_bytes() {
            if let Some(line) = decode(&bytes[..at + CRC_LEN]) {
                return Some((at + CRC_LEN, line));
            }
            // Only content made to deceive holds the checksum of what stands before it.
            tries += 1;
            if tries == TRIES_MAX {
                break;
            }
        }
    }
    None
}

/// The number of false candidates after which the rest is given up, so that hostile content costs no
/// more than one pass.
const TRIES_MAX: usize = 16;

/// Returns the offsets of `pattern` in `bytes`.
fn positions<'a>(bytes: &'a [u8], pattern: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    bytes.windows(pattern.len()).enumerate().filter(move |(_, w)| *w == pattern).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(draft: &UnnumberedLine, seq: u64, batch: Option<(u64, u64)>) -> Vec<u8> {
        let mut out = Vec::new();
        draft.write(seq, batch, &mut out);
        assert_eq!(out.pop(), Some(b'\n'));
        out
    }

    fn message(text: &str) -> UnnumberedLine {
        UnnumberedLine::new(
            LineKind::Message,
            Object::from([("id", Json::from("m1")), ("text", text.into())]),
        )
    }

    #[test]
    fn a_line_is_json_with_seq_first_and_crc_last() {
        let draft = UnnumberedLine { rev: 2, inbox: Some(9), ..message("hi") };
        assert_eq!(
            String::from_utf8(written(&draft, 7, Some((7, 8)))).expect("utf-8"),
            r#"{"seq":7,"type":"msg","rev":2,"in":9,"batch":[7,8],"id":"m1","text":"hi","crc":"3881431e"}"#
        );
    }

    #[test]
    fn a_line_reads_back_with_its_fields_apart() {
        let blobs = Some(r#"{"/text":{"sha256":"aa"}}"#.to_owned());
        let draft =
            UnnumberedLine { rev: 2, inbox: Some(9), blobs, ..message("\",\"crc\":\"00000000\"}") };
        let line = decode(&written(&draft, 7, None)).expect("a line");
        assert_eq!((line.seq, line.rev, line.inbox, line.batch), (7, 2, Some(9), None));
        assert_eq!(line.body.keys().collect::<Vec<_>>(), ["id", "text"]);
        let again = line.clone().into_draft();
        assert_eq!(decode(&written(&again, 7, None)), Some(line));
    }

    #[test]
    fn an_outline_tells_what_the_whole_line_does_or_nothing() {
        let drafts = [
            message("hi"),
            UnnumberedLine { inbox: Some(9), ..message("a \\ \"b\"") },
            UnnumberedLine { rev: 1, ..message("again") },
            UnnumberedLine::new(LineKind::Event, Object::from([("id", "e7"), ("event", "x")])),
            UnnumberedLine::new(LineKind::Message, Object::from([("id", "a\"b")])),
            UnnumberedLine::new(LineKind::Message, Object::from([("id", "")])),
            UnnumberedLine::new(LineKind::Message, Object::from([("role", "user"), ("id", "m")])),
            UnnumberedLine::new(LineKind::Message, Object::from([("key", "k7"), ("text", "hi")])),
        ];
        let told = drafts.iter().map(|draft| {
            let bytes = written(draft, 7, Some((7, 8)));
            let line = decode(&bytes).expect("a line");
            let outline = outline(&bytes)?;
            assert_eq!((outline.seq, outline.kind), (line.seq, line.kind));
            assert_eq!((outline.inbox, outline.batch), (line.inbox, line.batch));
            assert_eq!((outline.id, outline.key), (line.body.str("id"), line.body.str("key")));
            let mut wrong = bytes.clone();
            wrong[40] ^= 1;
            assert_eq!(super::outline(&wrong), None);
            assert_eq!(super::quick_outline(&wrong), None);
            let is_usual = line.body.keys().next() == Some("id") && outline.id != Some("");
            assert_eq!(super::quick_outline(&bytes), is_usual.then_some(outline));
            Some(())
        });
        let told: Vec<bool> = told.map(|told| told.is_some()).collect();
        assert_eq!(told, [true, true, false, true, false, true, true, true]);
    }

    #[test]
    fn a_line_that_cannot_be_read_as_a_whole_has_no_outline() {
        let blobs = |blobs: &str| UnnumberedLine { blobs: Some(blobs.to_owned()), ..message("hi") };
        let far = UnnumberedLine { inbox: Some(u64::MAX), ..message("hi") };
        for draft in [blobs("3"), blobs("null"), far] {
            let bytes = written(&draft, 7, None);
            assert_eq!((decode(&bytes), outline(&bytes)), (None, None), "{draft:?}");
        }
        assert!(outline(&written(&blobs("{}"), 7, None)).is_some());
    }

    #[test]
    fn a_line_with_a_number_that_leaves_no_room_cannot_be_read() {
        let far = Seq::MAX.get() + 1;
        let with_in = |inbox| UnnumberedLine { inbox: Some(inbox), ..message("hi") };
        let with_rev = |rev| UnnumberedLine { rev, ..message("hi") };
        for number in [far, 1 << 53, u64::MAX] {
            let lines = [
                written(&message("hi"), number, None),
                written(&message("hi"), 7, Some((7, number))),
                written(&with_in(number), 7, None),
                written(&with_rev(number), 7, None),
            ];
            for bytes in lines {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                assert_eq!((decode(&bytes), outline(&bytes)), (None, None), "{text}");
                assert_eq!(quick_outline(&bytes), None, "{text}");
            }
        }
        let last = written(&with_in(far - 1), far - 1, Some((7, far - 1)));
        assert!(decode(&last).is_some() && outline(&last).is_some());
        assert_eq!(quick_outline(&last), outline(&last));
    }

    proptest! {
        #[test]
        fn a_flipped_bit_anywhere_is_noticed(text in ".{0,40}", at: prop::sample::Index, bit in 0..8) {
            let mut line = written(&message(&text), 3, None);
            let at = at.index(line.len());
            line[at] ^= 1u8 << bit;
            prop_assert_eq!(decode(&line), None);
        }

        #[test]
        fn bytes_from_anywhere_never_panic(bytes: Vec<u8>) {
            prop_assert!(decode(&bytes).is_none());
        }
    }
}
