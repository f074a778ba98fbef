//! Recovers the head of a context log whose first line is lost.
//!
//! The live log has a copy of its head. For a sealed log, or without that copy, the lines tell whether a switch has published it, and which context it has entered. Without a switch,
//! the log continues the context of the sealed log before it, and most of its head is there.

use std::path::Path;

use ship_record::carry::{Beginning, PublishedBy, SWITCHED, entered_context};

use super::published::copied_head;
use super::rotate::sealed_path;
use super::store_env::Env;
use super::view::read_view;
use crate::line::RawLine;
use crate::{ContextId, Gen, Head, SealedName, StorageError, Timestamp, View};

/// Returns the head that the log of these lines must have had. `first` is the number of its first readable line.
pub(crate) fn recovered_head<'a>(
    env: &Env,
    path: &Path,
    first: u64,
    lines: impl Iterator<Item = &'a RawLine> + Clone,
) -> Result<Head, StorageError> {
    let (sealed, before) = log_before(env, path, first)?;
    let end = sealed.as_ref().map_or(0, |sealed| sealed.range().1.get());
    if let Some(head) = copied_head(env, path.parent().unwrap_or(Path::new("")), end, first)? {
        return Ok(head);
    }
    let generation = match (&sealed, &before) {
        (_, Some(before)) => before.head.generation.next(),
        // At least one log came before; how many, only its lost head could tell.
        (Some(_), None) => Gen::new(0).next(),
        (None, None) => Gen::new(0),
    };
    let inbox = before.as_ref().and_then(|before| before.inbox);
    let switch = lines.clone().filter(|line| line.event() == Some(SWITCHED)).last();
    let head = match (switch, before) {
        (Some(switch), before) => {
            let (context, title) = switch
                .body
                .get("data")
                .and_then(entered_context)
                .unwrap_or_else(|| (new_id(first, lines), None));
            let mut carry =
                before.as_ref().map(|before| before.head.carry.of_chat()).unwrap_or_default();
            let field = |key: &str| switch.body.get("data")?.get(key)?.as_str().map(str::to_owned);
            let (by, at) = (field("op"), time(switch));
            // Of a context that was come back to, the switch is the first thing that is known.
            carry.set_beginning(&Beginning { by: by.clone(), at });
            if let Some(left) = &sealed {
                carry.set_published_by(&PublishedBy {
                    operation: by,
                    generation: Some(generation),
                    at,
                    reason: field("reason"),
                    left: Some(left.clone()),
                    ..PublishedBy::default()
                });
            }
            Head { title, carry, ..Head::new(context) }
        }
        (None, Some(before)) => {
            let mut head = before.head;
            let left = head.sealed.take();
            head.note_left_log(left.as_ref());
            head
        }
        (None, None) => Head::new(new_id(first, lines)),
    };
    Ok(Head { generation, sealed, inbox, ..head })
}

/// Finds the newest sealed log before a line. Its view is `None` if nothing of it can be read.
fn log_before(
    env: &Env,
    path: &Path,
    first: u64,
) -> Result<(Option<SealedName>, Option<View>), StorageError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let archive = match folder.ends_with("archive") {
        true => folder.to_owned(),
        false => folder.join("archive"),
    };
    let names = env.list(&archive)?;
    let sealed = names.iter().filter_map(|name| SealedName::parse(name.strip_suffix(".jsonl")?));
    let before = sealed.filter(|name| name.range().1.get() < first).max_by_key(SealedName::range);
    let Some(name) = before else { return Ok((None, None)) };
    match read_view(env, &sealed_path(&archive, &name)) {
        Ok(view) => Ok((Some(name), view)),
        Err(StorageError::Damaged { .. }) => Ok((Some(name), None)),
        Err(error) => Err(error),
    }
}

/// Makes an id for a context whose own is lost. It follows from the lines, so every reader makes the same, and no
/// other context has it.
fn new_id<'a>(first: u64, mut lines: impl Iterator<Item = &'a RawLine> + Clone) -> ContextId {
    let crc = lines.clone().next().map_or(0, |line| line.crc);
    let time = lines.find_map(time).unwrap_or(Timestamp::from_millis(0));
    ContextId::new(time, first << 32 | u64::from(crc))
}

/// Returns the time of an event.
fn time(line: &RawLine) -> Option<Timestamp> {
    line.body.str("ts").and_then(Timestamp::parse)
}
