//! Makes the digests of system blocks that a journal keeps, and finds the first block that differs.

use ship_context::SystemBlock;
use ship_message::json::{Json, Object};

use crate::digest::digest;
use crate::run_log::{RunLogEntry, RunLogKind};

/// Returns the short digest of each block by its name, for a journal.
pub(crate) fn journal_digests(blocks: &[SystemBlock]) -> Object {
    let digest = |text: &str| digest(text.as_bytes())[..8].to_owned();
    blocks.iter().map(|block| (block.name.clone(), Json::from(digest(&block.text)))).collect()
}

/// Returns a log line with the first block that differs from the run before, if any.
pub(crate) fn first_difference(before: &Object, now: &Object) -> Option<RunLogEntry> {
    let (block, change) = first_block(before, now)?;
    let fields = vec![("block", Json::from(block)), ("change", change.into())];
    Some(RunLogEntry { kind: RunLogKind::SystemChanged, fields, ..RunLogEntry::default() })
}

/// Returns the first block that differs, and how.
pub(crate) fn first_block<'a>(
    before: &'a Object,
    now: &'a Object,
) -> Option<(&'a str, &'static str)> {
    let mut old = before.iter();
    let mut new = now.iter();
    loop {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a == b => {}
            (Some((name, _)), Some((other, _))) if name == other => return Some((name, "changed")),
            (Some((name, _)), _) if !now.has(name) => return Some((name, "gone")),
            (_, Some((name, _))) | (Some((name, _)), None) => return Some((name, "new")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_that_differs_is_told_and_how() {
        let of = |names: &[(&str, &str)]| {
            names.iter().map(|(name, text)| ((*name).to_owned(), Json::from(*text))).collect()
        };
        let before: Object = of(&[("a", "1"), ("b", "1"), ("c", "1")]);
        for (now, told) in [
            (of(&[("a", "1"), ("b", "1"), ("c", "1")]), None),
            (of(&[("a", "1"), ("b", "2"), ("c", "2")]), Some(("b", "changed"))),
            (of(&[("a", "1"), ("c", "1")]), Some(("b", "gone"))),
            (of(&[("a", "1"), ("x", "1"), ("b", "1"), ("c", "1")]), Some(("x", "new"))),
            (of(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]), Some(("d", "new"))),
            (of(&[]), Some(("a", "gone"))),
        ] {
            let note = first_difference(&before, &now);
            let told = told.map(|(block, change)| {
                vec![("block", Json::from(block)), ("change", Json::from(change))]
            });
            assert_eq!(note.map(|note| note.fields), told, "{now:?}");
        }
    }
}
