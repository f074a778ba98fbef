//! Keeps copies of unreadable bytes, and bytes that were cut off, in the quarantine of a chat.

use std::path::Path;

use super::store_env::Env;
use crate::StorageError;

/// Stores bytes of a file, durably. Returns whether they are new in the quarantine: damaged bytes stay in the log,
/// also when it is sealed, so every process finds them again, but they are copied and reported only once.
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
    // The name contains the checksum of the content, so an interrupted repair finds its own copy.
    let crc = crc32c::crc32c(bytes);
    let copy_of = |folder: &str, name: &str| {
        quarantine.join(format!("{folder}-{name}-{offset}-{crc:08x}.bin"))
    };
    let path = copy_of(&folder, &name);
    let before_sealing = live_log(&folder, &name).map(|(folder, name)| copy_of(folder, name));
    for copy in [Some(&path), before_sealing.as_ref()].into_iter().flatten() {
        if env.stat(copy)?.is_some_and(|look| look.len == bytes.len() as u64) {
            // The process that made the copy may have ended before it synced the folder.
            env.sync_folder(quarantine)?;
            return Ok(false);
        }
    }
    env.replace(&path, bytes)?;
    Ok(true)
}

/// Moves a whole file into the quarantine, durably.
pub(crate) fn set_aside(env: &Env, quarantine: &Path, path: &Path) -> Result<(), StorageError> {
    env.ensure_folder(quarantine)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let aside = quarantine.join(format!("{}-{name}", env.options.now().file_name()));
    let renamed = env.disk.rename(path, &aside);
    renamed.map_err(|error| StorageError::io("rename to", &aside, error))?;
    // The new name is durable before the loss of the old one.
    env.sync_folder(quarantine)?;
    env.sync_folder(path.parent().unwrap_or(Path::new("")))
}

/// Returns the folder and the name that a log had before it was sealed; `None` if this is no sealed log.
pub(crate) fn live_log(folder: &str, name: &str) -> Option<(&'static str, &'static str)> {
    match folder {
        _ if !name.ends_with(".jsonl") => None,
        "archive" if name.starts_with("requests-") => Some(("messages", "requests.jsonl")),
        "archive" => Some(("messages", "history.jsonl")),
        "conversations" if name.starts_with("archive-") => Some(("conversations", "history.jsonl")),
        _ => None,
    }
}
