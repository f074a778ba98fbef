//! Encodes entries as lines and reads them back.
//!
//! Entries that belong together, such as a skill's event, result and prompt, form a *batch*. It is written at
//! once and read as a whole or not at all. Every line of a batch except the last ends with a tab before its
//! newline. A tab is white space in JSON, so other programs read the lines as usual, and a file without batches
//! has no such tab.
//!
//! Only the last batch of a file can be torn, because each batch is synced before the next one is written. A crash
//! leaves it without its newline, without its last line, or with NULs where blocks did not reach the disk. Such a
//! torn tail was never acknowledged and is not read. A whole line that is not an entry cannot come from a crash, so
//! it is an error, and nothing is repaired by guessing.

use std::io::{self, BufRead};

use ship_message::json::Json;

use super::{ContextEntry, EntryError};

/// Encodes entries as one batch. Returns the text and the offset of each line in it.
pub(super) fn write_batch(entries: &[ContextEntry]) -> (String, Vec<u64>) {
    let mut text = String::new();
    let mut offsets = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        offsets.push(text.len() as u64);
        entry.to_json().write_to(&mut text);
        text.push_str(if at + 1 < entries.len() { "\t\n" } else { "\n" });
    }
    (text, offsets)
}

/// The length of a file with and without its torn tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The length of all whole batches.
    pub(super) whole: u64,
    /// The length with the torn tail.
    pub(super) total: u64,
}

/// The reason why a file could not be read to its end.
#[derive(Debug)]
pub(super) enum ScanError {
    /// The system reports an error.
    Io(io::Error),
    /// A line is not an entry, and a crash cannot be the cause.
    Damaged { line: u64, cause: EntryError },
}

/// Reads whole batches and passes each entry, with the offset of its line, to `each`.
pub(super) fn scan_entries(
    mut bytes: impl BufRead,
    each: impl FnMut(u64, ContextEntry),
) -> Result<Extent, ScanError> {
    let mut scan = EntryScan {
        each,
        batch: Vec::new(),
        with_nuls: None,
        batch_start: 0,
        offset: 0,
        line_count: 0,
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        bytes.read_until(b'\n', &mut line).map_err(ScanError::Io)?;
        if line.pop_if(|last| *last == b'\n').is_none() {
            return scan.finish(line.len());
        }
        scan.push_line(&line)?;
    }
}

struct EntryScan<F> {
    each: F,
    /// The entries of the batch that is being read.
    batch: Vec<(u64, ContextEntry)>,
    /// The first line with NULs in that batch, and whether the batch has ended.
    with_nuls: Option<LineWithNuls>,
    batch_start: u64,
    offset: u64,
    line_count: u64,
}

struct LineWithNuls {
    line: u64,
    cause: EntryError,
    ended: bool,
}

impl<F: FnMut(u64, ContextEntry)> EntryScan<F> {
    fn push_line(&mut self, line: &[u8]) -> Result<(), ScanError> {
        self.check_nothing_follows_a_batch_with_nuls()?;
        self.line_count += 1;
        let start = self.offset;
        self.offset += line.len() as u64 + 1;
        if !line.iter().all(u8::is_ascii_whitespace) {
            self.push_entry(start, line)?;
        }
        // Some programs, such as git, write a carriage return before each newline.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A NUL at the end may stand in the place of the tab.
        if !line.ends_with(b"\t") && !line.ends_with(b"\0") {
            self.end_batch();
        }
        Ok(())
    }

    fn push_entry(&mut self, start: u64, line: &[u8]) -> Result<(), ScanError> {
        match parse(line) {
            Ok(entry) => self.batch.push((start, entry)),
            Err(cause) if line.contains(&0) => {
                let line = self.line_count;
                self.with_nuls.get_or_insert(LineWithNuls { line, cause, ended: false });
            }
            Err(cause) => return Err(ScanError::Damaged { line: self.line_count, cause }),
        }
        Ok(())
    }

