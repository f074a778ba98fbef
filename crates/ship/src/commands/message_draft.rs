//! A message before it is sent: its text, and the files that go with it.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
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
    /// The words that look like files and are none, each with what it is.
    not_attached: Vec<String>,
}

impl From<&str> for MessageDraft {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl MessageDraft {
    /// Makes a message of a text that a person wrote, with the files that it names. A word behind an `@` that names no
    /// file is text.
    pub(crate) fn with_mentioned_files(session: &Session, text: &str) -> Result<Self, Failure> {
        let mut draft = Self::from(text);
        let mut names: Vec<&str> = Vec::new();
        let mentions = mentions(text);
        for mention in &mentions {
            let name = mention.path.as_str();
            // A sentence goes on behind a file.
            let shorter = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
            let written = if mention.is_quoted { &[name][..] } else { &[name, shorter] };
            match written.iter().find(|name| resolve(name).is_file()) {
                Some(name) if names.contains(name) => {}
                Some(name) => {
                    draft.attach(session, Path::new(name))?;
                    names.push(name);
                }
                None => draft.not_attached.extend(describe_other(written[written.len() - 1])),
            }
        }
        Ok(draft)
    }

    /// Returns what to tell the person about the files, for a model with this window.
    pub(crate) fn notes(&self, window: Option<u64>) -> Vec<String> {
        let files: Vec<String> =
            self.attachments.iter().map(|file| describe_attachment(file, window)).collect();
        let attached = (!files.is_empty()).then(|| format!("attached {}", files.join("; ")));
        attached.into_iter().chain(self.not_attached.iter().cloned()).collect()
    }

    /// Attaches a file.
    pub(crate) fn attach(&mut self, session: &Session, path: &Path) -> Result<(), Failure> {
        let name = path.to_string_lossy().into_owned();
        let shown = output::escape_unprintable(&name);
        let limit = session.message_bytes_max();
        let bytes = read_up_to(&resolve(&name), limit + 1).map_err(|error| match error.kind() {
            ErrorKind::IsADirectory => refusal(format!("{shown} is a folder"), "name a file in it"),
            ErrorKind::NotFound if name == "-" => refusal(
                "there is no file named -".to_owned(),
                "what comes through a pipe is sent without -f",
            ),
            _ => refusal(format!("{shown} cannot be read: {error}"), "check the path"),
        })?;
        if bytes.len() as u64 > limit {
            let message = format!("{shown} is longer than a message may be ({limit} bytes)");
            return Err(refusal(message, "shorten it, or raise `limits.messageBytes`"));
        }
        self.attachments.push(match image_type(&bytes) {
            Some(media_type) => Attachment::File { name, media_type: media_type.to_owned(), bytes },
            None => match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Attachment::Text { name, text },
                _ => {
                    let message = format!(
                        "{shown} is neither text in UTF-8 nor a PNG, JPEG, GIF or WebP picture"
                    );
                    return Err(refusal(message, "convert it to text or a picture first"));
                }
            },
        });
        Ok(())
    }
}

/// Describes a word behind an `@` that names no file, if a file may be meant: a folder, or a path to nothing.
fn describe_other(name: &str) -> Option<String> {
    let shown = output::escape_unprintable(name);
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let has_extension = extension.is_some_and(|it| it.chars().any(char::is_alphabetic));
    match resolve(name).is_dir() {
        true => Some(format!("@{shown} is a folder; sent as text, name a file to attach it")),
        false if name.contains('/') || name.starts_with('~') || has_extension => {
            Some(format!("@{shown} names no file; sent as text"))
        }
        false => None,
    }
}

/// The window that is assumed for a model whose window is not known.
const ASSUMED_WINDOW: u64 = 32_000;

/// Describes a file: its name, its size and, if it takes more than a quarter of the window, its tokens.
fn describe_attachment(file: &Attachment, window: Option<u64>) -> String {
    let (name, bytes, tokens) = match file {
        // A token has about four bytes.
        Attachment::Text { name, text } => (name, text.len(), text.len() as u64 / 4),
        Attachment::File { name, bytes, .. } => (name, bytes.len(), 0),
        Attachment::Linked { name, url, .. } => (name, url.len(), 0),
    };
    let name = output::escape_unprintable(name);
    let tokens = match tokens > window.unwrap_or(ASSUMED_WINDOW) / 4 {
        true => format!(", about {} tokens", tokens.next_multiple_of(1000)),
        false => String::new(),
    };
    format!("{name}, {}{tokens}", format_size(bytes))
}

/// Formats a size: `which is empty`, `812 bytes`, `12 KB`, `1.5 MB`.
fn format_size(bytes: usize) -> String {
    match bytes {
        0 => "which is empty".to_owned(),
        1 => "1 byte".to_owned(),
        2..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", (bytes + 500) / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
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
