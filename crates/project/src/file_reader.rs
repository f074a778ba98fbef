//! Reads files that people write, up to a limit, and without leaving the project by a link.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use ship_record::{FileError, TEXT_BYTES_MAX};

/// The bytes of a file, up to the limit.
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    /// Whether the file is longer than [`TEXT_BYTES_MAX`].
    pub(crate) cut: bool,
}

/// Reads a file up to [`TEXT_BYTES_MAX`].
pub(crate) fn read_beginning(file: &Path) -> io::Result<FileBytes> {
    let mut bytes = Vec::new();
    File::open(file)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > TEXT_BYTES_MAX;
    bytes.truncate(TEXT_BYTES_MAX as usize);
    Ok(FileBytes { bytes, cut })
}

/// Whether a file does not exist, also because a parent is not a folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Says which links are followed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Links {
    /// Only links that stay below the root are followed.
    Inside,
    /// All links are followed.
    Anywhere,
}

/// Reads the beginning of a file below `root`; `None` if it does not exist.
pub(crate) fn read_below(
    root: &Path,
    file: &Path,
    links: Links,
) -> Result<Option<FileBytes>, FileError> {
    let unreadable = |source| FileError::Unreadable { file: file.to_path_buf(), source };
    let target = match file.canonicalize() {
        Ok(target) => target,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if links == Links::Inside && !target.starts_with(root.canonicalize().map_err(unreadable)?) {
        return Err(FileError::Outside { file: file.to_path_buf(), target });
    }
    // The kind is checked before the file is opened: opening a pipe would wait for its other end.
    if !target.metadata().map_err(unreadable)?.is_file() {
        return Err(FileError::NotAFile { file: file.to_path_buf() });
    }
    read_beginning(&target).map(Some).map_err(unreadable)
}
