//! Reading files that people write, as far as anyone writes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// A text that people write is at most this long: some 250,000 tokens, more than most models can be
/// shown. A larger one is a mistake, and reading it whole would only make the mistake expensive.
pub(crate) const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// A file's bytes, as far as they are read.
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more than [`TEXT_BYTES_MAX`].
    pub(crate) cut: bool,
}

/// Reads the beginning of a file.
pub(crate) fn read_beginning(file: &Path) -> io::Result<Bytes> {
    let mut bytes = Vec::new();
    File::open(file)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > TEXT_BYTES_MAX;
    bytes.truncate(TEXT_BYTES_MAX as usize);
    Ok(Bytes { bytes, cut })
}

/// Whether a thing is not there, be it because a parent is no folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
