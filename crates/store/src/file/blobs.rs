//! Blobs: bytes under their own digest, shared by all that point to them.
//!
//! `blobs/sha256/<2 hex>/<64 hex>`. A blob is complete before it has its name, and is never changed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::env::{Env, write_all};
use crate::disk::{Mode, Node};
use crate::name::hex;
use crate::{BlobError, BlobRef, StorageError};

/// Names of unfinished blobs differ by process and by this.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// Keeps bytes under their digest, durably.
pub(crate) fn put(env: &Env, bytes: &[u8], media_type: &str) -> Result<BlobRef, StorageError> {
    let sha256 = hex(&Sha256::digest(bytes));
    let path = blob_path(&sha256);
    let folder = path.parent().unwrap_or(Path::new(""));
    for above in [".ship", ".ship/blobs", ".ship/blobs/sha256"] {
        env.ensure_folder(Path::new(above))?;
    }
    env.ensure_folder(folder)?;
    match env.look(&path)? {
        Some(look) if look.node == Node::File && look.len == bytes.len() as u64 => {
            // Perhaps of another process that has not come to syncing it.
            sync_known(env, &path)?;
        }
        Some(look) if look.node != Node::File => {
            return Err(StorageError::NotPlain { path, expected: "file" });
        }
        Some(_) | None => write_new(env, folder, &path, bytes)?,
    }
    Ok(BlobRef { sha256, size: bytes.len() as u64, media_type: media_type.to_owned() })
}

fn sync_known(env: &Env, path: &Path) -> Result<(), StorageError> {
    if !env.syncs() {
        return Ok(());
    }
    if let Some(file) = env.open(path, Mode::Read)? {
        file.sync().map_err(|error| StorageError::io("sync", path, error))?;
    }
    sync_folders(env, path)
}

fn write_new(env: &Env, folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
    let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let aside = folder.join(format!("{}-{number}.tmp", std::process::id()));
    env.remove(&aside)?;
    let written = env.disk.open(&aside, Mode::Create).and_then(|file| {
        write_all(&*file, bytes)?;
        file.sync()?;
        env.disk.rename(&aside, path)
    });
    if let Err(error) = written {
        // Nobody reads a name like this; what stays is reported as left over.
        let _ = env.disk.remove(&aside);
        return Err(StorageError::io("write", path, error));
    }
    sync_folders(env, path)
}

/// The name of a blob, and the folders that another process may have just made.
fn sync_folders(env: &Env, path: &Path) -> Result<(), StorageError> {
    path.ancestors().skip(1).try_for_each(|folder| env.sync_folder(folder))
}

/// Returns the bytes of a digest.
pub(crate) fn get(env: &Env, sha256: &str) -> Result<Vec<u8>, BlobError> {
    if sha256.len() != 64
        || !sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    {
        return Err(BlobError::Missing(sha256.to_owned()));
    }
    let Some((_, bytes)) = env.read(&blob_path(sha256))? else {
        return Err(BlobError::Missing(sha256.to_owned()));
    };
    match hex(&Sha256::digest(&bytes)) == sha256 {
        true => Ok(bytes),
        false => Err(BlobError::Damaged(sha256.to_owned())),
    }
}

fn blob_path(sha256: &str) -> PathBuf {
    Path::new(".ship/blobs/sha256").join(&sha256[..2]).join(sha256)
}
