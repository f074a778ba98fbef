//! Finds the logs of an import that was killed before the live log was published above them.
//!
//! The sealed logs of a chat follow one another, and all end before the live log begins. A log that is not published has
//! numbers that others have too, or will have. So names alone show that nothing is wrong, and usually no log is opened.

use std::collections::HashSet;

use super::chat::ChatFiles;
use super::log_reading::first_line;
use super::quarantine::set_aside;
use super::rotate::sealed_path;
use crate::rules::is_imported;
use crate::{SealedName, StorageError, StorageProblem, StorageProblemKind};

impl ChatFiles {
    /// Returns the imported logs that no log refers to.
    pub(super) fn unpublished_imports(&self) -> Result<Vec<SealedName>, StorageError> {
        // Without a live log, nothing tells which logs are published.
        let Some(live) = first_line(&self.env, &self.paths.live)? else { return Ok(Vec::new()) };
        let mut imported = Vec::new();
        for name in overlapping(self.sealed_names()?, live.seq) {
            let first = first_line(&self.env, &sealed_path(&self.paths.archive, &name))?;
            if first.is_some_and(|first| is_imported(&first)) {
                imported.push(name);
            }
        }
        if !imported.is_empty() {
            let published = self.sealed_after(self.newest_sealed()?, crate::Seq::new(0))?;
            let published: HashSet<SealedName> = published.into_iter().collect();
            imported.retain(|name| !published.contains(name));
        }
        Ok(imported)
    }

    /// Moves the logs of an interrupted import into the quarantine. The caller holds the write right.
    pub(super) fn set_unpublished_aside(&self) -> Result<Vec<StorageProblem>, StorageError> {
        let mut problems = Vec::new();
        for name in self.unpublished_imports()? {
            let path = sealed_path(&self.paths.archive, &name);
            set_aside(&self.env, &self.paths.quarantine, &path)?;
            problems.push(self.unpublished_problem(&name));
        }
        Ok(problems)
    }

    /// Describes a log of an interrupted import.
    pub(super) fn unpublished_problem(&self, name: &SealedName) -> StorageProblem {
        let path = sealed_path(&self.paths.archive, name);
        StorageProblem::new(
            path.display().to_string(),
            StorageProblemKind::Leftover,
            "an interrupted import left this log; nothing reads it",
            "nothing to do: `ship repair` moves it to `quarantine/`; import it again",
        )
    }
}

/// Returns the names whose numbers another log has, or the live one, which begins with `live`.
fn overlapping(mut names: Vec<SealedName>, live: u64) -> Vec<SealedName> {
    names.sort_by_key(SealedName::range);
    let range = |name: &SealedName| (name.range().0.get(), name.range().1.get());
    let mut end = 0;
    let mut is_shared = vec![false; names.len()];
    for (at, name) in names.iter().enumerate() {
        let (first, last) = range(name);
        let next = names.get(at + 1).map_or(live, |next| range(next).0.min(live));
        is_shared[at] = first <= end || last >= next;
        end = end.max(last);
    }
    let mut is_shared = is_shared.into_iter();
    names.retain(|_| is_shared.next() == Some(true));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seq, Timestamp};

    #[test]
    fn logs_that_follow_one_another_share_no_numbers() {
        let name = |(first, last)| {
            SealedName::new(Timestamp::from_millis(0), Seq::new(first), Seq::new(last))
        };
        for (ranges, live, shared) in [
            (vec![(1, 4), (5, 9)], 10, vec![]),
            (vec![(1, 4), (5, 9)], 8, vec![(5, 9)]),
            (vec![(1, 4), (12, 14), (15, 20)], 5, vec![(12, 14), (15, 20)]),
            (vec![(1, 9), (3, 4), (5, 6)], 10, vec![(1, 9), (3, 4), (5, 6)]),
        ] {
            let found = overlapping(ranges.into_iter().map(name).collect(), live);
            assert_eq!(found, shared.into_iter().map(name).collect::<Vec<_>>());
        }
    }
}
