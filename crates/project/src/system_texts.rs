//! Reads the texts that people write for the agent: its role and the profile.
//!
//! Each text may be missing. A text that cannot be read does not stop a conversation: it counts as missing, and its
//! problem is returned for display.

use std::path::Path;

use ship_record::{FileError, text_of_file};

use crate::file_reader::{FileBytes, Links, read_below};
use crate::init::DEFAULT_ROLE;

/// The texts that go into the system blocks.
#[derive(Debug, Default)]
pub struct SystemTexts {
    /// The text of `.ship/profile/Primary.md`.
    pub profile_primary: Option<String>,
    /// The text of `.ship/profile/other.md`.
    pub profile_other: Option<String>,
    /// The text of `Agent.md`, or a role that suits any project; `None` without a project.
    pub role: Option<String>,
    /// The reasons why existing texts are missing here.
    pub problems: Vec<FileError>,
}

impl SystemTexts {
    /// Returns the texts without the problems.
    pub(crate) fn copy(&self) -> Self {
        Self {
            profile_primary: self.profile_primary.clone(),
            profile_other: self.profile_other.clone(),
            role: self.role.clone(),
            problems: Vec::new(),
        }
    }
}

/// The files of the texts: the profile, and the role.
pub(crate) const TEXT_FILES: [&str; 3] =
    [".ship/profile/Primary.md", ".ship/profile/other.md", "Agent.md"];

/// Reads the texts of a project.
///
/// Bytes that are not UTF-8 are replaced, text beyond a megabyte is left out with a note, and surrounding white
/// space is removed. A link that leads out of the project is refused, because a repository with such a link could
/// make the agent read any file of the account.
pub fn read_system_texts(root: &Path) -> SystemTexts {
    let mut problems = Vec::new();
    let mut read = |file: &Path| {
        read_text(root, file).unwrap_or_else(|problem| {
            problems.push(problem);
            None
        })
    };
    let [primary, other, role] = TEXT_FILES.map(|file| root.join(file));
    SystemTexts {
        profile_primary: read(&primary),
        profile_other: read(&other),
        role: read(&role).or_else(|| Some(DEFAULT_ROLE.trim().to_owned())),
        problems,
    }
}

fn read_text(root: &Path, file: &Path) -> Result<Option<String>, FileError> {
    let read = read_below(root, file, Links::Inside)?;
    Ok(read.and_then(|FileBytes { bytes, cut }| text_of_file(bytes, cut)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use ship_record::TEXT_BYTES_MAX;

    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        folder
    }

    #[test]
    fn without_any_file_there_is_the_default_role_and_nothing_else() {
        let folder = folder(&[]);
        let texts = read_system_texts(folder.path());
        assert_eq!(texts.role.as_deref(), Some(DEFAULT_ROLE.trim()));
        assert_eq!((texts.profile_primary, texts.profile_other), (None, None));
        assert!(texts.problems.is_empty());
    }

    #[test]
    fn every_text_that_is_there_is_read() {
        let folder = folder(&[
            ("Agent.md", b"\xEF\xBB\xBF# Pirate\n"),
            (".ship/profile/Primary.md", b"Anna, \xFF Rust\n"),
            (".ship/profile/other.md", b"  \n"),
        ]);
        let texts = read_system_texts(folder.path());
        assert_eq!(texts.role.as_deref(), Some("# Pirate"));
        assert_eq!(texts.profile_primary.as_deref(), Some("Anna, \u{FFFD} Rust"));
        assert_eq!(texts.profile_other, None);
    }

    #[test]
    fn a_link_inside_the_project_is_followed_and_one_outside_is_refused_and_told() {
        let outside = folder(&[("secret.md", b"secret")]);
        let folder = folder(&[("docs/role.md", b"from docs"), (".ship/profile/x", b"")]);
        symlink("docs/role.md", folder.path().join("Agent.md")).unwrap();
        symlink(outside.path().join("secret.md"), folder.path().join(".ship/profile/Primary.md"))
            .unwrap();
        symlink("nowhere", folder.path().join(".ship/profile/other.md")).unwrap();

        let texts = read_system_texts(folder.path());
        assert_eq!(texts.role.as_deref(), Some("from docs"));
        assert_eq!((texts.profile_primary, texts.profile_other), (None, None));
        let [problem] = &texts.problems[..] else { panic!("{:?}", texts.problems) };
        assert!(problem.to_string().contains("is a link out of the project"), "{problem}");
    }

    #[test]
    fn a_folder_or_a_pipe_in_place_of_a_text_is_told_without_waiting() {
        let folder = folder(&[(".ship/profile/Primary.md/x", b"")]);
        let pipe = folder.path().join("Agent.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let texts = read_system_texts(folder.path());
        assert_eq!(texts.problems.len(), 2);
        assert_eq!(texts.role.as_deref(), Some(DEFAULT_ROLE.trim()));
    }

    #[test]
    fn a_text_without_end_is_cut_between_characters_and_says_so() {
        let mut long = b"x".to_vec();
        long.extend("密".repeat(400_000).bytes());
        let folder = folder(&[("Agent.md", &long)]);
        let role = read_system_texts(folder.path()).role.unwrap();
        assert!(role.len() < TEXT_BYTES_MAX as usize + 100 && !role.contains('\u{FFFD}'));
        assert!(role.ends_with("the rest is left out.]"));
    }
}
