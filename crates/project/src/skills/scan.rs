//! Searches the project for skills.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::parse::parse;
use super::{Skill, SkillSource, SkillState};
use ship_record::{FileError, TEXT_BYTES_MAX};

use crate::file_reader::{FileBytes, Links, is_missing, read_below};
use crate::settings::SkillSettings;

/// Finds all skills of a project: in `.claude/skills`, in `.ship/skills`, then in the folders of
/// `skills.paths`, each sorted by name. If several usable skills have one name, the first with that folder name
/// wins, or else the first.
///
/// It never fails: an unusable skill is listed with the reason.
pub fn scan_skills(root: &Path, settings: &SkillSettings) -> Vec<Skill> {
    scan_and_note(root, settings).0
}

/// Finds all skills, and returns with them the files and folders that were looked at, and whether each was there.
pub(crate) fn scan_and_note(
    root: &Path,
    settings: &SkillSettings,
) -> (Vec<Skill>, Vec<(PathBuf, bool)>) {
    let links = if settings.allow_external_paths { Links::Anywhere } else { Links::Inside };
    let (seen, looked_at, found) = (HashSet::new(), Vec::new(), Vec::new());
    let mut scan = SkillScan { root, links, seen, looked_at, found };
    scan.scan_folder(&root.join(".claude/skills"), SkillSource::Claude);
    scan.scan_folder(&root.join(".ship/skills"), SkillSource::Ship);
    for path in &settings.paths {
        scan.scan_path(path);
    }
    shadow_duplicates(root, &mut scan.found);
    (scan.found, scan.looked_at)
}

/// Leaves one usable skill of each name. People look for a skill in the folder of its name, so a skill that only
/// claims the name must not take its place.
fn shadow_duplicates(root: &Path, skills: &mut [Skill]) {
    let is_usable = |skill: &Skill| matches!(skill.state, SkillState::Usable { .. });
    let is_at_home = |skill: &Skill| skill.folder.file_name() == Some(skill.name.as_ref());
    let mut winners: HashMap<String, (PathBuf, bool)> = HashMap::new();
    for skill in skills.iter().filter(|skill| is_usable(skill)) {
        let own = (skill.folder.clone(), is_at_home(skill));
        let winner = winners.entry(skill.name.clone()).or_insert_with(|| own.clone());
        if own.1 && !winner.1 {
            *winner = own;
        }
    }
    for skill in skills.iter_mut().filter(|skill| is_usable(skill)) {
        if let Some((by, _)) = winners.get(&skill.name).filter(|(by, _)| *by != skill.folder) {
            let near =
                |folder: &Path| folder.strip_prefix(root).unwrap_or(folder).display().to_string();
            let reason = format!(
                "the one in {} is not used, because one of the same name is in {}; rename it to have both",
                near(&skill.folder),
                near(by)
            );
            skill.state = SkillState::Unusable { reason };
        }
    }
}

struct SkillScan<'a> {
    root: &'a Path,
    links: Links,
    /// The files that were read, so that a folder that is named twice is listed once.
    seen: HashSet<PathBuf>,
    looked_at: Vec<(PathBuf, bool)>,
    found: Vec<Skill>,
}

