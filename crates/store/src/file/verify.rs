//! Verifies a chat: examines all its files and changes nothing.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::archive::missing_end_problem;
use super::chat::ChatFiles;
use super::derived_files::derived_state;
use super::ledger_keys::{Keys, ledger_path};
use super::log_reading::{check_head, only_own_kind, scan_log, scan_problems};
use super::published::{HEAD_COPY, missing_end, missing_end_text, read_copy};
use super::purge_list::PURGES;
use super::rotate::sealed_path;
use super::store_env::UNFINISHED;
use super::{blob_check, blobs, journal, ledger};
use crate::disk::NodeKind;
use crate::scan::{LogScan, scan};
use crate::{
    Explain as _, LedgerBody, LedgerLine, RepairEffect, SealedName, StorageError, StorageProblem,
    StorageProblemKind,
};
use LogState::{Live, Sealed};

/// The remedy for a file that can be recreated.
const ANEW: &str = "`ship repair` continues with what is readable, and so does the next message; or restore it from a backup";

/// The folders in which files are written aside before they get their names.
const WRITTEN_IN: [&str; 7] = [
    "",
    "conversations",
    "messages",
    "messages/archive",
    "contexts",
    "contexts/archive",
    "quarantine",
];

/// Lists all problems of one chat.
pub(crate) fn verify_chat(chat: &ChatFiles) -> Result<Vec<StorageProblem>, StorageError> {
    // Every check below would report the same again.
    if let Some(problem) = folder_problem(chat)? {
        return Ok(vec![problem]);
    }
    let mut found = Vec::new();
    match chat.read_about() {
        Ok(Some(_)) => {}
        Ok(None) => {
            let missing =
                new_problem(&chat.paths.about, StorageProblemKind::Missing, "it is missing", ANEW);
            found.push(missing.healed_by_repair());
        }
        Err(error) => found.push(problem_from_error(&chat.paths.about, &error)),
    }
    verify_log(chat, &chat.paths.live, Live, &mut found)?;
    let referenced = verify_sealed(chat, &mut found)?;
    found.extend(unreferenced_logs(chat, &referenced)?);
    if answers_without_context(chat)? {
        let message = "the ledger has answers, but the context log that they came from is missing";
        let remedy = "restore it from a backup; answered messages are not run again either way";
        found.push(new_problem(&chat.paths.live, StorageProblemKind::Missing, message, remedy));
    }
    verify_ledger(chat, &mut found)?;
    for name in ["run.jsonl", "requests.jsonl"] {
        verify_log(chat, &chat.paths.messages.join(name), Live, &mut found)?;
    }
    for path in journal::sealed_files(&chat.requests, &chat.paths.archive)? {
        verify_log(chat, &path, Sealed, &mut found)?;
    }
    found.extend(unreadable_derived(chat)?);
    found.extend(leftovers(chat)?);
    Ok(found)
}

/// Returns the problem of a folder of the chat that is none.
fn folder_problem(chat: &ChatFiles) -> Result<Option<StorageProblem>, StorageError> {
    for name in ["", "conversations", "messages", "messages/archive", "contexts"] {
        let folder = chat.paths.chat.join(name);
        let node = chat.env.stat(&folder)?.map(|look| look.node);
        if node.is_some_and(|node| node != NodeKind::Folder) {
            let (kind, message) = (StorageProblemKind::NotPlain, "it is not a folder");
            return Ok(Some(new_problem(
                &folder,
                kind,
                message,
                "replace it by the folder itself",
            )));
        }
    }
    Ok(None)
}

