//! Writes a message in the person's editor.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use ship_agent::{IdSource, RandomIds};

use crate::failure::Failure;

/// Opens the editor on a text, and returns the text that was saved.
pub(super) fn edit_text(text: &str) -> Result<String, Failure> {
    let path = std::env::temp_dir().join(format!("ship-{:016x}.md", RandomIds.next()));
    let edited = edit_file(&path, text);
    // The message is in the chat, or was given up.
    let _ = fs::remove_file(&path);
    Ok(edited?.trim_end().to_owned())
}

fn edit_file(path: &Path, text: &str) -> Result<String, Failure> {
    let failure = |error: std::io::Error| {
        let message = format!("{} cannot be edited: {error}; nothing was sent", path.display());
        Failure::new("editor", message).with_hint("type the message at the prompt")
    };
    // Others on the machine do not read along.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(failure)?;
    let editor = editor();
    // The variable may hold arguments, as in `code --wait`.
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path);
    let status = command.status().map_err(failure)?;
    if !status.success() {
        let message = format!("`{editor}` ended with {status}; nothing was sent");
        return Err(Failure::new("editor", message)
            .with_hint("choose another editor with the variable VISUAL or EDITOR"));
    }
    fs::read_to_string(path).map_err(failure)
}

/// Returns the person's editor.
fn editor() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}
