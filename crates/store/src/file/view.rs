//! Reads a context log as a view: the messages that the model could be shown.

use std::path::Path;

use super::blobs::read_blob;
use super::log_reading::{check_head, scan_log, scan_problems};
use super::recovered_head::recovered_head;
use super::store_env::Env;
use crate::rules::{read_head, view_below};
use crate::scan::LogScan;
use crate::{Head, StorageError, StorageProblemKind, View};

/// Reads a log as a view; `None` if there is no file. Reads up to the last whole batch and changes nothing.
pub(crate) fn read_view(env: &Env, path: &Path) -> Result<Option<View>, StorageError> {
    let Some((_, bytes)) = env.read(path)? else { return Ok(None) };
    Ok(Some(view_of(env, path, &bytes)?.view))
}

/// A view, and whether later lines can simply be added to it.
pub(crate) struct ReadView {
    pub(crate) view: View,
    /// Whether all bytes are lines below a head that we understand, so that appended lines only add to the view.
    pub(crate) whole: bool,
}

/// Reads the bytes of a log as a view.
pub(crate) fn view_of(env: &Env, path: &Path, bytes: &[u8]) -> Result<ReadView, StorageError> {
    let scan = scan_log(path, bytes);
    let mut found = scan_problems(path, bytes.len(), &scan, 0);
    // While another process writes, the end of the file is unfinished and not torn.
    found.retain(|problem| problem.kind != StorageProblemKind::TornTail);
    let checked = check_head(path, &scan);
    let recovered = |scan: &LogScan| {
        let lines = scan.lines.iter().map(|found| &found.line);
        recovered_head(env, path, scan.lines[0].line.seq, lines)
    };
    let mut whole = checked.is_ok() && scan.is_whole(bytes);
    let (head, skip) = match checked {
        // The log of a newer program is read as far as we understand it.
        Ok(()) | Err(StorageError::Newer { .. }) => match read_head(&scan.lines[0].line) {
            Some(head) => (head, 1),
            None => (recovered(&scan)?, 1),
        },
        // The lines are whole, and with the log before them they give most of what the head said.
        Err(_) if !scan.lines.is_empty() => (recovered(&scan)?, 0),
        Err(error) => return Err(error),
    };
    let lines = scan.lines.into_iter().map(|found| found.line).collect();
    let place = path.display().to_string();
    let mut view = view_below(head, lines, skip, &place, |digest| read_blob(env, digest))?;
    view.problems.splice(0..0, found);
    whole &= view.problems.is_empty();
    Ok(ReadView { view, whole })
}

/// Reads the head of a log, from its first line alone.
pub(crate) fn first_head(env: &Env, path: &Path) -> Result<Option<Head>, StorageError> {
    Ok(super::log_reading::first_line(env, path)?.as_ref().and_then(read_head))
}
