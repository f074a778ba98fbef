//! Opens the file of an import. It is read three times, so what comes through a pipe is first put into a file of its own.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The argument that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Where standard input can be opened like a file.
const STANDARD_INPUT_FILE: &str = "/dev/stdin";

/// A file that can be read several times.
pub(super) struct InputFile {
    pub(super) file: File,
    pub(super) bytes: u64,
}

/// Opens a file. What is no file on disk is copied into `folder`, in a file without a name, which is gone with this
/// process however it ends.
pub(super) fn open(path: &Path, folder: &Path) -> io::Result<InputFile> {
    let path = if path == Path::new(STANDARD_INPUT) { STANDARD_INPUT_FILE.as_ref() } else { path };
    let mut source = File::open(path)?;
    let about = source.metadata()?;
    if about.is_file() {
        return Ok(InputFile { file: source, bytes: about.len() });
    }
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut copy = nameless_file(folder)?;
    let bytes = io::copy(&mut source, &mut copy)?;
    Ok(InputFile { file: copy, bytes })
}

/// Makes a file whose name is removed at once. A folder that is there for it alone goes, too.
fn nameless_file(folder: &Path) -> io::Result<File> {
    let is_new_folder = !folder.exists();
    fs::create_dir_all(folder)?;
    let path: PathBuf = folder.join(format!("import-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    fs::remove_file(&path)?;
    if is_new_folder {
        fs::remove_dir(folder)?;
    }
    Ok(file)
}
