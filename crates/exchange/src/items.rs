//! Divides a file into its values: the lines of JSON lines, or the elements of a list.
//!
//! The list may be the whole file, or the field `messages` of one object. A value is found by its brackets and quotes
//! alone, so that a bad one does not spoil those behind it, and so that a file needs no more memory for being one line.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};
use ship_message::json::Json;

/// The maximal length of one value, which is read into memory.
const VALUE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The number of bytes that are read at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// The maximal length of an id or a title.
const NAME_BYTES_MAX: usize = 1000;

/// The field of an object that has its messages.
const MESSAGES: &[u8] = b"messages";

/// The place of a value in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ItemPlace {
    pub(crate) line: u32,
    pub(crate) bytes: u32,
    pub(crate) offset: u64,
    /// A digest of its bytes.
    pub(crate) digest: u64,
}

/// A value that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadItem {
    /// The line on which the value begins. The first line is 1.
    pub line: u64,
    /// The reason, as one sentence.
    pub reason: String,
}

/// A value as bytes.
#[derive(Debug)]
pub(crate) struct FoundItem {
    pub(crate) line: u64,
    offset: u64,
    /// The bytes, or the reason why they are not a value.
    pub(crate) content: Result<Vec<u8>, &'static str>,
}

impl FoundItem {
    /// Returns the place of the value.
    pub(crate) fn place(&self, bytes: &[u8]) -> ItemPlace {
        let digest = Sha256::digest(bytes);
        ItemPlace {
            line: u32::try_from(self.line).unwrap_or(u32::MAX),
            bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            offset: self.offset,
            digest: digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        }
    }
}

/// The names of the object whose list is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListNames {
    pub(crate) id: Option<String>,
    pub(crate) title: Option<String>,
}

/// The way in which the values stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Lines,
    /// The list begins here.
    List(u64),
    /// All of the file is one value.
    Whole(u64),
}

/// Reads bytes with their position and line.
struct Cursor<R> {
    reader: BufReader<R>,
    offset: u64,
    line: u64,
}

impl<R: Read + Seek> Cursor<R> {
    fn at_start(mut source: R) -> io::Result<Self> {
        source.seek(SeekFrom::Start(0))?;
        let reader = BufReader::with_capacity(BLOCK_BYTES, source);
        let mut cursor = Self { reader, offset: 0, line: 1 };
        if cursor.reader.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            cursor.reader.consume(3);
            cursor.offset = 3;
        }
        Ok(cursor)
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.reader.fill_buf()?.first().copied())
    }

    fn next(&mut self) -> io::Result<Option<u8>> {
        let Some(byte) = self.peek()? else { return Ok(None) };
        self.reader.consume(1);
        self.offset += 1;
        self.line += u64::from(byte == b'\n');
        Ok(Some(byte))
    }

    /// Passes over bytes, and returns the next one behind them.
    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) -> io::Result<Option<u8>> {
        while let Some(byte) = self.peek()?.filter(|byte| is_skipped(*byte)) {
            let _ = byte;
            self.next()?;
        }
        self.peek()
    }

    /// Reads a value up to its last byte. `keep` takes its bytes; the result tells how it ended.
    fn value(&mut self, mut keep: impl FnMut(&[u8])) -> io::Result<ValueEnd> {
        let mut scan = ValueScan::default();
        loop {
            let block = self.reader.fill_buf()?;
            if block.is_empty() {
                return Ok(scan.at_end_of_file());
            }
            let (taken, end) = scan.take(block);
            keep(&block[..taken]);
            self.line += memchr::memchr_iter(b'\n', &block[..taken]).count() as u64;
            self.offset += taken as u64;
            self.reader.consume(taken);
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }
}

/// The end of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueEnd {
    Whole,
    /// The file ends first.
    Cut,
}

/// Finds the end of a value by its brackets and quotes.
#[derive(Default)]
struct ValueScan {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// Whether the value is a number or a word.
    is_bare: bool,
}

