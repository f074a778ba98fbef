//! A message before it is sent: its text, and the files that go with it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ship_agent::Attachment;

use super::mentions::mentions;
use crate::failure::{Failure, REFUSED};
use crate::output;
use crate::session::Session;

/// A message that is about to be sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageDraft {
    pub(crate) text: String,
    pub(crate) attachments: Vec<Attachment>,
}

impl From<&str> for MessageDraft {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), attachments: Vec::new() }
    }
}

impl MessageDraft {
    /// Makes a message of a text that a person wrote, with the files that it names. A word behind an `@` that names no
    /// file is text. Returns the names of the files, too.
    pub(crate) fn with_mentioned_files(
        session: &Session,
        text: &str,
    ) -> Result<(Self, Vec<String>), Failure> {
        let mut draft = Self::from(text);
        let mut names: Vec<String> = Vec::new();
        for mention in mentions(text) {
            let name = mention.path.as_str();
            // A sentence goes on behind a file.
            let shorter = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
            let written = if mention.is_quoted { &[name][..] } else { &[name, shorter] };
            let named = written.iter().find(|name| resolve(name).is_file());
            if let Some(name) = named
                && !names.iter().any(|known| known == name)
            {
                draft.attach(session, Path::new(name))?;
                names.push((*name).to_owned());
            }
        }
        Ok((draft, names))
    }

    /// Attaches a file.
    pub(crate) fn attach(&mut self, session: &Session, path: &Path) -> Result<(), Failure> {
        let name = path.to_string_lossy().into_owned();
        let shown = output::escape_unprintable(&name);
        let limit = session.message_bytes_max();
        let bytes = read_up_to(&resolve(&name), limit + 1).map_err(|error| {
            refusal(format!("{shown} cannot be read: {error}"), "check the path")
        })?;
        if bytes.len() as u64 > limit {
            let message = format!("{shown} is longer than a message may be ({limit} bytes)");
            return Err(refusal(message, "raise `limits.messageBytes` in ship.json, or cut it"));
        }
        self.attachments.push(match image_type(&bytes) {
            Some(media_type) => Attachment::File { name, media_type: media_type.to_owned(), bytes },
            None => match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Attachment::Text { name, text },
                _ => {
                    let message = format!(
                        "{shown} is neither text in UTF-8 nor a PNG, JPEG, GIF or WebP picture"
                    );
                    return Err(refusal(message, "turn it into text or a picture first"));
                }
            },
        });
        Ok(())
    }
}

fn refusal(message: String, hint: &str) -> Failure {
    Failure::new(REFUSED, format!("{message}; nothing was sent")).with_hint(hint)
}

/// Returns the path of a file, with the home folder for `~`, as a shell does.
pub(crate) fn resolve(name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(name),
    }
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the type of a picture that models take, from its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
