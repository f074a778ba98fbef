//! `ship init`: writes the first files of a new project.
//!
//! No file is required and none is overwritten. An existing file stays as it is, and `.gitignore` only gets the
//! lines that it lacks.

mod template;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ship_record::{Explain, Explanation};

/// The role of an agent without a text of its own.
pub(crate) const DEFAULT_ROLE: &str = include_str!("../assets/Agent.md");

/// The paths that do not belong into a repository (messages and keys), each with other ways to write it.
const IGNORED: [(&str, &[&str]); 2] =
    [(".ship/", &[".ship", "/.ship", "/.ship/"]), (".env", &["/.env", ".env*", "*.env"])];

/// A file of a new project, and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedFile {
    /// The path of the file.
    pub path: PathBuf,
    /// What happened to the file.
    pub kind: CreatedKind,
}

/// Says what happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreatedKind {
    /// The file is new.
    Created,
    /// The file existed and got these lines at its end.
    Added(Vec<&'static str>),
    /// The file existed and is unchanged.
    Kept,
}

/// The reason why a project could not be created. Files written before the error stay.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.explain())]
#[non_exhaustive]
pub enum InitError {
    /// The folder does not exist and cannot be created.
    Folder {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be written.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl Explain for InitError {
    fn explain(&self) -> Explanation {
        match self {
            Self::Folder { path, .. } => {
                Explanation::new(format!("cannot create the folder {}", path.display()))
                    .with_remedy("choose another path, or create it yourself")
            }
            Self::File { path, .. } => {
                Explanation::new(format!("{} cannot be written", path.display()))
                    .with_remedy("check the folder's permissions and the free space")
            }
        }
    }
}

/// Writes `Agent.md`, `ship.json` and the lines of `.gitignore` into a folder, where they are missing.
///
/// # Errors
/// Fails if the folder cannot be created or a file cannot be written.
pub fn init(root: &Path) -> Result<Vec<CreatedFile>, InitError> {
    fs::create_dir_all(root)
        .map_err(|source| InitError::Folder { path: root.to_path_buf(), source })?;
    let made = |name: &str, result: io::Result<CreatedKind>| {
        let path = root.join(name);
        match result {
            Ok(kind) => Ok(CreatedFile { path, kind }),
            Err(source) => Err(InitError::File { path, source }),
        }
    };
    Ok(vec![
        made("Agent.md", create(&root.join("Agent.md"), DEFAULT_ROLE))?,
        made("ship.json", create(&root.join("ship.json"), &template::ship_json()))?,
        made(".gitignore", add_ignored_lines(&root.join(".gitignore")))?,
    ])
}

/// Writes a file unless the name is taken, even by a link to nowhere.
fn create(path: &Path, text: &str) -> io::Result<CreatedKind> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => file.write_all(text.as_bytes()).map(|()| CreatedKind::Created),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(CreatedKind::Kept),
        Err(error) => Err(error),
    }
}

fn add_ignored_lines(path: &Path) -> io::Result<CreatedKind> {
    let lines =
        |missing: &[&str]| missing.iter().map(|line| format!("{line}\n")).collect::<String>();
    let old = match fs::read(path) {
        // The text is only searched, so bytes that are not UTF-8 do no harm.
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return create(path, &lines(&IGNORED.map(|(line, _)| line)));
        }
        Err(error) => return Err(error),
    };
    let is_there = |(line, others): &(&str, &[&str])| {
        old.lines().map(str::trim).any(|old| old == *line || others.contains(&old))
    };
    let missing: Vec<&str> =
        IGNORED.iter().filter(|entry| !is_there(entry)).map(|(line, _)| *line).collect();
    if missing.is_empty() {
        return Ok(CreatedKind::Kept);
    }
    let break_before = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{break_before}{}", lines(&missing)).as_bytes())?;
    Ok(CreatedKind::Added(missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Project;

    fn kinds(made: &[CreatedFile]) -> Vec<(&str, &CreatedKind)> {
        made.iter()
            .map(|made| (made.path.file_name().unwrap().to_str().unwrap(), &made.kind))
            .collect()
    }

    #[test]
    fn a_new_folder_gets_three_files_and_a_second_time_changes_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("new/project");

        let made = init(&root).unwrap();
        use CreatedKind::{Created, Kept};
        assert_eq!(
            kinds(&made),
            [("Agent.md", &Created), ("ship.json", &Created), (".gitignore", &Created)]
        );
        assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap(), ".ship/\n.env\n");
        let contents = || {
            ["Agent.md", "ship.json", ".gitignore"].map(|name| fs::read(root.join(name)).unwrap())
        };
        let before = contents();

        let again = init(&root).unwrap();
        assert_eq!(
            kinds(&again),
            [("Agent.md", &Kept), ("ship.json", &Kept), (".gitignore", &Kept)]
        );
        assert_eq!(contents(), before);
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Agent.md"), "mine").unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join("ship.json")).unwrap();
        init(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("Agent.md")).unwrap(), "mine");
        assert!(!folder.path().join("nowhere").exists());
    }

    #[test]
    fn gitignore_gets_only_the_lines_it_lacks() {
        for (before, after, added) in [
            ("target\n", "target\n.ship/\n.env\n", Some(vec![".ship/", ".env"])),
            ("target", "target\n.ship/\n.env\n", Some(vec![".ship/", ".env"])),
            ("/.ship\r\n", "/.ship\r\n.env\n", Some(vec![".env"])),
            (".env\n.ship/", ".env\n.ship/", None),
            ("", ".ship/\n.env\n", Some(vec![".ship/", ".env"])),
            ("# .env\n.ship\n", "# .env\n.ship\n.env\n", Some(vec![".env"])),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(".gitignore");
            fs::write(&path, before).unwrap();
            let made = init(folder.path()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
            assert_eq!(
                made[2].kind,
                added.map_or(CreatedKind::Kept, CreatedKind::Added),
                "{before:?}"
            );
        }
    }

    #[test]
    fn a_project_that_was_just_begun_has_every_default_and_no_warning() {
        let folder = tempfile::tempdir().unwrap();
        init(folder.path()).unwrap();
        let project = Project::load(folder.path(), []).unwrap();
        assert_eq!(project.settings(), &crate::Settings::default());
        assert_eq!(project.warnings(), []);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = init(&folder.path().join("file/project")).unwrap_err();
        assert!(error.to_string().contains("/file/project; choose another path"), "{error}");
    }
}
