//! Reads and writes the run journal and the records of model calls; nothing of their lines is kept in memory.

use std::path::{Path, PathBuf};

use ship_message::json::{Json, Object};

use super::blobs::{put_texts, read_blob};
use super::log::{Fold, LogFile, Span};
use super::log_reading::scan_log;
use super::right::HeldRight;
use super::store_env::Env;
use crate::error::place;
use crate::line::{LineKind, LineOutline, RawLine, UnnumberedLine, leaves_room};
use crate::rules::{TextBlob, prepare_body, restore_texts};
use crate::{FORMAT_VERSION, StorageError};

/// The size at which a record of model calls is sealed, because opening a chat reads the live one whole.
const JOURNAL_BYTES_MAX: u64 = 64 * 1024;

/// The fold of a log whose lines are not kept in memory.
#[derive(Default)]
pub(crate) struct EmptyFold;

impl Fold for EmptyFold {
    fn apply(&mut self, _line: &RawLine, _span: Span) {}

    fn apply_outline(&mut self, _message: &LineOutline<'_>, _span: Span) {}
}

/// A log of plain objects below a head.
pub(crate) type JournalFile = LogFile<EmptyFold>;

/// Replaces the journal by one that begins with `about`. Without a sync, the next synced part makes it durable.
pub(crate) fn begin_journal(
    journal: &JournalFile,
    right: &HeldRight,
    about: Object,
    sync: bool,
) -> Result<(), StorageError> {
    let head = head_lines(&journal.env, about);
    // An unreadable journal is simply replaced.
    let mut writing = match journal.begin_next(right) {
        Err(StorageError::Damaged { .. }) => journal.begin_replacing(right)?,
        writing => writing?,
    };
    let first = writing.tail().map_or(1, |known| known.next_seq());
    // The old journal is not sealed: its run has ended, or its parts are in the log or in `about`.
    match sync {
        true => writing.publish(&head, first, None),
        false => writing.publish_loosely(&head, first),
    }
}

/// Begins another journal after one without a head, which is moved to the folder `aside`. If there is an `archive`, it
/// is sealed there as far as it can be read.
pub(crate) fn replace_unreadable(
    journal: &JournalFile,
    right: &HeldRight,
    aside: &Path,
    archive: Option<&Path>,
) -> Result<(), StorageError> {
    let env = &journal.env;
    let lines = env.read(&journal.path)?.map(|(_, bytes)| scan_log(&journal.path, &bytes));
    let range = lines.and_then(|scan| Some((scan.lines.first()?.line.seq, scan.given)));
    let (sealed, next) = match archive.zip(range) {
        Some((archive, (first, last))) => (sealed_path(journal, archive, first, last), last + 1),
        None => {
            env.ensure_folder(aside)?;
            let name = journal.path.file_name().unwrap_or_default().to_string_lossy();
            let aside = aside.join(format!("{}-{name}", env.options.now().file_name()));
            (aside, first_number(journal, archive)?)
        }
    };
    journal.begin_replacing(right)?.publish(&head_lines(env, Object::new()), next, Some(&sealed))
}

fn sealed_path(journal: &JournalFile, archive: &Path, first: u64, last: u64) -> PathBuf {
    let name = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    archive.join(format!("{name}-{first}-{last}.jsonl"))
}

/// Seals a journal that has grown large, so that opening it stays cheap.
fn seal_if_large(
    journal: &JournalFile,
    right: &HeldRight,
    archive: &Path,
) -> Result<(), StorageError> {
    // This answers most calls without a look at the disk.
    if journal.last_known(|known| Some(known.len <= JOURNAL_BYTES_MAX)) == Some(true) {
        return Ok(());
    }
    let mut writing = journal.begin_writing(right)?;
    let Some(known) = writing.tail().filter(|known| known.len > JOURNAL_BYTES_MAX) else {
        return Ok(());
    };
    let (first, last, next) = (known.first_seq, known.last_seq, known.next_seq());
    let sealed = sealed_path(journal, archive, first, last);
    writing.publish(&head_lines(&journal.env, Object::new()), next, Some(&sealed))
}

/// Whether the next record surely adds a line to the file and does nothing else.
pub(crate) fn only_appends(journal: &JournalFile) -> bool {
    journal.last_known(|known| Some(known.len <= JOURNAL_BYTES_MAX / 2)) == Some(true)
}

/// Appends an object to a journal that is sealed in `archive`. A journal that was lost or has no head is replaced:
/// nothing depends on such a record, so it must not stop a run.
pub(crate) fn record(
    journal: &JournalFile,
    right: &HeldRight,
    part: Object,
    aside: &Path,
    archive: &Path,
) -> Result<(), StorageError> {
    let JournalLines { lines, texts } = wrap_objects(journal, vec![part])?;
    put_texts(&journal.env, &texts)?;
    match append(journal, right, &lines, false) {
        Err(StorageError::Damaged { .. }) => {
            replace_unreadable(journal, right, aside, Some(archive))?;
            append(journal, right, &lines, false)?;
        }
        appended => appended?,
    }
    seal_if_large(journal, right, archive)
}

/// Appends lines to a journal, which is created if there is none. A sync is one of all lines before them, too.
pub(crate) fn append(
    journal: &JournalFile,
    right: &HeldRight,
    lines: &[UnnumberedLine],
    sync: bool,
) -> Result<(), StorageError> {
    let mut writing = journal.begin_unsynced(right)?;
    if writing.tail().is_none() {
        writing.publish(&head_lines(&journal.env, Object::new()), 1, None)?;
    }
    match lines.is_empty() {
        true if sync => writing.sync_all(),
        true => Ok(()),
        false => writing.append(lines, sync).map(|_| ()),
    }
}

/// The lines of objects in a journal, and the texts that must be stored before them.
pub(crate) struct JournalLines {
    pub(crate) lines: Vec<UnnumberedLine>,
    pub(crate) texts: Vec<TextBlob>,
}

/// Makes a line of each object, which is wrapped as `data`, so that it may have any field.
pub(crate) fn wrap_objects(
    journal: &JournalFile,
    objects: Vec<Object>,
) -> Result<JournalLines, StorageError> {
    let name = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    let bytes_max = journal.env.options.message_bytes_max;
    let (mut lines, mut texts) = (Vec::with_capacity(objects.len()), Vec::new());
    for object in objects {
        let body = Object::from([("event", Json::from("part")), ("data", object.into())]);
        let (line, own) = prepare_body(LineKind::Event, body, &name, bytes_max)
            .map_err(|refused| StorageError::Refused { place: place(&journal.path), refused })?;
        lines.push(line);
        texts.extend(own);
    }
    Ok(JournalLines { lines, texts })
}

/// Makes the head of a journal, twice: no other line can replace it when one of the two is damaged.
fn head_lines(env: &Env, about: Object) -> [UnnumberedLine; 2] {
    let mut data = Object::new();
    data.set("v", FORMAT_VERSION);
    data.set("about", about);
    let mut body = Object::new();
    body.set("ts", env.options.now().to_string());
    body.set("event", "head");
    body.set("data", data);
    let head = UnnumberedLine::new(LineKind::Event, body);
    [head.clone(), head]
}

/// Returns the sealed files of a journal, the oldest first.
pub(crate) fn sealed_files(
    journal: &JournalFile,
    archive: &Path,
) -> Result<Vec<PathBuf>, StorageError> {
    let ranges = sealed_ranges(journal, archive)?.into_iter();
    Ok(ranges.map(|(first, last)| sealed_path(journal, archive, first, last)).collect())
}

/// Returns the first and last numbers of the sealed files of a journal, the oldest first.
fn sealed_ranges(journal: &JournalFile, archive: &Path) -> Result<Vec<(u64, u64)>, StorageError> {
    let stem = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    let range = |name: &String| -> Option<(u64, u64)> {
        let range = name.strip_prefix(&*stem)?.strip_prefix('-')?.strip_suffix(".jsonl")?;
        let (first, last) = range.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok().filter(|last| leaves_room(*last))?))
    };
    let mut ranges: Vec<_> = journal.env.list(archive)?.iter().filter_map(range).collect();
    ranges.sort_unstable();
    Ok(ranges)
}