/// Lists the sealed logs to which nothing refers: those of an import that was not published, and those of no known origin.
fn unreferenced_logs(
    chat: &ChatFiles,
    referenced: &HashSet<String>,
) -> Result<Vec<StorageProblem>, StorageError> {
    let (sealed_names, unpublished) = (chat.sealed_names()?, chat.unpublished_imports()?);
    let mut found: Vec<StorageProblem> =
        unpublished.iter().map(|name| chat.unpublished_problem(name)).collect();
    let is_unknown =
        |name: &&SealedName| !referenced.contains(name.as_str()) && !unpublished.contains(name);
    for name in sealed_names.iter().filter(is_unknown) {
        let path = sealed_path(&chat.paths.archive, name);
        // A failed rotation names its log after the lines that it had then. The log went on, as the live one or under
        // a name with the same first line and a later last one.
        let same_beginning = sealed_names.iter().filter(|other| {
            referenced.contains(other.as_str()) && other.range().0 == name.range().0
        });
        let others = same_beginning.map(|other| sealed_path(&chat.paths.archive, other));
        if !is_beginning_of(chat, &path, others.chain([chat.paths.live.clone()]))? {
            let message = "nothing refers to this sealed log";
            let remedy = "compare it with a backup; the file is kept";
            found.push(new_problem(&path, StorageProblemKind::Unreferenced, message, remedy));
        }
    }
    Ok(found)
}

/// Checks the live ledger and the sealed ones, and compares them with the context.
fn verify_ledger(chat: &ChatFiles, found: &mut Vec<StorageProblem>) -> Result<(), StorageError> {
    // The context log is checked above; here only its evidence of a ledger counts.
    if chat.is_ledger_lost().unwrap_or(false) {
        let path = ledger::live_path(&chat.paths.conversations);
        let remedy =
            "restore it from a backup; the next message is numbered above those already used";
        found.push(
            new_problem(&path, StorageProblemKind::Missing, &ledger::lost_text(), remedy)
                .healed_by_repair(),
        );
    }
    // A context that cannot be read is already reported above.
    found.extend(chat.compare_cursor().unwrap_or_default());
    for number in ledger::missing_archives(&chat.env, &chat.paths.conversations)? {
        let path = ledger_path(&chat.paths.conversations, number);
        let (message, remedy) = ("a sealed ledger is missing", "restore it from a backup");
        found.push(new_problem(&path, StorageProblemKind::Missing, message, remedy));
    }
    for name in chat.env.list(&chat.paths.conversations)? {
        if name.ends_with(".jsonl") {
            let state = if name == "history.jsonl" { Live } else { Sealed };
            let path = chat.paths.conversations.join(name);
            verify_log(chat, &path, state, found)?;
            found.extend(ledger::missing_before(&chat.env, &chat.paths.conversations, &path)?);
        }
    }
    Ok(())
}

