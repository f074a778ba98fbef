//! The memory of a chat as people leave it on disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ship_store::{Explain as _, FileStore, Store as _, TEXT_BYTES_MAX};
use ship_testkit::chat::options;
use tempfile::TempDir;

const FILE: &str = ".ship/chat/a/memory/Primary.md";

/// A project in which the folder of the memory exists.
fn project() -> TempDir {
    let project = tempfile::tempdir().unwrap();
    fs::create_dir_all(project.path().join(FILE).parent().unwrap()).unwrap();
    project
}

async fn memory(project: &Path) -> Result<Option<String>, String> {
    let store = FileStore::new(project, options()).unwrap();
    let read = store.memory(&"a".parse().unwrap()).await;
    read.map_err(|error| error.explain().to_string())
}

#[tokio::test]
async fn a_file_of_any_bytes_is_read_up_to_a_limit() {
    let project = project();
    let file = project.path().join(FILE);
    fs::write(&file, b"\xEF\xBB\xBF likes \xFF tea\n").unwrap();
    assert_eq!(memory(project.path()).await, Ok(Some("likes \u{FFFD} tea".to_owned())));
    fs::write(&file, " \n").unwrap();
    assert_eq!(memory(project.path()).await, Ok(None));
    let long = format!("x{}", "密".repeat(400_000));
    fs::write(&file, &long).unwrap();
    let read = memory(project.path()).await.unwrap().unwrap();
    let (text, note) = read.split_once("\n\n").unwrap();
    assert!(long.starts_with(text) && text.len() as u64 > TEXT_BYTES_MAX - 4, "{}", text.len());
    assert_eq!(note, "[The file is longer than 1048576 bytes; the rest is left out.]");
}

#[tokio::test]
async fn a_link_inside_the_project_is_followed_and_one_outside_is_refused() {
    let (project, outside) = (project(), project());
    let file = project.path().join(FILE);
    fs::write(project.path().join("notes.md"), "from notes").unwrap();
    symlink("../../../../notes.md", &file).unwrap();
    assert_eq!(memory(project.path()).await, Ok(Some("from notes".to_owned())));
    fs::remove_file(&file).unwrap();
    symlink(project.path().join("notes.md"), &file).unwrap();
    assert_eq!(memory(project.path()).await, Ok(Some("from notes".to_owned())));
    fs::remove_file(&file).unwrap();
    symlink("nowhere.md", &file).unwrap();
    assert_eq!(memory(project.path()).await, Ok(None));
    fs::remove_file(&file).unwrap();
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    symlink(outside.path().join("secret.md"), &file).unwrap();
    let told = memory(project.path()).await.unwrap_err();
    assert!(told.starts_with(&format!("{FILE} is a link out of the project, to ")), "{told}");
    assert!(told.ends_with("so it is ignored; replace the link by a file"), "{told}");
}

#[tokio::test]
async fn a_folder_a_pipe_or_a_link_in_its_place_is_told_and_not_replaced() {
    let project = project();
    let file = project.path().join(FILE);
    let store = FileStore::new(project.path(), options()).unwrap();
    let told = format!("{FILE} is not a file, so it is ignored; replace it by a file");
    fs::create_dir(&file).unwrap();
    assert_eq!(memory(project.path()).await, Err(told.clone()));
    assert!(store.set_memory(&"a".parse().unwrap(), "x".to_owned()).await.is_err());
    fs::remove_dir(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    assert_eq!(memory(project.path()).await, Err(told));
    fs::remove_file(&file).unwrap();
    symlink("elsewhere.md", &file).unwrap();
    assert!(store.set_memory(&"a".parse().unwrap(), "x".to_owned()).await.is_err());
    assert!(file.is_symlink());
}
