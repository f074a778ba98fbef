//! Keeps copies of unreadable bytes, and bytes that were cut off, in the quarantine of a chat.

use std::path::Path;

use super::store_env::Env;
use crate::StorageError;

/// Stores bytes of a file, durably. Returns whether they are new in the quarantine: damaged bytes stay in the log,
/// so every process finds them again, but they are reported only once.
pub(crate) fn quarantine_bytes(
    env: &Env,
    quarantine: &Path,
    file: &Path,
    offset: u64,
    bytes: &[u8],
) -> Result<bool, StorageError> {
    env.ensure_folder(quarantine)?;
    let folder = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let crc = crc32c::crc32c(bytes);
    let path = quarantine.join(format!("{folder}-{name}-{offset}-{crc:08x}.bin"));
    // The name contains the checksum of the content, so an interrupted repair finds its own copy.
    match env.stat(&path)? {
        Some(look) if look.len == bytes.len() as u64 => {
            env.sync_folder(quarantine)?;
            Ok(false)
        }
        Some(_) | None => {
            env.replace(&path, bytes)?;
            Ok(true)
        }
    }
}
