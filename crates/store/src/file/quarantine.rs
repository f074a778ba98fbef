//! The quarantine of a chat: copies of the bytes that cannot be read, and what was cut off.

use std::path::Path;

use super::env::Env;
use crate::StorageError;

/// Keeps bytes of a file, durably. Tells whether they are new in the quarantine: what is damaged stays where it
/// is, is found again by every process, and is told once.
pub(crate) fn keep(
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
    // The name tells the content, so a repair that was interrupted finds what it left.
    match env.look(&path)? {
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
