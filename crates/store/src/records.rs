//! Small records that all processes of a project share by name, and leases that one of them holds at a time.
//!
//! A record is replaced as a whole, and only by a writer that has seen the version it replaces. So no update is lost,
//! and no lock is needed around reading and writing. A lease is for work that one process does for all, such as
//! asking a platform for new messages.

mod error;

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use ship_message::json::Object;

pub use error::{LeaseError, RecordError, RecordNameError};

use crate::{StorageError, StoreFuture};

/// The records and the leases of a project.
pub trait ProjectRecords: Send + Sync {
    /// Reads a record; `None` if there is none with this name.
    fn read(&self, name: &RecordName) -> StoreFuture<'_, Option<StoredRecord>, RecordError>;

    /// Writes a record if its version is still `expected`; with `None`, if there is no such record.
    /// Returns the new version.
    fn put(
        &self,
        name: &RecordName,
        value: Object,
        expected: Option<RecordVersion>,
    ) -> StoreFuture<'_, RecordVersion, RecordError>;

    /// Removes a record if its version is still `expected`.
    fn remove(
        &self,
        name: &RecordName,
        expected: RecordVersion,
    ) -> StoreFuture<'_, (), RecordError>;

    /// Moves a record that cannot be read out of the way, for a caller that can do without it. A record
    /// that can be read stays. A store in which every record can be read has nothing to do.
    fn set_aside(&self, _name: &RecordName) -> StoreFuture<'_, (), RecordError> {
        Box::pin(async { Ok(()) })
    }

    /// Lists the names that begin with `prefix`, in order. An unreadable record is listed too.
    fn names(&self, prefix: &str) -> StoreFuture<'_, Vec<RecordName>, StorageError>;

    /// Takes a lease if it is free, and fails at once otherwise. A caller that is refused meanwhile reads the
    /// `purpose` in its error. Leases and records of one name have nothing to do with each other.
    fn lease(
        &self,
        name: &RecordName,
        purpose: &str,
    ) -> StoreFuture<'_, Arc<dyn Lease>, LeaseError>;
}

/// The right to do something for the whole project. It ends when it is released, when this value is dropped, or when
/// it is lost.
pub trait Lease: Send + Sync {
    /// Waits until the lease is held no longer: then another process may hold it, and this one must stop its work.
    fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Gives the lease back. Afterwards another process can take it.
    fn release(&self) -> StoreFuture<'_, (), StorageError>;
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord {
    /// The content, as its writer gave it.
    pub value: Object,
    /// Its version, for the next write.
    pub version: RecordVersion,
}

/// The version of a record. Two versions of one record are equal only if the content is. The text belongs to the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordVersion(String);

impl RecordVersion {
    /// Makes a version from the text by which a store knows it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the version.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The maximum length of a name. With it, the name of a file has less than 255 bytes.
const NAME_BYTES_MAX: usize = 80;

/// The name of a record or a lease: words of `a` to `z`, digits, `.`, `_` and `-`, joined by `/`. No word
/// begins with a dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordName(String);

impl RecordName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RecordName {
    type Err = RecordNameError;

    fn from_str(text: &str) -> Result<Self, RecordNameError> {
        let is_allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let is_word =
            |word: &str| !word.is_empty() && !word.starts_with('.') && word.bytes().all(is_allowed);
        match text.len() <= NAME_BYTES_MAX && text.split('/').all(is_word) {
            true => Ok(Self(text.to_owned())),
            false => Err(RecordNameError { name: text.to_owned() }),
        }
    }
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_of_plain_words() {
        let longest = "n".repeat(NAME_BYTES_MAX);
        for good in ["hosts", "telegram/42.offset", "a-b/c_d/e.f", &longest] {
            assert_eq!(good.parse::<RecordName>().unwrap().as_str(), good);
        }
        let too_long = "n".repeat(NAME_BYTES_MAX + 1);
        for bad in ["", "/", "a/", "/a", "a//b", "..", "a/../b", ".a", "A", "a b", "ä", &too_long]
        {
            let refused = bad.parse::<RecordName>().unwrap_err();
            assert!(refused.to_string().contains("is no name of a record"), "{refused}");
        }
    }
}