impl ValueScan {
    /// Takes the bytes of a block that belong to the value. Returns their number, and the end if it is among them.
    fn take(&mut self, block: &[u8]) -> (usize, Option<ValueEnd>) {
        let mut at = 0;
        while let Some(byte) = block.get(at).copied() {
            if self.in_text {
                if std::mem::take(&mut self.is_escaped) {
                    at += 1;
                    continue;
                }
                let Some(mark) = memchr::memchr2(b'"', b'\\', &block[at..]) else { break };
                at += mark + 1;
                match block[at - 1] {
                    b'\\' => self.is_escaped = true,
                    _ => {
                        self.in_text = false;
                        if self.depth == 0 {
                            return (at, Some(ValueEnd::Whole));
                        }
                    }
                }
                continue;
            }
            match byte {
                b',' | b']' | b'}' if self.depth == 0 => return (at, Some(ValueEnd::Whole)),
                byte if self.depth == 0 && self.is_bare && byte.is_ascii_whitespace() => {
                    return (at, Some(ValueEnd::Whole));
                }
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, Some(ValueEnd::Whole));
                    }
                }
                _ => self.is_bare |= self.depth == 0,
            }
            at += 1;
        }
        (block.len(), None)
    }

    fn at_end_of_file(&self) -> ValueEnd {
        if self.depth == 0 && !self.in_text { ValueEnd::Whole } else { ValueEnd::Cut }
    }
}

/// Gives the values of a file one by one.
pub(crate) struct Items<R> {
    cursor: Cursor<R>,
    layout: Layout,
    names: ListNames,
    is_done: bool,
}

impl<R: Read + Seek> Items<R> {
    /// Finds out how the values stand in a file, and begins with the first.
    pub(crate) fn new(mut source: R) -> io::Result<Self> {
        let mut names = ListNames::default();
        let layout = layout_of(&mut source, &mut names)?;
        let mut cursor = Cursor::at_start(source)?;
        if let Layout::List(start) | Layout::Whole(start) = layout {
            while cursor.offset < start && cursor.next()?.is_some() {}
        }
        Ok(Self { cursor, layout, names, is_done: false })
    }

    /// Returns the next value; `None` behind the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<FoundItem>> {
        match self.layout {
            Layout::Lines => self.next_line(),
            Layout::List(_) => self.next_element(),
            Layout::Whole(_) if self.is_done => Ok(None),
            Layout::Whole(_) => {
                self.is_done = true;
                self.found_value().map(Some)
            }
        }
    }

    /// Returns the id and the title of the object whose list this is.
    pub(crate) fn names(&self) -> &ListNames {
        &self.names
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.cursor.offset
    }

    fn next_line(&mut self) -> io::Result<Option<FoundItem>> {
        loop {
            let (line, offset) = (self.cursor.line, self.cursor.offset);
            let mut bytes = Vec::new();
            let mut is_long = false;
            let mut has_end = false;
            while !has_end {
                let block = self.cursor.reader.fill_buf()?;
                if block.is_empty() {
                    break;
                }
                let end = memchr::memchr(b'\n', block);
                has_end = end.is_some();
                let taken = end.map_or(block.len(), |end| end + 1);
                is_long |= bytes.len() + taken > VALUE_BYTES_MAX;
                if !is_long {
                    bytes.extend_from_slice(&block[..taken]);
                }
                self.cursor.offset += taken as u64;
                self.cursor.line += u64::from(has_end);
                self.cursor.reader.consume(taken);
            }
            if self.cursor.offset == offset {
                return Ok(None);
            }
            if is_long {
                return Ok(Some(FoundItem { line, offset, content: Err(TOO_LONG) }));
            }
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            if blank == bytes.len() {
                continue;
            }
            let end = bytes.iter().rposition(|byte| !byte.is_ascii_whitespace());
            bytes.truncate(end.map_or(0, |end| end + 1));
            bytes.drain(..blank);
            let offset = offset + blank as u64;
            return Ok(Some(FoundItem { line, offset, content: Ok(bytes) }));
        }
    }

    fn next_element(&mut self) -> io::Result<Option<FoundItem>> {
        if self.is_done {
            return Ok(None);
        }
        let is_between = |byte: u8| byte.is_ascii_whitespace() || byte == b',';
        match self.cursor.skip(is_between)? {
            Some(b']') => {
                self.is_done = true;
                Ok(None)
            }
            Some(b'}') => {
                self.is_done = true;
                self.failed("a bracket closes nothing").map(Some)
            }
            None => {
                self.is_done = true;
                self.failed(CUT).map(Some)
            }
            Some(_) => self.found_value().map(Some),
        }
    }

    fn failed(&self, reason: &'static str) -> io::Result<FoundItem> {
        let (line, offset) = (self.cursor.line, self.cursor.offset);
        Ok(FoundItem { line, offset, content: Err(reason) })
    }

    fn found_value(&mut self) -> io::Result<FoundItem> {
        let (line, offset) = (self.cursor.line, self.cursor.offset);
        let mut bytes = Vec::new();
        let mut is_long = false;
        let end = self.cursor.value(|block| {
            is_long |= bytes.len() + block.len() > VALUE_BYTES_MAX;
            if !is_long {
                bytes.extend_from_slice(block);
            }
        })?;
        let content = match end {
            _ if is_long => Err(TOO_LONG),
            ValueEnd::Whole => Ok(bytes),
            ValueEnd::Cut => {
                self.is_done = true;
                Err(CUT)
            }
        };
        Ok(FoundItem { line, offset, content })
    }
}