/// Whether another log begins with the whole content of this one. A rotation that failed between its two steps
/// leaves the live log with a second name, or a copy of its content at that time. Neither is a problem.
fn is_beginning_of(
    chat: &ChatFiles,
    path: &Path,
    others: impl IntoIterator<Item = PathBuf>,
) -> Result<bool, StorageError> {
    let Some((_, bytes)) = chat.env.read(path)? else { return Ok(true) };
    for other in others {
        if chat.env.read(&other)?.is_some_and(|(_, longer)| longer.starts_with(&bytes)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the agent has answered in this chat, but nothing is left of its context. A message that a tool sent here
/// from another chat needs no context.
fn answers_without_context(chat: &ChatFiles) -> Result<bool, StorageError> {
    if chat.env.stat(&chat.paths.live)?.is_some() || !chat.sealed_names()?.is_empty() {
        return Ok(false);
    }
    let is_answer = |line: &LedgerLine| match &line.body {
        LedgerBody::Entry(line) => {
            line.entry.str("role") == Some("assistant") && line.via() != Some("tool")
        }
        LedgerBody::Delivery(_) => false,
    };
    // Problems of the ledger itself are reported by its own check.
    let lines = chat.ledger_after(None, usize::MAX).unwrap_or_default();
    Ok(lines.iter().any(is_answer))
}

/// Follows the sealed logs back from the live one, checks each, and returns their names.
fn verify_sealed(
    chat: &ChatFiles,
    found: &mut Vec<StorageProblem>,
) -> Result<HashSet<String>, StorageError> {
    let mut names = HashSet::new();
    let mut before = chat.newest_sealed()?;
    if chat.env.stat(&chat.paths.live)?.is_none() && before.is_some() {
        let message = "the live log is missing, though there are sealed ones";
        let remedy = "restore it from a backup; the next run continues from the newest sealed log";
        let missing = new_problem(&chat.paths.live, StorageProblemKind::Missing, message, remedy);
        found.push(missing.healed_by_repair());
    }
    while let Some(name) = before.take() {
        let path = sealed_path(&chat.paths.archive, &name);
        if chat.env.stat(&path)?.is_none() {
            let remedy = "restore it from a backup";
            found.push(new_problem(
                &path,
                StorageProblemKind::Missing,
                "a sealed log is missing",
                remedy,
            ));
        }
        verify_log(chat, &path, Sealed, found)?;
        if let Some((_, bytes)) = chat.env.read(&path)? {
            found.extend(missing_end_problem(
                &path,
                &bytes,
                &scan_log(&path, &bytes),
                name.range(),
            ));
        }
        before = match chat.sealed_head(&path)? {
            // A wrong head could name a later log, and then this walk would not end.
            Some(head) => head.sealed.filter(|older| older.range().1 < name.range().0),
            None => chat.sealed_before(Some(name.range().0))?,
        };
        names.insert(name.as_str().to_owned());
    }
    Ok(names)
}

/// The state of a log: written to, or sealed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LogState {
    Live,
    Sealed,
}

/// Checks one log and the blobs that it refers to.
fn verify_log(
    chat: &ChatFiles,
    path: &Path,
    state: LogState,
    found: &mut Vec<StorageProblem>,
) -> Result<(), StorageError> {
    let bytes = match chat.env.read(path) {
        Ok(Some((_, bytes))) => bytes,
        Ok(None) => return Ok(()),
        Err(error) => {
            found.push(problem_from_error(path, &error));
            return Ok(());
        }
    };
    let found_lines = scan(&bytes, None);
    let checked = check_head(path, &found_lines);
    let scan = only_own_kind(path, found_lines, bytes.len());
    let mut problems = scan_problems(path, bytes.len(), &scan, 0);
    if let Err(error) = checked {
        let headless = match (&error, state) {
            (StorageError::Damaged { .. }, Sealed) => {
                let remedy = "restore it from a backup; its readable part is still read";
                StorageProblem {
                    repair: RepairEffect::MarksKnown,
                    ..new_problem(path, StorageProblemKind::Damage, &without_remedy(&error), remedy)
                }
            }
            _ => problem_from_error(path, &error),
        };
        // A head that cannot be read is one problem, and not also one of its bytes.
        let at_head = |problem: &StorageProblem| {
            problem.kind == StorageProblemKind::Damage && problem.offset == 0
        };
        let bytes = problems.iter().position(at_head).map(|at| problems.remove(at).message);
        let message =
            bytes.map_or(headless.message.clone(), |it| format!("{}: {it}", headless.message));
        found.push(StorageProblem { message, ..headless });
    }
    if let Some(end) = missing_end(&scan).filter(|_| path == chat.paths.live) {
        let message = missing_end_text(scan.given, end);
        found
            .push(new_problem(path, StorageProblemKind::Damage, &message, ANEW).healed_by_repair());
    }
    // Records of requests are not synced, so NULs in them are no damage.
    let problems = problems
        .into_iter()
        .filter(|problem| !(is_of_requests(path) && is_hole(&bytes, &scan, problem.offset)));
    found.extend(problems.map(|problem| match (problem.kind, state) {
        // No process writes a sealed log any more, so none will cut it.
        (StorageProblemKind::TornTail, Sealed) => {
            let remedy = "compare it with a backup; the lines before are still read";
            new_problem(path, StorageProblemKind::Damage, &problem.message, remedy)
                .at(problem.offset)
        }
        _ => problem,
    }));
    found.extend(blob_check::text_problems(&chat.env, path, &scan));
    if is_of_requests(path) {
        found.extend(blob_check::request_problems(&chat.env, path, &scan));
    }
    Ok(())
}

/// Whether a log is one of the records of requests, which are not synced.
fn is_of_requests(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"requests"))
}

/// Whether unreadable bytes contain NULs: on a full volume, bytes that were never synced, and so never promised,
/// can be lost this way.
fn is_hole(bytes: &[u8], scan: &LogScan, offset: u64) -> bool {
    scan.damage.iter().any(|damage| {
        let unreadable = &bytes[damage.offset..damage.offset + damage.len];
        damage.offset as u64 == offset && unreadable.contains(&0)
    })
}

