//! Some rows of an index with their terms, as bytes.
//!
//! A segment never changes. Its rows follow those of the segment before it, and small neighbours are merged into a larger
//! one, so that there are few. Its rows are read as a whole; of its terms, only those that a question asks for:
//!
//! ```text
//! form  rows  copies  names  terms in order, in blocks  postings  the places of the blocks
//! ```
//!
//! A term is written without the letters that it shares with the one before, and the first of a block as a whole. All of
//! this is derived from the logs, so bytes of another form are no error: the index is made again.

use std::sync::Arc;

use ship_record::{Seq, Timestamp};

use super::message_row::{MessageRow, Names, RowCopy, RowPlace};
use super::numbers::{read_number, write_number};
use super::packed_postings::{pack, unpack};
use super::postings::{DamagedPostings, Posting, PostingList};

/// The form of the bytes. A change of the terms that a text is cut into changes this number, too.
const FORM: u64 = 2;

/// The number of terms in a block.
const BLOCK_TERMS: usize = 16;

/// The bits of a row's first byte.
const IS_ENTRY: u8 = 1;
const ASKS: u8 = 2;
const IS_HIT: u8 = 4;
const IS_PROMOTED: u8 = 8;
const HAS_TIME: u8 = 16;
const IS_LATER_VERSION: u8 = 32;

/// A segment in memory, with its rows read.
#[derive(Clone, Debug)]
pub(super) struct StoredSegment {
    bytes: Arc<Vec<u8>>,
    /// The number of its first row.
    pub(super) begin: u32,
    pub(super) len: u32,
    /// The number of its copies.
    pub(super) copies: usize,
    /// Where the terms begin in the bytes, and where the postings do.
    terms_at: usize,
    postings_at: usize,
    /// Where each block begins behind these.
    blocks: Vec<(usize, usize)>,
}

/// A term of a segment, with its postings as bytes.
#[derive(Clone, Copy, Debug)]
struct StoredTerm<'s> {
    messages: u32,
    postings: &'s [u8],
}

impl StoredSegment {
    /// Reads a segment whose first row has this number. Its rows and copies are added to the others.
    pub(super) fn read(
        bytes: Arc<Vec<u8>>,
        names: &mut Names,
        rows: &mut Vec<MessageRow>,
        copies: &mut Vec<RowCopy>,
    ) -> Result<Self, DamagedPostings> {
        let begin = u32::try_from(rows.len()).map_err(|_| DamagedPostings)?;
        let mut rest = bytes.as_slice();
        if read_number(&mut rest)? != FORM {
            return Err(DamagedPostings);
        }
        let [len, copied, named, blocks] = read_numbers(&mut rest)?;
        let [terms_len, postings_len] = read_numbers(&mut rest)?;
        let mut own_names = Vec::new();
        for _ in 0..named {
            own_names.push(names.number_of(read_text(&mut rest)?));
        }
        let mut reading = RowReader { names: own_names, before: RowNumbers::default() };
        for _ in 0..len {
            let number = rows.len() as u32;
            rows.push(reading.row(&mut rest, number)?);
        }
        for _ in 0..copied {
            copies.push(reading.copy(&mut rest, rows.len())?);
        }
        let places = read_blocks(&mut rest, blocks)?;
        let terms_at = bytes.len() - rest.len();
        let sizes = terms_len.checked_add(postings_len).and_then(|sum| usize::try_from(sum).ok());
        if sizes != Some(rest.len()) {
            return Err(DamagedPostings);
        }
        let postings_at = terms_at + terms_len as usize;
        let len = u32::try_from(len).map_err(|_| DamagedPostings)?;
        let copies = usize::try_from(copied).map_err(|_| DamagedPostings)?;
        Ok(Self { begin, len, copies, terms_at, postings_at, blocks: places, bytes })
    }

    /// Returns the bytes of the segment.
    pub(super) fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// Calls with each posting of a term. Messages are counted from the first row of the segment.
    pub(super) fn postings(
        &self,
        term: &str,
        call: &mut impl FnMut(Posting),
    ) -> Result<(), DamagedPostings> {
        let mut read = Ok(());
        self.terms_from(term, |found, stored| {
            if found == term {
                read = unpack(stored.postings, stored.messages, call);
            }
            found < term
        })?;
        read
    }

