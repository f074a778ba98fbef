//! Replaces a file as a whole.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::EditSettingsError;
use crate::file_reader::is_missing;

/// Writes a text in the place of a file, which is the old one or the new one at every moment. A link stays a link, and
/// an old file keeps its permissions.
pub(super) fn replace(path: &Path, text: &str, mode_if_new: u32) -> Result<(), EditSettingsError> {
    replace_target(path, text, mode_if_new)
        .map_err(|source| EditSettingsError::File { path: path.to_path_buf(), source })
}

fn replace_target(path: &Path, text: &str, mode_if_new: u32) -> io::Result<()> {
    let target = find_target(path)?;
    let permissions = target.metadata().ok().map(|found| found.permissions());
    let draft = target.with_extension(format!("json.{}.tmp", std::process::id()));
    let write = || {
        let options = OpenOptions::new().write(true).create_new(true).mode(mode_if_new).clone();
        let mut file = options.open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        permissions.map_or(Ok(()), |permissions| fs::set_permissions(&draft, permissions))?;
        fs::rename(&draft, &target)
    };
    write().inspect_err(|_| {
        // A draft that cannot be removed does no harm: nothing reads it.
        let _ = fs::remove_file(&draft);
    })
}

/// Returns the path of the file that a link leads to, or of a new file, whose folder is made.
fn find_target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if is_missing(&error) && path.symlink_metadata().is_err() => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            Ok(path.to_path_buf())
        }
        found => found,
    }
}
