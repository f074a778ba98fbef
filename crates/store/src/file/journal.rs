//! Reads and writes the run journal and the records of model calls; nothing of their lines is kept in memory.

use std::path::{Path, PathBuf};

use ship_message::json::{Json, Object};

use super::log::{Fold, LogFile, Span};
use super::prepared_line::{self, PrepareError};
use super::right::HeldRight;
use super::store_env::Env;
use crate::line::{LineKind, RawLine, UnnumberedLine};
use crate::scan::scan;
use crate::{FORMAT_VERSION, StorageError};

/// The size at which a record of model calls is sealed, because opening a chat reads the live one whole.
const JOURNAL_BYTES_MAX: u64 = 64 * 1024;

/// The fold of a log whose lines are not kept in memory.
#[derive(Default)]
pub(crate) struct Nothing;

impl Fold for Nothing {
    fn apply(&mut self, _line: &RawLine, _span: Span) {}
}

/// A log of plain objects below a head.
pub(crate) type JournalFile = LogFile<Nothing>;

/// Replaces the journal by one that begins with `about`.
pub(crate) fn begin_journal(
    journal: &JournalFile,
    right: &HeldRight,
    about: Object,
) -> Result<(), StorageError> {
    let head = head_line(&journal.env, about);
    // An unreadable journal is simply replaced.
    let mut writing = match journal.begin_writing(right) {
        Err(StorageError::Damaged { .. }) => journal.begin_replacing(right)?,
        writing => writing?,
    };
    let first = writing.tail().map_or(1, |known| known.next_seq());
    // The old journal is not sealed: its run has ended, or its parts are in the log or in `about`.
    writing.publish(&[head], first, None)
}

/// Moves an unreadable journal aside and begins another.
pub(crate) fn replace_unreadable(
    journal: &JournalFile,
    right: &HeldRight,
    aside: &Path,
) -> Result<(), StorageError> {
    journal.env.ensure_folder(aside)?;
    let name = journal.path.file_name().unwrap_or_default().to_string_lossy();
    let stamp = journal.env.options.now().file_name();
    let aside = aside.join(format!("{stamp}-{name}"));
    let head = head_line(&journal.env, Object::new());
    journal.begin_replacing(right)?.publish(&[head], 1, Some(&aside))
}

/// Seals a journal that has grown large, so that opening it stays cheap.
pub(crate) fn seal_if_large(
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
    let name = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    let sealed = archive.join(format!("{name}-{first}-{last}.jsonl"));
    writing.publish(&[head_line(&journal.env, Object::new())], next, Some(&sealed))
}

/// Appends objects to a journal, which is created if there is none.
pub(crate) fn append(
    journal: &JournalFile,
    right: &HeldRight,
    parts: Vec<Object>,
    sync: bool,
) -> Result<(), StorageError> {
    let env = &journal.env;
    let draft = |part: Object| wrap_object(journal, part);
    let drafts = parts.into_iter().map(draft).collect::<Result<Vec<_>, _>>()?;
    let mut writing = journal.begin_writing(right)?;
    if writing.tail().is_none() {
        writing.publish(&[head_line(env, Object::new())], 1, None)?;
    }
    if !drafts.is_empty() {
        writing.append(&drafts, sync)?;
    }
    Ok(())
}

/// Wraps an object as `data`, so that it may have any field.
fn wrap_object(journal: &JournalFile, part: Object) -> Result<UnnumberedLine, StorageError> {
    let body = Object::from([("event", Json::from("part")), ("data", part.into())]);
    let name = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    prepared_line::prepare_body(&journal.env, LineKind::Event, body, &name).map_err(|error| {
        match error {
            PrepareError::Storage(error) => error,
            PrepareError::Refused(refused) => {
                StorageError::Refused { path: journal.path.clone(), refused }
            }
        }
    })
}

fn head_line(env: &Env, about: Object) -> UnnumberedLine {
    let mut data = Object::new();
    data.set("v", FORMAT_VERSION);
    data.set("about", about);
    let mut body = Object::new();
    body.set("ts", env.options.now().to_string());
    body.set("event", "head");
    body.set("data", data);
    UnnumberedLine::new(LineKind::Event, body)
}

/// Returns the sealed files of a journal, the oldest first.
pub(crate) fn sealed_files(
    journal: &JournalFile,
    archive: &Path,
) -> Result<Vec<PathBuf>, StorageError> {
    let stem = journal.path.file_stem().unwrap_or_default().to_string_lossy();
    let first = |name: &String| -> Option<u64> {
        let range = name.strip_prefix(&*stem)?.strip_prefix('-')?.strip_suffix(".jsonl")?;
        range.split_once('-')?.0.parse().ok()
    };
    let names = journal.env.list(archive)?;
    let mut sealed: Vec<_> = names.iter().filter_map(|name| Some((first(name)?, name))).collect();
    sealed.sort_unstable();
    Ok(sealed.into_iter().map(|(_, name)| archive.join(name)).collect())
}

/// Reads the objects of one file of a journal with their numbers; its head may be damaged.
pub(crate) fn read_parts(env: &Env, path: &Path) -> Result<Vec<(u64, Object)>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    for mut line in scan(&bytes, None).lines.into_iter().map(|found| found.line) {
        prepared_line::resolve_blobs(env, &mut line, "", &mut Vec::new())?;
        if let (Some("part"), Some(Json::Object(part))) = (line.event(), line.body.get("data")) {
            parts.push((line.seq, part.clone()));
        }
    }
    Ok(parts)
}

/// Reads the objects of a journal; the first is the `about` of its head.
pub(crate) fn read(journal: &JournalFile) -> Result<Vec<Object>, StorageError> {
    let Some((_, bytes)) = journal.env.read(&journal.path)? else { return Ok(Vec::new()) };
    let file = journal.path.display().to_string();
    let (mut objects, mut problems) = (Vec::new(), Vec::new());
    for found in scan(&bytes, None).lines {
        let mut line = found.line;
        prepared_line::resolve_blobs(&journal.env, &mut line, &file, &mut problems)?;
        let head = line.event() == Some("head");
        let Some(Json::Object(mut data)) = line.body.remove("data") else { continue };
        if !head {
            objects.push(data);
        } else if let Some(Json::Object(about)) = data.remove("about") {
            objects.push(about);
        }
    }
    Ok(objects)
}
