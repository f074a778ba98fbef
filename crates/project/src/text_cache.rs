//! Keeps the texts and skills of a project in memory as long as their files are the same.
//!
//! A run asks for them, and they hardly ever change. So their files are only looked at: a file is the same if its
//! device, inode, size and times are. On a file system with coarse times, a file that was written a moment ago can be
//! written again without a change of any of these. So what is that new is read again until it is older.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use ship_record::Timestamp;

use crate::settings::SkillSettings;
use crate::skills::{Skill, scan_and_note};
use crate::system_texts::{SystemTexts, TEXT_FILES, read_system_texts};

/// The age in milliseconds from which the times of a file tell whether it is the same. Some file systems keep times in
/// steps of two seconds.
const SETTLED_MS: i64 = 3_000;

/// The texts and skills of a project.
pub type TextsAndSkills = (SystemTexts, Arc<[Skill]>);

/// Reads the texts and skills of a project, and keeps them.
#[derive(Debug)]
pub struct TextCache {
    root: PathBuf,
    settings: SkillSettings,
    kept: Mutex<Option<Arc<KeptTexts>>>,
}

#[derive(Debug)]
struct KeptTexts {
    /// All files and folders that were looked at; `None` for those that were missing.
    stamps: Vec<(PathBuf, Option<FileStamp>)>,
    texts: SystemTexts,
    skills: Arc<[Skill]>,
}

/// What tells a file or folder from another one and from a later state of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    file: (u64, u64),
    size: u64,
    /// The times of the last write and of the last change, in nanoseconds.
    times: [i128; 2],
}

impl TextCache {
    /// Makes a cache for the project in a folder.
    pub fn new(root: &Path, settings: &SkillSettings) -> Self {
        Self { root: root.to_owned(), settings: settings.clone(), kept: Mutex::default() }
    }

    /// Returns what was read before, if no file has changed since. It opens no file.
    pub fn unchanged(&self) -> Option<TextsAndSkills> {
        let kept = self.kept.lock().clone()?;
        let is_same = |(path, stamp): &(PathBuf, Option<FileStamp>)| FileStamp::of(path) == *stamp;
        let is_unchanged = kept.stamps.iter().all(is_same);
        is_unchanged.then(|| (kept.texts.copy(), Arc::clone(&kept.skills)))
    }

    /// Reads the texts and skills. They are kept if their files are so old at this moment that a change will show.
    pub fn read(&self, now: Timestamp) -> TextsAndSkills {
        let texts = read_system_texts(&self.root);
        let (skills, mut looked_at) = scan_and_note(&self.root, &self.settings);
        let text = |file: &str| (self.root.join(file), self.root.join(file).exists());
        looked_at.extend(TEXT_FILES.map(text));
        let skills: Arc<[Skill]> = skills.into();
        let kept = settled_stamps(looked_at, now).filter(|_| texts.problems.is_empty());
        let kept = kept.map(|stamps| {
            Arc::new(KeptTexts { stamps, texts: texts.copy(), skills: Arc::clone(&skills) })
        });
        *self.kept.lock() = kept;
        (texts, skills)
    }
}

/// Returns the stamps of files and folders, each of which was there or not when it was read. Returns `None` if one has
/// changed since, or is so new that a later change may not show.
fn settled_stamps(
    looked_at: Vec<(PathBuf, bool)>,
    now: Timestamp,
) -> Option<Vec<(PathBuf, Option<FileStamp>)>> {
    let settled = i128::from(now.millis() - SETTLED_MS) * 1_000_000;
    let stamp = |(path, was_there): (PathBuf, bool)| {
        let stamp = FileStamp::of(&path);
        let is_settled = stamp.is_none_or(|stamp| stamp.times.iter().all(|time| *time < settled));
        (is_settled && stamp.is_some() == was_there).then_some((path, stamp))
    };
    looked_at.into_iter().map(stamp).collect()
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }
}

