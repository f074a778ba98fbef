//! The reasons why a record or a lease is refused.

use std::path::PathBuf;

use super::{RecordName, RecordVersion};
use crate::{Explain, Explanation, Holder, StorageError};

/// A text that cannot name a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
pub struct RecordNameError {
    /// The text that was given.
    pub name: String,
}

impl Explain for RecordNameError {
    fn explain(&self) -> Explanation {
        Explanation::new(format!("{:?} is no name of a record", self.name))
            .with_remedy("use words of a-z, 0-9, `.`, `_` and `-`, joined by `/`")
    }
}

/// The reason why a record could not be read or written. It is unchanged, or its write was not acknowledged.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum RecordError {
    /// The record has another version than the caller expected; the caller reads it and decides again.
    Conflict {
        /// The record that was not written.
        name: RecordName,
        /// The version that the caller expected; `None` if there should have been no record.
        expected: Option<RecordVersion>,
        /// The version that was found; `None` if there is no record.
        found: Option<RecordVersion>,
    },
    /// The content of the record cannot be understood.
    Damaged {
        /// The record that was read.
        name: RecordName,
        /// The file that holds it.
        path: PathBuf,
    },
    /// Another process was writing records for as long as we waited.
    Busy {
        /// The record that was not written.
        name: RecordName,
        /// The file that the other process has locked.
        path: PathBuf,
        /// The time that we waited before giving up.
        waited_ms: u64,
    },
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for RecordError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Conflict { name, expected, found } => Explanation::new(format!(
                "record `{name}` was changed meanwhile: expected {}, found {}",
                version_text(expected),
                version_text(found)
            ))
            .with_remedy("read it again"),
            Self::Damaged { name, path } => Explanation::new(format!(
                "{} is damaged: record `{name}` is not a JSON object",
                path.display()
            ))
            .with_remedy("restore it from a backup, or move it away to begin without it"),
            Self::Busy { name, path, waited_ms } => Explanation::new(format!(
                "record `{name}` was not written: another process holds {} (waited {waited_ms} ms)",
                path.display()
            ))
            .with_remedy("let it finish, or end it, then try again"),
            Self::Storage(error) => error.explain(),
        }
    }
}

fn version_text(version: &Option<RecordVersion>) -> String {
    let text = |version: &RecordVersion| format!("version {}", version.as_str());
    version.as_ref().map_or_else(|| "no record".to_owned(), text)
}

/// The reason why a lease could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum LeaseError {
    /// Another process or task holds the lease.
    Held {
        /// The lease that was wanted.
        name: RecordName,
        /// Its holder; `None` if it has left no readable note.
        holder: Option<Holder>,
    },
    /// The files could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Explain for LeaseError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Held { name, holder } => {
                let another = || "another process".to_owned();
                let holder = holder.as_ref().map_or_else(another, Holder::describe);
                Explanation::new(format!("the lease `{name}` is held by {holder}"))
                    .with_remedy("let it finish, or end it, then try again")
            }
            Self::Storage(error) => error.explain(),
        }
    }
}