    /// Calls with each term that begins so, in their order, with the number of rows that have it.
    pub(super) fn with_prefix(
        &self,
        prefix: &str,
        mut call: impl FnMut(&str, u32),
    ) -> Result<(), DamagedPostings> {
        self.terms_from(prefix, |term, stored| {
            let is_meant = term.starts_with(prefix);
            if is_meant {
                call(term, stored.messages);
            }
            is_meant || term < prefix
        })
    }

    /// Calls with each term and its postings.
    pub(super) fn for_each(
        &self,
        mut call: impl FnMut(&str, PostingList),
    ) -> Result<(), DamagedPostings> {
        let mut read = Ok(());
        self.terms_from("", |term, stored| {
            let mut list = PostingList::default();
            let mut add = |posting: Posting| list.add_times(posting.message, posting.count);
            read = unpack(stored.postings, stored.messages, &mut add);
            if read.is_ok() {
                call(term, list);
            }
            read.is_ok()
        })?;
        read
    }

    /// Calls with terms in their order, from the block that may have the first one, until a call returns false.
    fn terms_from(
        &self,
        first: &str,
        mut call: impl FnMut(&str, StoredTerm<'_>) -> bool,
    ) -> Result<(), DamagedPostings> {
        let mut block = self.block_of(first)?;
        let mut term = String::new();
        while let Some(&(terms, postings)) = self.blocks.get(block) {
            let end =
                self.blocks.get(block + 1).map_or(self.postings_at, |it| self.terms_at + it.0);
            let mut rest = self.bytes.get(self.terms_at + terms..end).ok_or(DamagedPostings)?;
            let mut at = self.postings_at + postings;
            term.clear();
            while !rest.is_empty() {
                let [shared, messages, len] = read_numbers(&mut rest)?;
                let shared = usize::try_from(shared).map_err(|_| DamagedPostings)?;
                if !term.is_char_boundary(shared) {
                    return Err(DamagedPostings);
                }
                term.truncate(shared);
                term.push_str(read_text(&mut rest)?);
                let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
                let end = end.ok_or(DamagedPostings)?;
                let postings = self.bytes.get(at..end).ok_or(DamagedPostings)?;
                let messages = u32::try_from(messages).map_err(|_| DamagedPostings)?;
                if !call(&term, StoredTerm { messages, postings }) {
                    return Ok(());
                }
                at = end;
            }
            block += 1;
        }
        Ok(())
    }

    /// Returns the block that has a term if the segment has it.
    fn block_of(&self, term: &str) -> Result<usize, DamagedPostings> {
        let (mut from, mut to) = (0, self.blocks.len());
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            if self.first_term(middle)? <= term { from = middle } else { to = middle }
        }
        Ok(from)
    }

    fn first_term(&self, block: usize) -> Result<&str, DamagedPostings> {
        let at = self.blocks.get(block).ok_or(DamagedPostings)?.0;
        let mut rest = self.bytes.get(self.terms_at + at..).ok_or(DamagedPostings)?;
        let [_, _, _] = read_numbers(&mut rest)?;
        read_text(&mut rest)
    }
}

/// Writes the terms of a segment, which come in their order.
#[derive(Debug, Default)]
pub(super) struct SegmentWriter {
    terms: Vec<u8>,
    postings: Vec<u8>,
    blocks: Vec<(usize, usize)>,
    count: usize,
    before: String,
}

impl SegmentWriter {
    /// Adds the next term.
    pub(super) fn add(&mut self, term: &str, list: &PostingList) {
        let encoded = pack(list);
        let mut shared = 0;
        if self.count.is_multiple_of(BLOCK_TERMS) {
            self.blocks.push((self.terms.len(), self.postings.len()));
        } else {
            shared = shared_bytes(&self.before, term);
        }
        write_number(&mut self.terms, shared as u64);
        write_number(&mut self.terms, u64::from(list.messages()));
        write_number(&mut self.terms, encoded.len() as u64);
        write_text(&mut self.terms, term.get(shared..).unwrap_or_default());
        self.postings.extend(encoded);
        self.count += 1;
        term.clone_into(&mut self.before);
    }

