//! Files that come with a message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ship_message::json::{Json, Object};
use ship_message::{UiPart, write_attached_text};

/// A file that comes with a message. It becomes a part of the message, behind the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A text. The model reads it together with its name.
    Text {
        /// The name or the path of the file.
        name: String,
        /// The text of the file, verbatim.
        text: String,
    },
    /// A file of another type, such as a picture. What a model does not take is left out of its requests.
    File {
        /// The name of the file.
        name: String,
        /// The type of the file, such as `image/png`.
        media_type: String,
        /// The bytes of the file.
        bytes: Vec<u8>,
    },
    /// A file that stays where it is. Its address is stored, and sent to a provider that takes addresses.
    Linked {
        /// The name of the file.
        name: String,
        /// The type of the file, such as `image/png`.
        media_type: String,
        /// The address of the file.
        url: String,
    },
}

impl Attachment {
    /// Returns the length of the content.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text { text, .. } => text.len(),
            Self::File { bytes, .. } => bytes.len(),
            Self::Linked { url, .. } => url.len(),
        }
    }

    /// Returns the part that the file is in its ledger entry and in its message.
    pub(super) fn into_part(self) -> Json {
        match self {
            Self::Text { name, text } => {
                UiPart::text(write_attached_text(&name, &text)).into_json()
            }
            Self::File { name, media_type, bytes } => {
                let url = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
                file_part(name, media_type, url)
            }
            Self::Linked { name, media_type, url } => file_part(name, media_type, url),
        }
    }
}

fn file_part(name: String, media_type: String, url: String) -> Json {
    Json::from(Object::from([
        ("type", "file".to_owned()),
        ("mediaType", media_type),
        ("filename", name),
        ("url", url),
    ]))
}