const TOO_LONG: &str = "it is longer than 64 MB";
const CUT: &str = "the file ends in the middle of it";

/// Finds out how the values stand in a file.
fn layout_of<R: Read + Seek>(source: &mut R, names: &mut ListNames) -> io::Result<Layout> {
    let mut cursor = Cursor::at_start(source)?;
    let first = cursor.skip(|byte| byte.is_ascii_whitespace())?;
    let start = cursor.offset;
    match first {
        Some(b'[') => return Ok(Layout::List(start + 1)),
        Some(b'{') => {}
        _ => return Ok(Layout::Lines),
    }
    let line = cursor.line;
    let mut head = Vec::new();
    let end = cursor.value(|block| {
        let room = 4096usize.saturating_sub(head.len()).min(block.len());
        head.extend_from_slice(&block[..room]);
    })?;
    // The second line of one object begins with a key, and that of JSON lines with another object.
    let second = memchr::memchr(b'\n', &head).map(|at| &head[at + 1..]);
    let second = second.and_then(|rest| rest.iter().find(|byte| !byte.is_ascii_whitespace()));
    if second == Some(&b'{') || (end == ValueEnd::Cut && second.is_none()) {
        return Ok(Layout::Lines);
    }
    let is_alone = cursor.skip(|byte| byte.is_ascii_whitespace())?.is_none();
    if !is_alone {
        return Ok(if cursor.line == line || second.is_none() {
            Layout::Lines
        } else {
            Layout::Whole(start)
        });
    }
    let list = list_in_object(cursor.reader.into_inner(), start, names)?;
    Ok(list.map_or(Layout::Whole(start), Layout::List))
}

/// Returns the place behind the bracket of the list `messages` of the object at `start`. The id and the title that stand
/// before it become `names`.
fn list_in_object<R: Read + Seek>(
    source: R,
    start: u64,
    names: &mut ListNames,
) -> io::Result<Option<u64>> {
    let mut cursor = Cursor::at_start(source)?;
    while cursor.offset <= start && cursor.next()?.is_some() {}
    loop {
        match cursor.skip(|byte| byte.is_ascii_whitespace() || byte == b',')? {
            Some(b'"') => {}
            _ => return Ok(None),
        }
        let mut key = Vec::new();
        cursor.value(|block| key.extend_from_slice(&block[..block.len().min(64)]))?;
        let value = cursor.skip(|byte| byte.is_ascii_whitespace() || byte == b':')?;
        if value == Some(b'[') && key.get(1..key.len() - 1) == Some(MESSAGES) {
            return Ok(Some(cursor.offset + 1));
        }
        let mut text = Vec::new();
        let end = cursor.value(|block| {
            let room = NAME_BYTES_MAX.saturating_sub(text.len()).min(block.len());
            text.extend_from_slice(&block[..room]);
        })?;
        if end == ValueEnd::Cut {
            return Ok(None);
        }
        let text = || Json::parse_bytes(&text).ok()?.as_str().map(str::to_owned);
        match key.as_slice() {
            b"\"id\"" => names.id = text(),
            b"\"title\"" => names.title = text(),
            _ => {}
        }
    }
}