    /// Makes the segment with these rows, of which the first has the number `begin`.
    pub(super) fn finish(
        self,
        begin: u32,
        rows: &[MessageRow],
        copies: &[RowCopy],
        names: &Names,
    ) -> StoredSegment {
        let mut used = UsedNames::default();
        let (mut body, mut before) = (Vec::new(), RowNumbers::default());
        for (row, number) in rows.iter().zip(begin..) {
            write_row(&mut body, row, number, &mut used, &mut before);
        }
        for copy in copies {
            write_number(&mut body, copy.seq.get());
            write_number(&mut body, u64::from(copy.row));
            write_number(&mut body, used.number_of(copy.context));
        }
        let mut bytes = Vec::new();
        write_number(&mut bytes, FORM);
        for count in [rows.len(), copies.len(), used.0.len(), self.blocks.len()] {
            write_number(&mut bytes, count as u64);
        }
        write_number(&mut bytes, self.terms.len() as u64);
        write_number(&mut bytes, self.postings.len() as u64);
        used.0.iter().for_each(|name| write_text(&mut bytes, names.text(*name)));
        bytes.extend(body);
        let (mut terms, mut postings) = (0, 0);
        for (term, posting) in &self.blocks {
            write_number(&mut bytes, (term - terms) as u64);
            write_number(&mut bytes, (posting - postings) as u64);
            (terms, postings) = (*term, *posting);
        }
        let terms_at = bytes.len();
        bytes.extend(self.terms);
        let postings_at = bytes.len();
        bytes.extend(self.postings);
        StoredSegment {
            bytes: Arc::new(bytes),
            begin,
            len: rows.len() as u32,
            copies: copies.len(),
            terms_at,
            postings_at,
            blocks: self.blocks,
        }
    }
}

/// The names of a segment, each with its number in it.
#[derive(Debug, Default)]
struct UsedNames(Vec<u32>);

impl UsedNames {
    fn number_of(&mut self, name: u32) -> u64 {
        // The names of neighbours are mostly the same, so the last ones are looked at first.
        let known = self.0.iter().rposition(|used| *used == name);
        let at = known.unwrap_or_else(|| {
            self.0.push(name);
            self.0.len() - 1
        });
        at as u64
    }
}

/// The numbers of the row before, from which those of a row differ little.
#[derive(Clone, Copy, Debug, Default)]
struct RowNumbers {
    place: i64,
    promoted: i64,
    ts: i64,
}

fn write_row(
    bytes: &mut Vec<u8>,
    row: &MessageRow,
    number: u32,
    used: &mut UsedNames,
    before: &mut RowNumbers,
) {
    let (is_entry, place, context) = match row.place {
        RowPlace::Line(seq, context) => (false, seq.get(), Some(context)),
        RowPlace::Entry(entry) => (true, entry, None),
    };
    let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    bytes.push(
        flag(is_entry, IS_ENTRY)
            | flag(row.asks, ASKS)
            | flag(row.is_hit, IS_HIT)
            | flag(row.promoted_from.is_some(), IS_PROMOTED)
            | flag(row.ts.is_some(), HAS_TIME)
            | flag(row.first_version != number, IS_LATER_VERSION),
    );
    write_text(bytes, &row.id);
    write_number(bytes, used.number_of(row.origin));
    write_number(bytes, used.number_of(row.author));
    if let Some(context) = context {
        write_number(bytes, used.number_of(context));
    }
    write_step(bytes, place as i64, &mut before.place);
    if let Some(promoted) = row.promoted_from {
        write_step(bytes, promoted as i64, &mut before.promoted);
    }
    if let Some(ts) = row.ts {
        write_step(bytes, ts.millis(), &mut before.ts);
    }
    if row.first_version != number {
        write_number(bytes, u64::from(row.first_version));
    }
    // Words count one, and pairs of characters half of it.
    write_number(bytes, (row.length * 2.0) as u64);
    bytes.extend(row.digest.to_le_bytes());
}

/// Writes a number by its distance from the one before.
fn write_step(bytes: &mut Vec<u8>, number: i64, before: &mut i64) {
    let step = number.wrapping_sub(*before);
    write_number(bytes, ((step << 1) ^ (step >> 63)) as u64);
    *before = number;
}