impl SkillScan<'_> {
    /// Reads a folder of `skills.paths`: a folder of skills, or a skill itself. The user has asked for it,
    /// so it must exist.
    fn scan_path(&mut self, path: &str) {
        let source = SkillSource::Path(path.to_owned());
        let folder = self.root.join(path);
        self.looked_at.push((folder.clone(), folder.exists()));
        let reason = match (folder.canonicalize(), self.root.canonicalize()) {
            (Err(error), _) if path.starts_with('~') && is_missing(&error) => {
                "there is no such folder; write ${HOME} in place of ~".to_owned()
            }
            (Err(error), _) if is_missing(&error) => {
                "there is no such folder; see `skills.paths`".to_owned()
            }
            (Err(error), _) | (_, Err(error)) => format!("the folder cannot be read: {error}"),
            (Ok(target), Ok(root)) if self.links == Links::Inside && !target.starts_with(&root) => {
                "the folder is outside the project; set `skills.allowExternalPaths` to true to use it".to_owned()
            }
            _ if folder.join("SKILL.md").is_file() => return self.read_skill(&folder, source),
            _ => return self.scan_folder(&folder, source),
        };
        self.add_unusable(&folder, source, reason);
    }

    fn scan_folder(&mut self, folder: &Path, source: SkillSource) {
        self.looked_at.push((folder.to_owned(), folder.exists()));
        let names: io::Result<Vec<_>> =
            fs::read_dir(folder).and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect());
        match names {
            Ok(mut folders) => {
                // A folder lists its entries in any order, and the first of two equal names wins.
                folders.sort();
                for folder in folders {
                    self.read_skill(&folder, source.clone());
                }
            }
            // The default folders need not exist; those of the settings were looked for before.
            Err(error) if is_missing(&error) => {}
            Err(error) => {
                self.add_unusable(folder, source, format!("the folder cannot be read: {error}"))
            }
        }
    }

    /// Reads one skill. A folder without a `SKILL.md` is not a skill.
    fn read_skill(&mut self, folder: &Path, source: SkillSource) {
        let file = folder.join("SKILL.md");
        self.looked_at.push((file.clone(), file.exists()));
        let FileBytes { bytes, cut } = match read_below(self.root, &file, self.links) {
            Ok(None) => return,
            Ok(Some(bytes)) => bytes,
            Err(error) => return self.add_unusable(folder, source, short_reason(&error)),
        };
        if !self.seen.insert(file.canonicalize().unwrap_or(file)) {
            return;
        }
        if cut {
            let reason = format!("its SKILL.md is larger than {TEXT_BYTES_MAX} bytes; shorten it");
            return self.add_unusable(folder, source, reason);
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return self.add_unusable(
                folder,
                source,
                "its SKILL.md is not UTF-8; save it as such".to_owned(),
            );
        };
        let parsed = parse(&text, &folder_name(folder));
        let state = match parsed.body {
            Ok(body) => SkillState::Usable { body },
            Err(error) => SkillState::Unusable { reason: error.to_string() },
        };
        self.found.push(Skill {
            name: parsed.name,
            description: parsed.description,
            allowed_tools: parsed.allowed_tools,
            folder: folder.to_path_buf(),
            source,
            state,
        });
    }

    fn add_unusable(&mut self, folder: &Path, source: SkillSource, reason: String) {
        self.found.push(Skill {
            name: folder_name(folder),
            description: String::new(),
            allowed_tools: None,
            folder: folder.to_path_buf(),
            source,
            state: SkillState::Unusable { reason },
        });
    }
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned()
}

