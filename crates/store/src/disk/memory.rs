//! A disk made of maps, for stores that end with the program.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;

use super::{ChangeTimes, ChangeWatch, Disk, DiskFile, FileLook, NodeKind, OpenMode, SeenChange};

/// A disk made of maps. Its clones share the same files.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    tree: Arc<Mutex<Tree>>,
    watchers: Arc<Watchers>,
}

/// The stores on this disk that want to know of changes.
#[derive(Default)]
struct Watchers {
    seen: Mutex<Vec<Weak<SeenChange>>>,
}

impl std::fmt::Debug for Watchers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchers").field("count", &self.seen.lock().len()).finish()
    }
}

#[derive(Debug, Default)]
struct Tree {
    names: BTreeMap<PathBuf, TreeEntry>,
    files_made: u64,
}

#[derive(Debug, Clone)]
enum TreeEntry {
    Folder,
    File(Arc<FileData>),
    Link(String),
}

/// A file exists as long as it has a name or is open, as on a real disk.
#[derive(Debug)]
struct FileData {
    number: u64,
    names: AtomicU64,
    content: Mutex<FileImage>,
}

#[derive(Debug, Default)]
struct FileImage {
    bytes: Vec<u8>,
    /// The number of changes of the bytes.
    changes: u64,
    locked: bool,
}

impl FileImage {
    /// Returns the bytes to be changed.
    fn change(&mut self) -> &mut Vec<u8> {
        self.changes += 1;
        &mut self.bytes
    }
}

impl FileData {
    fn stat(&self) -> FileLook {
        let names = self.names.load(Ordering::Relaxed);
        let content = self.content.lock();
        let (len, changes) = (content.bytes.len() as u64, i128::from(content.changes));
        let changed = Some(ChangeTimes::new(changes, changes, true));
        FileLook { node: NodeKind::File, file: (0, self.number), len, names, changed }
    }
}

impl MemoryDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns every name with the bytes of the file or the target of the link; `None` for a folder.
    pub fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let tree = self.lock();
        let describe = |entry: &TreeEntry| match entry {
            TreeEntry::Folder => None,
            TreeEntry::File(file) => Some(file.content.lock().bytes.clone()),
            TreeEntry::Link(target) => Some(target.clone().into_bytes()),
        };
        tree.names.iter().map(|(path, entry)| (path.clone(), describe(entry))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock()
    }
}

impl Tree {
    /// Fails as the real disk does if the folder of `path` is missing or not a folder.
    fn check_parent(&self, path: &Path) -> io::Result<()> {
        let mut folder = PathBuf::new();
        for name in path.parent().into_iter().flat_map(Path::components) {
            folder.push(name);
            match self.names.get(&folder) {
                Some(TreeEntry::Folder) => {}
                Some(TreeEntry::File(_) | TreeEntry::Link(_)) => return Err(Errno::NOTDIR.into()),
                None => return Err(Errno::NOENT.into()),
            }
        }
        Ok(())
    }

    fn get(&self, path: &Path) -> io::Result<&TreeEntry> {
        self.check_parent(path)?;
        self.names.get(path).ok_or_else(|| Errno::NOENT.into())
    }

    fn add(&mut self, path: &Path, entry: TreeEntry) -> io::Result<()> {
        self.check_parent(path)?;
        if self.names.contains_key(path) {
            return Err(Errno::EXIST.into());
        }
        self.put(path, entry);
        Ok(())
    }

    /// Gives `entry` the name `path`, which another entry may lose.
    fn put(&mut self, path: &Path, entry: TreeEntry) {
        if let TreeEntry::File(file) = &entry {
            file.names.fetch_add(1, Ordering::Relaxed);
        }
        let old = self.names.insert(path.to_owned(), entry);
        Self::drop_name(old);
    }