/// Reads the bytes of a value again.
pub(crate) fn read_again<R: Read + Seek>(source: &mut R, place: ItemPlace) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(place.offset))?;
    let mut bytes = vec![0; place.bytes as usize];
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor as Bytes;

    use super::*;

    fn values(text: &str) -> Vec<(u64, Result<String, &'static str>)> {
        let mut items = Items::new(Bytes::new(text.as_bytes())).expect("memory is read");
        let mut found = Vec::new();
        while let Some(item) = items.next().expect("memory is read") {
            let again = item.content.as_ref().ok().map(|bytes| {
                let place = item.place(bytes);
                read_again(&mut Bytes::new(text.as_bytes()), place).expect("it is there")
            });
            assert_eq!(again.as_ref(), item.content.as_ref().ok(), "read again");
            let text = |bytes| String::from_utf8(bytes).expect("text");
            found.push((item.line, item.content.map(text)));
        }
        found
    }

    fn whole(found: &[(u64, &str)]) -> Vec<(u64, Result<String, &'static str>)> {
        found.iter().map(|(line, text)| (*line, Ok((*text).to_owned()))).collect()
    }

    #[test]
    fn lines_a_list_and_the_messages_of_an_object_have_the_same_values() {
        let (one, two) = (r#"{"a":"]}\","}"#, r#"{"b":[{"c":1}]}"#);
        assert_eq!(values(&format!("{one}\n\n  {two}\r\n")), whole(&[(1, one), (3, two)]));
        assert_eq!(values(&format!("\u{feff}{one}\n{two}")), whole(&[(1, one), (2, two)]));
        assert_eq!(values(&format!("[{one},\n{two}\n]\n")), whole(&[(1, one), (2, two)]));
        let object = format!(r#"{{"title":"[{{","n":[1,{{}}],"messages":[{one},{two}],"x":[]}}"#);
        assert_eq!(values(&object), whole(&[(1, one), (1, two)]));
        let pretty = format!("{{\n \"id\" : 7 ,\n \"messages\" : [\n {one} , 5, \"x\"] }}\n");
        assert_eq!(values(&pretty), whole(&[(4, one), (4, "5"), (4, "\"x\"")]));
    }

    #[test]
    fn one_object_without_messages_is_one_value() {
        let pretty = "{\n \"mapping\": {\"messages\": [1]}\n}";
        assert_eq!(values(&format!("\n{pretty}\n")), whole(&[(2, pretty)]));
        assert_eq!(values(r#"{"id":1}"#), whole(&[(1, r#"{"id":1}"#)]));
        assert_eq!(values(""), []);
        assert_eq!(values(" \n \n"), []);
    }

    #[test]
    fn a_bad_line_does_not_spoil_the_others() {
        let lines = "{\"a\": \"cut\n{\"b\":1}\nno json\n{\"c\":[}\n{\"d\":4}";
        let found = values(lines);
        let texts: Vec<&str> = found.iter().filter_map(|(_, text)| text.as_deref().ok()).collect();
        assert_eq!(texts, ["{\"a\": \"cut", "{\"b\":1}", "no json", "{\"c\":[}", "{\"d\":4}"]);
    }

    #[test]
    fn a_list_that_is_cut_says_so_at_the_line_where_its_last_value_begins() {
        assert_eq!(values("[1,\n{\"a\":[2"), [(1, Ok("1".to_owned())), (2, Err(CUT))]);
        assert_eq!(values("[1,\n"), [(1, Ok("1".to_owned())), (2, Err(CUT))]);
        assert_eq!(values("{\"a\":\"b"), whole(&[(1, "{\"a\":\"b")]), "a line that is cut");
    }

    #[test]
    fn a_value_may_be_longer_than_a_block_and_deep() {
        let long = format!("\"{}\\\"\"", "x".repeat(BLOCK_BYTES * 2 + 7));
        let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
        assert_eq!(values(&format!("[{long},{deep}]")), whole(&[(1, &long), (1, &deep)]));
    }
}
