//! Reading files that people write: as far as anyone writes, and never from where nobody said.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A text that people write is at most this long: some 250,000 tokens, more than most models can be
/// shown. A larger one is a mistake, and reading it whole would only make the mistake expensive.
pub(crate) const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// A file's bytes, as far as they are read.
pub(crate) struct FileBytes {
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more than [`TEXT_BYTES_MAX`].
    pub(crate) cut: bool,
}

/// Reads the beginning of a file.
pub(crate) fn read_beginning(file: &Path) -> io::Result<FileBytes> {
    let mut bytes = Vec::new();
    File::open(file)?.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > TEXT_BYTES_MAX;
    bytes.truncate(TEXT_BYTES_MAX as usize);
    Ok(FileBytes { bytes, cut })
}

/// Whether a thing is not there, be it because a parent is no folder.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Why a file of a project is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It is a link, or below a link, that leads out of the project.
    #[error("{} leads out of the project, to {}", file.display(), target.display())]
    Outside {
        /// The file.
        file: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// It is a folder, a pipe or a device.
    #[error("{} is not a file", file.display())]
    NotAFile {
        /// What is there instead.
        file: PathBuf,
    },
    /// The system does not give it.
    #[error("{} cannot be read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl FileError {
    /// What a person is told: what is wrong, why, and what to do about it.
    pub fn told(&self) -> String {
        match self {
            Self::Outside { .. } => {
                format!("{self}, and is not read; put the text itself there")
            }
            Self::NotAFile { .. } => format!("{self}, and is not read; put a file there"),
            Self::Unreadable { source, .. } => {
                format!("{self}: {source}; let yourself read it, or take it away")
            }
        }
    }
}

/// Which links are followed.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Links {
    /// Those that stay below the root.
    Inside,
    /// All.
    Anywhere,
}

/// Reads the beginning of a file below `root`; `None` when it is not there.
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
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !target.metadata().map_err(unreadable)?.is_file() {
        return Err(FileError::NotAFile { file: file.to_path_buf() });
    }
    read_beginning(&target).map(Some).map_err(unreadable)
}