fn read_step(bytes: &mut &[u8], before: &mut i64) -> Result<i64, DamagedPostings> {
    let step = read_number(bytes)?;
    *before = before.wrapping_add((step >> 1) as i64 ^ -((step & 1) as i64));
    Ok(*before)
}

/// Reads the rows of a segment.
struct RowReader {
    /// The number of each name of the segment among the names of the index.
    names: Vec<u32>,
    before: RowNumbers,
}

impl RowReader {
    fn row(&mut self, bytes: &mut &[u8], number: u32) -> Result<MessageRow, DamagedPostings> {
        let (flags, rest) = bytes.split_first().ok_or(DamagedPostings)?;
        *bytes = rest;
        let has = |bit: u8| flags & bit != 0;
        let id = Arc::from(read_text(bytes)?);
        let (origin, author) = (self.name(bytes)?, self.name(bytes)?);
        let context = if has(IS_ENTRY) { 0 } else { self.name(bytes)? };
        let place = read_step(bytes, &mut self.before.place)? as u64;
        let place = match has(IS_ENTRY) {
            true => RowPlace::Entry(place),
            false => RowPlace::Line(Seq::new(place), context),
        };
        let promoted = match has(IS_PROMOTED) {
            true => Some(read_step(bytes, &mut self.before.promoted)? as u64),
            false => None,
        };
        let ts = match has(HAS_TIME) {
            true => Some(Timestamp::from_millis(read_step(bytes, &mut self.before.ts)?)),
            false => None,
        };
        let first = if has(IS_LATER_VERSION) { read_number(bytes)? } else { u64::from(number) };
        let first = u32::try_from(first).ok().filter(|first| *first <= number);
        let length = read_number(bytes)? as f32 / 2.0;
        let (digest, rest) = bytes.split_first_chunk().ok_or(DamagedPostings)?;
        *bytes = rest;
        Ok(MessageRow {
            id,
            origin,
            place,
            promoted_from: promoted,
            ts,
            author,
            asks: has(ASKS),
            is_hit: has(IS_HIT),
            length,
            digest: u32::from_le_bytes(*digest),
            first_version: first.ok_or(DamagedPostings)?,
        })
    }

    fn copy(&self, bytes: &mut &[u8], rows: usize) -> Result<RowCopy, DamagedPostings> {
        let [seq, row] = read_numbers(bytes)?;
        let row = u32::try_from(row).ok().filter(|row| (*row as usize) < rows);
        let row = row.ok_or(DamagedPostings)?;
        Ok(RowCopy { seq: Seq::new(seq), row, context: self.name(bytes)? })
    }

    fn name(&self, bytes: &mut &[u8]) -> Result<u32, DamagedPostings> {
        let number = usize::try_from(read_number(bytes)?).map_err(|_| DamagedPostings)?;
        self.names.get(number).copied().ok_or(DamagedPostings)
    }
}

fn read_blocks(bytes: &mut &[u8], count: u64) -> Result<Vec<(usize, usize)>, DamagedPostings> {
    let (mut places, mut at) = (Vec::new(), (0usize, 0usize));
    for _ in 0..count {
        let [terms, postings] = read_numbers(bytes)?;
        let add = |at: usize, step: u64| at.checked_add(usize::try_from(step).ok()?);
        at.0 = add(at.0, terms).ok_or(DamagedPostings)?;
        at.1 = add(at.1, postings).ok_or(DamagedPostings)?;
        places.push(at);
    }
    Ok(places)
}

fn read_numbers<const N: usize>(bytes: &mut &[u8]) -> Result<[u64; N], DamagedPostings> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = read_number(bytes)?;
    }
    Ok(numbers)
}

fn write_text(bytes: &mut Vec<u8>, text: &str) {
    write_number(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

fn read_text<'b>(bytes: &mut &'b [u8]) -> Result<&'b str, DamagedPostings> {
    let len = usize::try_from(read_number(bytes)?).map_err(|_| DamagedPostings)?;
    let (text, rest) = bytes.split_at_checked(len).ok_or(DamagedPostings)?;
    *bytes = rest;
    std::str::from_utf8(text).map_err(|_| DamagedPostings)
}

/// Returns the number of bytes at the beginning that two texts share, in whole characters.
fn shared_bytes(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}
