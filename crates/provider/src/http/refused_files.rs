//! Recognises the refusal of an image or another file.

use crate::ProviderError;

const FILE_WORDS: [&str; 14] = [
    "image",
    "images",
    "vision",
    "multimodal",
    "mmproj",
    "pdf",
    "document",
    "documents",
    "audio",
    "file",
    "files",
    "attachment",
    "attachments",
    "media",
];

/// Whether a refusal may concern an image or another file in the request. Hosts refuse them with any status.
pub(super) fn is_about_files(error: &ProviderError) -> bool {
    let message = match error {
        ProviderError::Refused { message, .. } | ProviderError::Model { message, .. } => message,
        ProviderError::Unavailable { last, .. } => last,
        _ => return false,
    };
    let message = message.to_lowercase();
    let is_word =
        |word: &str| message.split(|c: char| !c.is_ascii_alphanumeric()).any(|known| known == word);
    // A host that knows only texts refuses the list that contains a file.
    let wants_text = message.contains("must be a string") || message.contains("valid string");
    wants_text || FILE_WORDS.into_iter().any(is_word)
}
