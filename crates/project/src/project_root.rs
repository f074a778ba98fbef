//! Finds the project folder.
//!
//! A person may work anywhere below it. The nearest parent that looks like a project is the one they mean. A folder
//! without any file is a project too, because no file is required.

use std::path::{Path, PathBuf};

/// Finds the project that `start` is in: the nearest folder, upwards, with a `ship.json` or a `.ship/chat`;
/// or else `start` itself.
///
/// `start` should be absolute, because only then are its parents known. The `.ship` of the `home` folder does
/// not count: programs keep files for the whole account there, and a stray one would turn every folder of the
/// account into one project. For the same reason, the `.ship` of `/` counts only if `start` is `/`.
pub fn find_root(start: &Path, home: Option<&Path>) -> PathBuf {
    let shared = [Some(Path::new("/")), home].into_iter().flatten().map(resolve_links);
    find_root_except(start, &shared.collect::<Vec<_>>())
}

/// Finds the project that `start` is in. The `.ship` of a shared folder does not count.
fn find_root_except(start: &Path, shared: &[PathBuf]) -> PathBuf {
    let is_project = |folder: &&Path| {
        folder.join("ship.json").is_file()
            || (folder.join(".ship/chat").is_dir() && !shared.contains(&resolve_links(folder)))
    };
    start.ancestors().find(is_project).unwrap_or(start).to_path_buf()
}

/// Resolves links, so that a link to the home folder counts as the home folder.
fn resolve_links(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Creates folders and empty files by their paths; the path of a folder ends with a slash.
    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            let full = root.path().join(path);
            fs::create_dir_all(if path.ends_with('/') { &full } else { full.parent().unwrap() })
                .unwrap();
            if !path.ends_with('/') {
                fs::write(full, "").unwrap();
            }
        }
        root
    }

    #[test]
    fn the_nearest_parent_with_ship_json_or_chats_is_the_project() {
        for (files, start, root) in [
            (&["a/b/c/", "a/ship.json"][..], "a/b/c", "a"),
            (&["a/b/c/", "a/.ship/chat/"], "a/b/c", "a"),
            (&["a/b/c/", "a/ship.json", "a/b/.ship/chat/"], "a/b/c", "a/b"),
            (&["a/b/c/", "a/.ship/logs/"], "a/b/c", "a/b/c"),
            (&["a/ship.json/", "a/b/"], "a/b", "a/b"),
            (&["a/ship.json"], "a", "a"),
            (&["a/b/"], "a/b", "a/b"),
        ] {
            let tree = tree(files);
            let found = find_root(&tree.path().join(start), None);
            assert_eq!(found, tree.path().join(root), "{files:?}");
        }
    }

    #[test]
    fn the_home_folders_ship_folder_never_counts_but_its_ship_json_does() {
        let tree = tree(&["home/soup/", "home/.ship/chat/"]);
        let home = tree.path().join("home");
        assert_eq!(find_root(&home.join("soup"), Some(&home)), home.join("soup"));
        assert_eq!(find_root(&home, Some(&home)), home);

        let by_another_name = tree.path().join("link");
        std::os::unix::fs::symlink(&home, &by_another_name).unwrap();
        assert_eq!(find_root(&home.join("soup"), Some(&by_another_name)), home.join("soup"));

        fs::write(home.join("ship.json"), "{}").unwrap();
        assert_eq!(find_root(&home.join("soup"), Some(&home)), home);
    }

    #[test]
    fn the_ship_folder_of_each_shared_folder_counts_only_in_that_folder_itself() {
        let tree = tree(&["home/soup/", "home/.ship/chat/", ".ship/chat/"]);
        let (root, home) = (resolve_links(tree.path()), resolve_links(&tree.path().join("home")));
        let shared = [root.clone(), home.clone()];
        for start in [&home.join("soup"), &home, &root] {
            assert_eq!(&find_root_except(start, &shared), start);
        }
        assert_eq!(find_root_except(&home.join("soup"), &shared[..1]), home);
        assert_eq!(find_root(Path::new("/"), None), Path::new("/"));
    }
}
