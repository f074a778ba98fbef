//! Every disk that a power cut may leave.
//!
//! A disk promises little: the bytes of a file that was synced, and the names in a folder that was. The
//! rest may be there or not. [`states`] gives, for a list of changes cut off anywhere, the disk with
//! all of them, with only what was promised, with names but without bytes, with NUL bytes in their
//! place, with the last write done by half, and with each unpromised name operation missing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ship_store::disk::{Disk, MemoryDisk, OpenMode};

use crate::sim::{Named, Op};

/// Which bytes are there after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bytes {
    All,
    Synced,
    Nul,
    LastTorn,
}

/// Gives every disk that a power cut after `ops` may leave, with a word for each.
pub fn states(ops: &[Op]) -> Vec<(String, MemoryDisk)> {
    let loose: Vec<usize> =
        (0..ops.len()).filter(|&at| is_name(&ops[at]) && !name_lasts(ops, at)).collect();
    let synced: BTreeSet<usize> = loose.iter().copied().collect();
    let none = BTreeSet::new();
    let mut states = vec![
        ("all".to_owned(), image(ops, &none, Bytes::All)),
        ("synced".to_owned(), image(ops, &synced, Bytes::Synced)),
        ("names without data".to_owned(), image(ops, &none, Bytes::Synced)),
        ("names with NUL data".to_owned(), image(ops, &none, Bytes::Nul)),
        ("data without names".to_owned(), image(ops, &synced, Bytes::All)),
        ("last write torn".to_owned(), image(ops, &none, Bytes::LastTorn)),
    ];
    for &at in &loose {
        let without = format!("without {:?}", ops[at]);
        states.push((without.clone(), image(ops, &BTreeSet::from([at]), Bytes::All)));
        states
            .push((format!("{without}, synced"), image(ops, &BTreeSet::from([at]), Bytes::Synced)));
    }
    states
}

fn is_name(op: &Op) -> bool {
    matches!(op, Op::Name(..) | Op::Rename(..) | Op::Remove(_))
}

/// Whether a name operation was followed by a sync of its folder.
fn name_lasts(ops: &[Op], at: usize) -> bool {
    let path = match &ops[at] {
        Op::Name(path, _) | Op::Rename(_, path, _) | Op::Remove(path) => path,
        Op::Write(..) | Op::Truncate(..) | Op::Sync(_) | Op::SyncFailed(_) | Op::SyncFolder(_) => {
            return true;
        }
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    ops[at..].iter().any(|op| matches!(op, Op::SyncFolder(synced) if synced == folder))
}

/// Whether bytes were followed by a sync of their file that did not fail.
fn bytes_last(ops: &[Op], at: usize, file: u64) -> bool {
    let next = ops[at..].iter().find_map(|op| match op {
        Op::Sync(synced) if *synced == file => Some(true),
        Op::SyncFailed(failed) if *failed == file => Some(false),
        _ => None,
    });
    next == Some(true)
}

/// Builds the disk with the given name operations missing.
fn image(ops: &[Op], missing: &BTreeSet<usize>, bytes: Bytes) -> MemoryDisk {
    let mut names: BTreeMap<PathBuf, Named> = BTreeMap::new();
    let mut files: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let last_write = ops.iter().rposition(|op| matches!(op, Op::Write(..)));
    for (at, op) in ops.iter().enumerate().filter(|(at, _)| !missing.contains(at)) {
        match op {
            Op::Name(path, named) => {
                names.insert(path.clone(), named.clone());
            }
            Op::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), Named::File(*file));
            }
            Op::Remove(path) => {
                names.remove(path);
            }
            Op::Write(file, offset, written) => {
                let content = files.entry(*file).or_default();
                let lasts = bytes_last(ops, at, *file);
                match bytes {
                    Bytes::Synced if !lasts => {}
                    Bytes::Nul if !lasts => put(content, *offset, &vec![0; written.len()]),
                    Bytes::LastTorn if Some(at) == last_write && !lasts => {
                        put(content, *offset, &written[..written.len() / 2]);
                    }
                    _ => put(content, *offset, written),
                }
            }
            Op::Truncate(file, len) => {
                if bytes != Bytes::Synced || bytes_last(ops, at, *file) {
                    files.entry(*file).or_default().resize(*len, 0);
                }
            }
            Op::Sync(_) | Op::SyncFailed(_) | Op::SyncFolder(_) => {}
        }
    }
    build(&names, &files)
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    content.resize(content.len().max(offset + bytes.len()), 0);
    content[offset..offset + bytes.len()].copy_from_slice(bytes);
}

/// Makes a disk of names and bytes. A name whose folder is missing is lost with it.
fn build(names: &BTreeMap<PathBuf, Named>, files: &BTreeMap<u64, Vec<u8>>) -> MemoryDisk {
    let disk = MemoryDisk::new();
    let mut first_names: BTreeMap<u64, PathBuf> = BTreeMap::new();
    for (path, named) in names {
        // Fails where the folder is missing, which is what being lost means.
        let _ = match named {
            Named::Folder => disk.make_folder(path),
            Named::Link(target) => disk.symlink(target, path),
            Named::File(file) => match first_names.get(file) {
                Some(first) => disk.link(first, path),
                None => disk.open(path, OpenMode::Create).map(|made| {
                    let content = files.get(file).map(Vec::as_slice).unwrap_or_default();
                    let written = made.write(content);
                    debug_assert_eq!(written.ok(), Some(content.len()));
                    first_names.insert(*file, path.clone());
                }),
            },
        };
    }
    disk
}