/// Returns the files that interrupted writes left, in the chat and among the blobs.
pub(crate) fn leftovers(chat: &ChatFiles) -> Result<Vec<StorageProblem>, StorageError> {
    let mut found = Vec::new();
    let left_over = |path: &Path| {
        let message = "an interrupted write left this file; nothing reads it";
        new_problem(
            path,
            StorageProblemKind::Leftover,
            message,
            "nothing to do: `ship repair` removes it",
        )
    };
    for folder in WRITTEN_IN {
        let folder = chat.paths.chat.join(folder);
        for name in chat.env.list(&folder)?.iter().filter(|name| name.ends_with(UNFINISHED)) {
            found.push(left_over(&folder.join(name)));
        }
    }
    found.extend(blobs::leftovers(&chat.env)?.iter().map(|path| left_over(path)));
    Ok(found)
}

fn problem_from_error(path: &Path, error: &StorageError) -> StorageProblem {
    let (kind, remedy) = match error {
        StorageError::Newer { .. } => {
            (StorageProblemKind::Newer, "use a newer version of ship to write")
        }
        StorageError::ReaderTooOld { .. } => {
            (StorageProblemKind::Newer, "use a newer version of ship")
        }
        StorageError::NotPlain { .. } => {
            (StorageProblemKind::NotPlain, "replace it by the plain file or folder itself")
        }
        StorageError::OtherChat { .. } => {
            (StorageProblemKind::Damage, "restore it from a backup, or rename one of the two chats")
        }
        StorageError::Denied { .. } => {
            (StorageProblemKind::Damage, "make it readable for your account")
        }
        StorageError::Damaged { .. } => (StorageProblemKind::Damage, ANEW),
        _ => (StorageProblemKind::Damage, "check the disk, then run this again"),
    };
    let problem = new_problem(path, kind, &without_remedy(error), remedy);
    match error {
        StorageError::Damaged { .. } => problem.healed_by_repair(),
        _ => StorageProblem { repair: RepairEffect::Nothing, ..problem },
    }
}

/// Returns the description of an error without its remedy, which has a field of its own here.
fn without_remedy(error: &StorageError) -> String {
    if let StorageError::Damaged { what, .. } = error {
        // The file is named in another field.
        return what.clone();
    }
    error.explain().problem
}

/// Returns the derived files that cannot be read. They are recreated when they are needed.
pub(crate) fn unreadable_derived(chat: &ChatFiles) -> Result<Vec<StorageProblem>, StorageError> {
    let contexts = chat.paths.chat.join("contexts");
    let messages = &chat.paths.messages;
    let mut paths = vec![contexts.join("index.json")];
    paths.extend(["meta.json", HEAD_COPY, PURGES].map(|name| messages.join(name)));
    let archived = contexts.join("archive");
    let names = chat.env.list(&archived)?.into_iter().filter(|name| name.ends_with(".json"));
    paths.extend(names.map(|name| archived.join(name)));
    let names = chat.env.list(&chat.paths.conversations)?.into_iter();
    let keys = names.filter(|name| name.ends_with(".keys"));
    paths.extend(keys.map(|name| chat.paths.conversations.join(name)));
    let mut found = Vec::new();
    for path in paths {
        let Some((_, bytes)) = chat.env.read(&path)? else { continue };
        let is_whole = if path.extension().is_some_and(|extension| extension == "keys") {
            Keys::is_whole(&bytes)
        } else if path.ends_with(HEAD_COPY) || path.ends_with(PURGES) {
            read_copy(&bytes).is_some()
        } else {
            derived_state(&bytes).is_some()
        };
        if !is_whole {
            let message = "it is unreadable; it is rebuilt from the logs when needed";
            let remedy = "nothing to do: `ship repair` removes it";
            found.push(
                new_problem(&path, StorageProblemKind::Damage, message, remedy).healed_by_repair(),
            );
        }
    }
    Ok(found)
}

fn new_problem(
    path: &Path,
    kind: StorageProblemKind,
    message: &str,
    remedy: &str,
) -> StorageProblem {
    StorageProblem::new(path.display().to_string(), kind, message, remedy)
}