    fn drop_name(entry: Option<TreeEntry>) {
        if let Some(TreeEntry::File(file)) = entry {
            file.names.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn stat_entry(entry: &TreeEntry) -> FileLook {
    match entry {
        // Files are on device 0, so no folder or link has the identity of a file.
        TreeEntry::Folder => look_without_bytes(NodeKind::Folder),
        TreeEntry::Link(_) => look_without_bytes(NodeKind::Other),
        TreeEntry::File(file) => file.stat(),
    }
}

fn look_without_bytes(node: NodeKind) -> FileLook {
    FileLook { node, file: (1, 0), len: 0, names: 1, changed: None }
}

impl Disk for MemoryDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut tree = self.lock();
        let file = match (tree.get(path).cloned(), mode) {
            (Ok(TreeEntry::File(_)), OpenMode::Create) => return Err(Errno::EXIST.into()),
            (Ok(TreeEntry::File(file)), _) => file,
            (Ok(TreeEntry::Folder), _) => return Err(Errno::ISDIR.into()),
            (Ok(TreeEntry::Link(_)), _) => return Err(Errno::LOOP.into()),
            // OpenMode::Lock) => { | If the folder is what is missing, `add` fails.
            (Err(_), OpenMode::Create | OpenMode::Lock) => {
                tree.files_made += 1;
                let (names, content) = (AtomicU64::new(0), Mutex::default());
                let file = Arc::new(FileData { number: tree.files_made, names, content });
                tree.add(path, TreeEntry::File(Arc::clone(&file)))?;
                file
            }
            (Err(error), OpenMode::Read | OpenMode::ReadOften | OpenMode::Append) => {
                return Err(error);
            }
        };
        let holds = AtomicBool::new(false);
        Ok(Box::new(MemoryFile { file, holds_lock: holds }))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.lock().add(path, TreeEntry::Folder)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = self.lock();
        let entry = tree.get(from)?.clone();
        tree.add(to, entry)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut tree = self.lock();
        let entry = tree.get(from)?.clone();
        tree.check_parent(to)?;
        let old = tree.names.remove(from);
        Tree::drop_name(old);
        tree.put(to, entry);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut tree = self.lock();
        tree.get(path)?;
        let old = tree.names.remove(path);
        Tree::drop_name(old);
        Ok(())
    }

    fn symlink(&self, target: &str, path: &Path) -> io::Result<()> {
        self.lock().add(path, TreeEntry::Link(target.to_owned()))
    }

    fn stat(&self, path: &Path) -> io::Result<FileLook> {
        Ok(stat_entry(self.lock().get(path)?))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let tree = self.lock();
        if path != Path::new("") && !matches!(tree.get(path)?, TreeEntry::Folder) {
            return Err(Errno::NOTDIR.into());
        }
        let below = tree.names.range(path.to_owned()..).map(|(name, _)| name);
        // The map sorts by path, so all names below a folder follow it without a gap.
        let below = below.take_while(|name| name.starts_with(path));
        let text = |name: &PathBuf| name.file_name().map(|n| n.to_string_lossy().into_owned());
        Ok(below.filter(|name| name.parent() == Some(path)).filter_map(text).collect())
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        if path != Path::new("") && !matches!(self.lock().get(path)?, TreeEntry::Folder) {
            return Err(Errno::NOTDIR.into());
        }
        Ok(())
    }

    fn mark_changed(&self, chat_folder: &str) -> io::Result<()> {
        let watchers = {
            let mut watchers = self.watchers.seen.lock();
            watchers.retain(|seen| seen.strong_count() > 0);
            watchers.clone()
        };
        watchers.iter().filter_map(Weak::upgrade).for_each(|seen| seen(Some(chat_folder)));
        Ok(())
    }

    fn watch_changes(&self, seen: SeenChange) -> io::Result<Option<ChangeWatch>> {
        let seen = Arc::new(seen);
        self.watchers.seen.lock().push(Arc::downgrade(&seen));
        Ok(Some(Box::new(seen)))
    }
}

struct MemoryFile {
    file: Arc<FileData>,
    /// Whether this handle holds the lock on the file.
    holds_lock: AtomicBool,
}

impl DiskFile for MemoryFile {
    fn stat(&self) -> io::Result<FileLook> {
        Ok(self.file.stat())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = &self.file.content.lock().bytes;
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let len = buffer.len().min(bytes.len() - start);
        buffer[..len].copy_from_slice(&bytes[start..start + len]);
        Ok(len)
    }

    fn write(&self, new: &[u8]) -> io::Result<usize> {
        self.file.content.lock().change().extend_from_slice(new);
        Ok(new.len())
    }

    fn write_note(&self, note: &[u8]) -> io::Result<()> {
        let mut content = self.file.content.lock();
        let bytes = content.change();
        let len = bytes.len().max(note.len());
        bytes.resize(len, 0);
        bytes[..note.len()].copy_from_slice(note);
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let len = usize::try_from(len).map_err(|_| Errno::FBIG)?;
        self.file.content.lock().change().resize(len, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut content = self.file.content.lock();
        if !content.locked {
            content.locked = true;
            self.holds_lock.store(true, Ordering::Relaxed);
        }
        // As with `flock`, the handle that holds the lock may take it again.
        Ok(self.holds_lock.load(Ordering::Relaxed))
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if self.holds_lock.load(Ordering::Relaxed) {
            self.file.content.lock().locked = false;
        }
    }
}