impl From<&Metadata> for FileStamp {
    fn from(look: &Metadata) -> Self {
        let nanos = |seconds, nanos| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            file: (look.dev(), look.ino()),
            size: look.size(),
            times: [nanos(look.mtime(), look.mtime_nsec()), nanos(look.ctime(), look.ctime_nsec())],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    /// A project with a role and a skill, whose files look old, and a moment at which they are.
    fn project() -> (tempfile::TempDir, TextCache, Timestamp) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".ship/skills/knots")).unwrap();
        fs::write(folder.path().join("Agent.md"), "a mate").unwrap();
        fs::write(folder.path().join(".ship/skills/knots/SKILL.md"), "bowline").unwrap();
        let cache = TextCache::new(folder.path(), &SkillSettings::default());
        // A change in the same tick of the clock would not show.
        for path in ["Agent.md", ".ship/skills"] {
            let file = fs::File::open(folder.path().join(path)).unwrap();
            file.set_modified(UNIX_EPOCH).unwrap();
        }
        let written = FileStamp::of(&folder.path().join("Agent.md")).unwrap().times[1];
        let later = i64::try_from(written / 1_000_000).unwrap() + 60_000;
        (folder, cache, Timestamp::from_millis(later))
    }

    fn role_and_skills(texts: &TextsAndSkills) -> (String, Vec<String>) {
        let skills = texts.1.iter().map(|skill| skill.name.clone()).collect();
        (texts.0.role.clone().unwrap(), skills)
    }

    #[test]
    fn what_has_not_changed_is_kept_and_every_change_shows() {
        let (folder, cache, now) = project();
        assert!(cache.unchanged().is_none(), "nothing was read");
        let texts = cache.read(now);
        assert_eq!(role_and_skills(&texts), ("a mate".to_owned(), vec!["knots".to_owned()]));
        assert_eq!(cache.unchanged().unwrap().1, texts.1);
        let path = |name: &str| folder.path().join(name);
        type Change<'a> = Box<dyn Fn() -> std::io::Result<()> + 'a>;
        let changes: [(&str, Change<'_>); 6] = [
            ("a text of the same length", Box::new(|| fs::write(path("Agent.md"), "a cook"))),
            (
                "a new text",
                Box::new(|| {
                    fs::create_dir_all(path(".ship/profile"))?;
                    fs::write(path(".ship/profile/other.md"), "x")
                }),
            ),
            ("a text that is gone", Box::new(|| fs::remove_file(path("Agent.md")))),
            ("a skill", Box::new(|| fs::write(path(".ship/skills/knots/SKILL.md"), "sheet bend"))),
            (
                "a new skill",
                Box::new(|| {
                    fs::create_dir(path(".ship/skills/sails"))?;
                    fs::write(path(".ship/skills/sails/SKILL.md"), "reef")
                }),
            ),
            (
                "the first folder of skills",
                Box::new(|| {
                    fs::create_dir_all(path(".claude/skills/anchors"))?;
                    fs::write(path(".claude/skills/anchors/SKILL.md"), "drop")
                }),
            ),
        ];
        for (what, change) in changes {
            assert!(cache.unchanged().is_some(), "before {what}");
            change().unwrap();
            assert!(cache.unchanged().is_none(), "{what}");
            cache.read(now);
        }
    }

    #[test]
    fn what_was_written_a_moment_ago_is_read_again() {
        let (folder, cache, later) = project();
        let written = later.millis() - 60_000;
        cache.read(Timestamp::from_millis(written + 1_000));
        assert!(cache.unchanged().is_none(), "a second write in the same second would not show");
        cache.read(later);
        assert!(cache.unchanged().is_some());
        drop(folder);
        assert!(cache.unchanged().is_none());
    }

    #[test]
    fn a_text_with_a_problem_is_read_again_so_that_the_problem_is_told() {
        let (folder, cache, now) = project();
        fs::create_dir_all(folder.path().join(".ship/profile/Primary.md")).unwrap();
        assert_eq!(cache.read(now).0.problems.len(), 1);
        assert!(cache.unchanged().is_none());
    }
}