fn short_reason(error: &FileError) -> String {
    match error {
        FileError::Outside { target, .. } => format!(
            "its SKILL.md is a link out of the project, to {}; set `skills.allowExternalPaths` to true to use it",
            target.display()
        ),
        FileError::NotAFile { .. } => "its SKILL.md is not a file".to_owned(),
        FileError::Unreadable { source, .. } => format!("its SKILL.md cannot be read: {source}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    /// Lists the skills, one line each: `name (source): state`.
    fn listed(root: &Path, paths: &[&str], allow_external_paths: bool) -> Vec<String> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let skills = scan_skills(root, &SkillSettings { paths, allow_external_paths });
        let line = |skill: Skill| {
            let state = match skill.state {
                SkillState::Usable { body } => body,
                SkillState::Unusable { reason } => {
                    let end = "; rename it to have both";
                    format!("unusable, {}", reason.strip_suffix(end).unwrap_or(&reason))
                }
            };
            format!("{} ({}): {state}", skill.name, skill.source)
        };
        skills.into_iter().map(line).collect()
    }

    #[test]
    fn skills_are_found_in_order_and_the_first_of_a_name_wins() {
        let project = project(&[
            (".claude/skills/b/SKILL.md", "claude b"),
            (".claude/skills/a/SKILL.md", "claude a"),
            (".claude/skills/README.md", "no skill"),
            (".claude/skills/empty/notes.md", "no skill"),
            (".ship/skills/a/SKILL.md", "ship a"),
            (".ship/skills/other/SKILL.md", "---\nname: b\n---\nship b"),
            ("tools/one/SKILL.md", "own"),
            ("single/SKILL.md", "itself"),
        ]);
        assert_eq!(
            listed(project.path(), &["tools", "single", ".claude/skills"], false),
            [
                "a (.claude/skills): claude a",
                "b (.claude/skills): claude b",
                "a (.ship/skills): unusable, the one in .ship/skills/a is not used, because one of the same name is in .claude/skills/a",
                "b (.ship/skills): unusable, the one in .ship/skills/other is not used, because one of the same name is in .claude/skills/b",
                "one (tools): own",
                "single (single): itself",
            ]
        );
        assert!(listed(&project.path().join("nothing"), &[], false).is_empty());
    }

    #[test]
    fn a_skill_in_the_folder_of_its_name_is_not_pushed_aside_by_one_that_only_says_so() {
        let project = project(&[
            (".claude/skills/aaa/SKILL.md", "---\nname: deploy\n---\nposes as deploy"),
            (".claude/skills/deploy/SKILL.md", "deploys"),
            (".ship/skills/deploy/SKILL.md", "deploys too"),
        ]);
        assert_eq!(
            listed(project.path(), &[], false),
            [
                "deploy (.claude/skills): unusable, the one in .claude/skills/aaa is not used, because one of the same name is in .claude/skills/deploy",
                "deploy (.claude/skills): deploys",
                "deploy (.ship/skills): unusable, the one in .ship/skills/deploy is not used, because one of the same name is in .claude/skills/deploy",
            ]
        );
    }

    #[test]
    fn a_skill_that_cannot_be_used_is_listed_with_the_reason_and_shadows_no_other() {
        let huge = "x".repeat(TEXT_BYTES_MAX as usize + 1);
        let project = project(&[
            (".claude/skills/a/SKILL.md", "---\nname: a\n"),
            (".claude/skills/folder/SKILL.md/x", ""),
            (".claude/skills/huge/SKILL.md", &huge),
            (".ship/skills/a/SKILL.md", "good a"),
        ]);
        fs::create_dir_all(project.path().join(".claude/skills/binary")).unwrap();
        fs::write(project.path().join(".claude/skills/binary/SKILL.md"), b"\xff\xfe").unwrap();
        let lines = listed(project.path(), &["missing", "~/skills"], false);
        for (line, begin) in lines.iter().zip([
            "a (.claude/skills): unusable, its front matter begins with `---` and never ends",
            "binary (.claude/skills): unusable, its SKILL.md is not UTF-8",
            "folder (.claude/skills): unusable, its SKILL.md is not a file",
            "huge (.claude/skills): unusable, its SKILL.md is larger than 1048576 bytes",
            "a (.ship/skills): good a",
            "missing (missing): unusable, there is no such folder",
            "skills (~/skills): unusable, there is no such folder; write ${HOME}",
        ]) {
            assert!(line.starts_with(begin), "{line}");
        }
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn what_is_outside_the_project_is_used_only_when_that_is_allowed() {
        let outside = project(&[("skills/far/SKILL.md", "far"), ("linked/SKILL.md", "linked")]);
        let project = project(&[("shared/near/SKILL.md", "near"), (".claude/skills/x", "")]);
        symlink(outside.path().join("linked"), project.path().join(".claude/skills/linked"))
            .unwrap();
        symlink("../../shared/near", project.path().join(".claude/skills/near")).unwrap();
        let far = outside.path().join("skills");
        let far = far.to_str().unwrap();

        // Other programs use the folder beside the project too, so only a name derived from ours is surely free.
        let missing = format!("{far}/missing");
        let refused = listed(project.path(), &[far, &missing], false);
        assert!(
            refused[0]
                .starts_with("linked (.claude/skills): unusable, its SKILL.md is a link out of"),
            "{refused:?}"
        );
        assert_eq!(refused[1], "near (.claude/skills): near");
        assert!(refused[2].contains(
            "unusable, the folder is outside the project; set `skills.allowExternalPaths`"
        ));
        assert!(refused[3].contains("unusable, there is no such folder"), "{refused:?}");

        let allowed = listed(project.path(), &[far], true);
        assert_eq!(
            allowed,
            [
                "linked (.claude/skills): linked".to_owned(),
                "near (.claude/skills): near".to_owned(),
                format!("far ({far}): far"),
            ]
        );
    }
}