    fn end_batch(&mut self) {
        match &mut self.with_nuls {
            Some(line) => line.ended = true,
            None => {
                self.batch.drain(..).for_each(|(start, entry)| (self.each)(start, entry));
                self.batch_start = self.offset;
            }
        }
    }

    /// Reports a batch with NULs that is followed by any bytes: it was synced, so no crash made the NULs.
    fn check_nothing_follows_a_batch_with_nuls(&mut self) -> Result<(), ScanError> {
        match self.with_nuls.take_if(|line| line.ended) {
            Some(LineWithNuls { line, cause, .. }) => Err(ScanError::Damaged { line, cause }),
            None => Ok(()),
        }
    }

    fn finish(mut self, fragment: usize) -> Result<Extent, ScanError> {
        if fragment > 0 {
            self.check_nothing_follows_a_batch_with_nuls()?;
        }
        Ok(Extent { whole: self.batch_start, total: self.offset + fragment as u64 })
    }
}

fn parse(line: &[u8]) -> Result<ContextEntry, EntryError> {
    ContextEntry::from_json(Json::parse_bytes(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = r#"{"id":"m001","ts":"t","type":"msg","role":"user","content":"a"}"#;
    const B: &str = r#"{"id":"m002","ts":"t","type":"msg","role":"user","content":"b"}"#;

    /// Returns the ids that are read and the number of bytes that are cut, or the number of the damaged line.
    fn read(text: &str) -> Result<(Vec<String>, u64), u64> {
        let mut ids = Vec::new();
        match scan_entries(text.as_bytes(), |_, entry| ids.push(entry.id().to_owned())) {
            Ok(Extent { whole, total }) => Ok((ids, total - whole)),
            Err(ScanError::Damaged { line, .. }) => Err(line),
            Err(ScanError::Io(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn whole_lines_are_read_and_blank_ones_skipped() {
        assert_eq!(read(""), Ok((vec![], 0)));
        assert_eq!(read(&format!("{A}\n\n{B}\r\n")), Ok((vec!["m001".into(), "m002".into()], 0)));
    }

    #[test]
    fn a_torn_tail_is_not_read() {
        let whole = format!("{A}\n");
        for tail in [
            B.to_owned(),
            B[..20].to_owned(),
            "\0\0\0".to_owned(),
            format!("\0\0{}\n", &B[5..]),
            format!("{B}\t\n"),
            format!("{B}\t\n{}", &A[..9]),
            format!("{B}\t\n\0\0\0{}\n", &A[9..]),
            format!("\0\0\0{}\t\n{B}\n", &A[9..]),
            format!("{A}\0\n{B}\n"),
            format!("{B}\t\r\n"),
            " ".to_owned(),
        ] {
            let found = read(&format!("{whole}{tail}"));
            assert_eq!(found, Ok((vec!["m001".into()], tail.len() as u64)), "{tail:?}");
        }
    }

    #[test]
    fn damage_that_no_crash_can_cause_is_an_error_that_names_the_line() {
        for (text, line) in [
            (format!("{A}\nnonsense\n{B}\n"), 2),
            (format!("{A}\n{{}}\n"), 2),
            (format!("\0\0{}\n{B}\n", &A[2..]), 1),
            (format!("{A}\n\0\0{}\n{}", &A[2..], &B[..7]), 2),
            (format!("{A}\n\0{A}\t\n{A}\n{B}\n"), 2),
        ] {
            assert_eq!(read(&text), Err(line), "{text:?}");
        }
    }

    #[test]
    fn a_batch_is_read_whole_and_its_lines_are_plain_json() {
        let entries = [A, B].map(|line| ContextEntry::parse(line).unwrap());
        let (text, offsets) = write_batch(&entries);
        assert_eq!(text, format!("{A}\t\n{B}\n"));
        assert_eq!(offsets, [0, A.len() as u64 + 2]);
        assert_eq!(read(&text), Ok((vec!["m001".into(), "m002".into()], 0)));
    }
}