/// Returns the first number of a journal that has no file, above those of its sealed files.
fn first_number(journal: &JournalFile, archive: Option<&Path>) -> Result<u64, StorageError> {
    let Some(archive) = archive else { return Ok(1) };
    let ranges = sealed_ranges(journal, archive)?.into_iter();
    Ok(ranges.map(|(_, last)| last).max().unwrap_or(0) + 1)
}

/// Reads the objects of one file of a journal with their numbers; its head may be damaged.
pub(crate) fn read_parts(env: &Env, path: &Path) -> Result<Vec<(u64, Object)>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    for mut line in scan_log(path, &bytes).lines.into_iter().map(|found| found.line) {
        // A text without its blob stays a preview; verification reports it.
        restore_texts(&mut line, |digest| read_blob(env, digest))?;
        if let (Some("part"), Some(Json::Object(part))) = (line.event(), line.body.get("data")) {
            parts.push((line.seq, part.clone()));
        }
    }
    Ok(parts)
}

/// Reads the objects of a journal; the first is the `about` of its head.
pub(crate) fn read(journal: &JournalFile) -> Result<Vec<Object>, StorageError> {
    let Some((_, bytes)) = journal.env.read(&journal.path)? else { return Ok(Vec::new()) };
    let (mut about, mut parts) = (None, Vec::new());
    for mut line in scan_log(&journal.path, &bytes).lines.into_iter().map(|found| found.line) {
        restore_texts(&mut line, |digest| read_blob(&journal.env, digest))?;
        let is_head = line.event() == Some("head");
        match line.body.remove("data") {
            Some(Json::Object(data)) if is_head => {
                about = about.or(data.get("about").and_then(Json::as_object).cloned());
            }
            Some(Json::Object(data)) => parts.push(data),
            _ => {}
        }
    }
    Ok(about.into_iter().chain(parts).collect())
}
