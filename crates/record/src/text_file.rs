//! A text that a person keeps in a file: how its bytes are read, and why it is not.

use std::io;
use std::path::PathBuf;

/// The maximal length of a text that people write: some 250,000 tokens, more than most models can be shown. A
/// larger file is a mistake, and reading it whole would make the mistake expensive.
pub const TEXT_BYTES_MAX: u64 = 1024 * 1024;

/// Returns the text of a file that begins with these bytes; `None` if it is blank. `is_cut` says that
/// the file is longer.
///
/// Bytes that are not UTF-8 are replaced, surrounding white space is removed, and a text that was cut says so.
pub fn text_of_file(mut bytes: Vec<u8>, is_cut: bool) -> Option<String> {
    if is_cut {
        // The cut may be inside a character, which has at most four bytes.
        while bytes.last().is_some_and(|byte| byte & 0xC0 == 0x80) {
            bytes.pop();
        }
        bytes.pop();
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim();
    let note = match is_cut {
        true => {
            format!("\n\n[The file is longer than {TEXT_BYTES_MAX} bytes; the rest is left out.]")
        }
        false => String::new(),
    };
    (!text.is_empty()).then(|| format!("{text}{note}"))
}

/// The reason why a file of a project is not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file is a link, or below a link, that leads out of the project.
    #[error("{} is a link out of the project, to {}", file.display(), target.display())]
    Outside {
        /// The path of the link.
        file: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// The path is that of a folder, a pipe or a device.
    #[error("{} is not a file", file.display())]
    NotAFile {
        /// The path of the folder, pipe or device.
        file: PathBuf,
    },
    /// The system refuses to read the file.
    #[error("{} cannot be read", file.display())]
    Unreadable {
        /// The file that is unreadable.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl FileError {
    /// Describes the problem, its reason and its remedy for a person.
    pub fn text_for_user(&self) -> String {
        match self {
            Self::Outside { .. } => {
                format!("{self}, so it is ignored; replace the link by a file")
            }
            Self::NotAFile { .. } => format!("{self}, so it is ignored; replace it by a file"),
            Self::Unreadable { source, .. } => {
                format!("{self}: {source}; make it readable, or remove it")
            }
        }
    }
}
