//! Stores bytes under their own digest, shared by all lines that refer to them.
//!
//! The path is `blobs/sha256/<2 hex>/<64 hex>`. A blob is complete before it gets its name, and never changes.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::store_env::{Env, UNFINISHED, write_all};
use crate::chat_folder::hex;
use crate::disk::{DiskFile, NodeKind, OpenMode};
use crate::rules::{TextBlob, blob_ref};
use crate::{BlobError, BlobRef, StorageError};

const FOLDER: &str = ".ship/blobs/sha256";
/// The age at which an unfinished blob cannot have a writer any more.
const LEFT_OVER_MS: i64 = 60 * 60 * 1000;

/// Stores bytes under their digest, durably.
pub(crate) fn put_blob(env: &Env, bytes: &[u8], media_type: &str) -> Result<BlobRef, StorageError> {
    let blob = blob_ref(bytes, media_type);
    put(env, &blob, bytes)?;
    Ok(blob)
}

/// Stores the texts of a line under their digests, durably.
pub(crate) fn put_texts(env: &Env, texts: &[TextBlob]) -> Result<(), StorageError> {
    texts.iter().try_for_each(|text| put(env, &text.blob, text.text.as_bytes()))
}

fn put(env: &Env, blob: &BlobRef, bytes: &[u8]) -> Result<(), StorageError> {
    let path = blob_path(&blob.sha256);
    let folder = path.parent().unwrap_or(Path::new(""));
    for above in [".ship", ".ship/blobs", FOLDER] {
        env.ensure_folder(Path::new(above))?;
    }
    env.ensure_folder(folder)?;
    if !is_kept(env, &path, bytes)? {
        write_new(env, folder, &path, bytes)?;
    }
    // Another process may have created the folders and not synced them yet.
    path.ancestors().skip(1).try_for_each(|folder| env.sync_folder(folder))
}

/// Whether exactly these bytes are already stored and durable. A name and a length prove nothing, and neither does
/// a sync after a failed one.
fn is_kept(env: &Env, path: &Path, bytes: &[u8]) -> Result<bool, StorageError> {
    match env.stat(path)? {
        Some(look) if look.node != NodeKind::File => {
            return Err(StorageError::NotPlain { path: path.to_owned(), expected: "file" });
        }
        // A sync of the file or of its folder has failed.
        Some(_) if path.ancestors().take(2).any(|path| env.is_unsynced(path)) => return Ok(false),
        Some(look) if look.len == bytes.len() as u64 => {}
        Some(_) | None => return Ok(false),
    }
    // An unreadable blob counts as missing and is written anew.
    let same = env.read(path).is_ok_and(|read| read.is_some_and(|(_, found)| found == bytes));
    if !same || !env.syncs() {
        return Ok(same);
    }
    // Another process may have written the bytes and not synced them.
    let Some(file) = env.open(path, OpenMode::Read)? else { return Ok(false) };
    let synced = env.sync(&*file).is_ok();
    if !synced {
        env.mark_unsynced(path);
    }
    Ok(synced)
}

fn write_new(env: &Env, folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let failed = |error| StorageError::io("write", path, error);
    let (aside, file) = create_unfinished(env, folder).map_err(failed)?;
    let written = write_all(&*file, bytes)
        .and_then(|()| env.sync(&*file))
        .and_then(|()| env.disk.rename(&aside, path));
    if let Err(error) = written {
        // No reader opens a name like this; a file that stays is reported as a leftover.
        let _ = env.disk.remove(&aside);
        return Err(failed(error));
    }
    env.mark_synced(path);
    env.sync_folder(folder)
}

/// Creates a file under a name that no process uses. A process id in the name would not do, because two containers
/// may share a folder and a process id.
pub(super) fn create_unfinished(
    env: &Env,
    folder: &Path,
) -> io::Result<(PathBuf, Box<dyn DiskFile>)> {
    loop {
        let random = getrandom::u64()?;
        let millis = env.options.now().millis();
        let aside = folder.join(format!("{millis}-{random:016x}{UNFINISHED}"));
        match env.disk.open(&aside, OpenMode::Create) {
            Ok(file) => return Ok((aside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the unfinished blobs whose writers must be gone; their names contain the time of their creation.
pub(crate) fn leftovers(env: &Env) -> Result<Vec<PathBuf>, StorageError> {
    let oldest = env.options.now().millis() - LEFT_OVER_MS;
    let is_old = |name: &&String| {
        let begun = name.strip_suffix(UNFINISHED).and_then(|name| name.split('-').next());
        begun.is_some_and(|begun| begun.parse().is_ok_and(|begun: i64| begun < oldest))
    };
    let mut found = Vec::new();
    for folder in env.list(Path::new(FOLDER))?.iter().map(|name| Path::new(FOLDER).join(name)) {
        if env.stat(&folder)?.is_some_and(|look| look.node == NodeKind::Folder) {
            found.extend(env.list(&folder)?.iter().filter(is_old).map(|name| folder.join(name)));
        }
    }
    Ok(found)
}

/// Returns the bytes with this digest.
pub(crate) fn read_blob(env: &Env, sha256: &str) -> Result<Vec<u8>, BlobError> {
    let missing = || BlobError::Missing(sha256.to_owned());
    let path = path_of(sha256).ok_or_else(missing)?;
    let (_, bytes) = env.read(&path)?.ok_or_else(missing)?;
    match hex(&Sha256::digest(&bytes)) == sha256 {
        true => Ok(bytes),
        false => Err(BlobError::Damaged(sha256.to_owned())),
    }
}

/// Returns the path of the blob with a digest; `None` if it is not a digest.
pub(crate) fn path_of(sha256: &str) -> Option<PathBuf> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (sha256.len() == 64 && sha256.bytes().all(is_hex)).then(|| blob_path(sha256))
}

fn blob_path(sha256: &str) -> PathBuf {
    Path::new(FOLDER).join(&sha256[..2]).join(sha256)
}
