//! Decides which files are sent, and describes the others in notes.
//!
//! If a provider refuses one image, it would refuse every later request of the chat. So each file is examined as
//! the provider will examine it: its real type, its size, its pixels. Text files are put into the message as text,
//! which every model reads. If there is not room for all, the newest files have precedence; only then does an older
//! part of a request change.

mod file_source;

use ship_message::json::{Json, Object};
use ship_message::{ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue};

use url::Url;

use self::file_source::{FileSource, Image};
use super::parts::text;
use super::{CompileTarget, SendFiles};
use crate::wire::Format;

/// The limits of a provider.
struct FileLimits {
    image_bytes: usize,
    images: usize,
    side: usize,
    /// The number of images above which each must be within [`MANY_SIDE`].
    many_images: usize,
    /// The bytes of base64 of all files together; a whole request may have 32 MB.
    total_bytes: usize,
}

// Anthropic's limit in pixels for a request with many images.
const MANY_SIDE: usize = 2000;
const MB: usize = 1024 * 1024;

impl FileLimits {
    fn of(format: Format) -> Self {
        // A quarter of a whole request is left for its text.
        let total = 24 * MB;
        match format {
            // OpenAI names limits for bytes and number, and none for pixels.
            Format::OpenAi => {
                let none = usize::MAX;
                Self {
                    image_bytes: 20 * MB,
                    images: 500,
                    side: none,
                    many_images: none,
                    total_bytes: total,
                }
            }
            // Anthropic allows 5 MB of base64, which is a third longer than the image.
            Format::Anthropic => Self {
                image_bytes: 5 * MB * 3 / 4,
                images: 100,
                side: 8000,
                many_images: 20,
                total_bytes: total,
            },
        }
    }
}

/// Replaces the files that cannot be sent, and puts text files into the text.
pub(super) fn replace_files(messages: &mut [ModelMessage<'_>], target: &CompileTarget<'_>) {
    let mut limits = FileLimits::of(target.format);
    let files =
        |message: &ModelMessage<'_>| message.parts().iter().filter(|part| is_file(part)).count();
    let count: usize = messages.iter().map(files).sum();
    if count == 0 {
        return;
    }
    if count > limits.many_images {
        limits.side = limits.side.min(MANY_SIDE);
    }
    let mut images = 0;
    let mut total = 0;
    // The newest files come first, because they get the room.
    for message in messages.iter_mut().rev().filter(|message| message.role == ModelRole::User) {
        let ModelContent::Parts(parts) = &mut message.content else { continue };
        for part in parts.iter_mut().rev().filter(|part| is_file(part)) {
            let file = FileToSend::read(part);
            *part = match file.sendable(target, &limits) {
                Ok(Sendable::Text(words)) => text(words),
                Ok(Sendable::File { part, size, is_image }) => {
                    total += size;
                    images += usize::from(is_image);
                    if total > limits.total_bytes || images > limits.images {
                        text(file.note("there are newer files, and a request has not room for all"))
                    } else {
                        part
                    }
                }
                Err(reason) => text(file.note(reason)),
            };
        }
    }
}

/// Whether a provider fetches from an address: it must be complete, and Anthropic requires https.
fn is_fetched(url: &str, format: Format) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    // A host without a dot is one of a local network.
    let has_host = url.host_str().is_some_and(|host| host.contains('.'));
    has_host && (url.scheme() == "https" || format == Format::OpenAi && url.scheme() == "http")
}

fn is_file(part: &ModelPart<'_>) -> bool {
    matches!(part, ModelPart::File(_) | ModelPart::Image(_))
}

/// A file as a message names it.
struct FileToSend {
    data: String,
    media_type: String,
    name: Option<String>,
}

enum Sendable<'a> {
    Text(String),
    File { part: ModelPart<'a>, size: usize, is_image: bool },
}

impl FileToSend {
    fn read(part: &ModelPart<'_>) -> Self {
        let string = |value: Option<ModelValue<'_>>| {
            value.as_ref().and_then(ModelValue::as_str).map(str::to_owned)
        };
        let (data, media_type, name) = match part {
            ModelPart::File(file) => (file.data(), file.media_type(), string(file.filename())),
            ModelPart::Image(image) => (image.image(), image.media_type(), None),
            _ => (None, None, None),
        };
        Self {
            data: string(data).unwrap_or_default(),
            media_type: string(media_type).unwrap_or_default().to_ascii_lowercase(),
            name,
        }
    }

    fn sendable<'a>(
        &self,
        target: &CompileTarget<'_>,
        limits: &FileLimits,
    ) -> Result<Sendable<'a>, &'static str> {
        let data = FileSource::read(&self.data)?;
        let media_type = self.media_type(&data);
        // A text needs no support for files, so it is sent in any case.
        if let Some(words) = data.text(media_type) {
            if words.len() > limits.image_bytes {
                return Err("it is too large");
            }
            return Ok(Sendable::Text(format!("{}\n\n{words}", self.heading())));
        }
        if let FileSource::Url(url) = data
            && !is_fetched(url, target.format)
        {
            return Err("nobody can fetch it from where it is");
        }
        if target.files == SendFiles::No {
            return Err("this model takes no files");
        }
        if media_type.starts_with("image/") {
            return self.image(&data, media_type, limits);
        }
        match (target.format, media_type, &data) {
            (_, "application/pdf", FileSource::Bytes { bytes, .. })
                if !bytes.starts_with(b"%PDF") =>
            {
                Err("it is no PDF")
            }
            (_, "application/pdf", FileSource::Bytes { .. })
            | (Format::Anthropic, "application/pdf", FileSource::Url(_))
            | (
                Format::OpenAi,
                "audio/wav" | "audio/mp3" | "audio/mpeg",
                FileSource::Bytes { .. },
            ) => Ok(self.file(media_type, &data, false)),
            _ => Err("this model takes no files of that type"),
        }
    }

    /// Returns the media type that the data gives, or else the one that the file claims.
    fn media_type<'a>(&'a self, data: &'a FileSource<'_>) -> &'a str {
        match data.media_type() {
            Some(of_data) if self.media_type.is_empty() => of_data,
            _ => &self.media_type,
        }
    }

    fn image<'a>(
        &self,
        data: &FileSource<'_>,
        media_type: &str,
        limits: &FileLimits,
    ) -> Result<Sendable<'a>, &'static str> {
        let FileSource::Bytes { bytes, .. } = data else {
            return match media_type {
                "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/*" => {
                    Ok(self.file(media_type, data, true))
                }
                _ => Err("it is no PNG, JPEG, GIF or WebP image"),
            };
        };
        let image = Image::detect(bytes).ok_or("it is no PNG, JPEG, GIF or WebP image")?;
        if bytes.len() > limits.image_bytes {
            return Err("it is too large");
        }
        if image.width.max(image.height) > limits.side || image.width.min(image.height) == 0 {
            return Err("it has too many pixels, or none");
        }
        // The real type counts, not the claimed one.
        Ok(self.file(image.media_type, data, true))
    }

    fn file<'a>(&self, media_type: &str, data: &FileSource<'_>, is_image: bool) -> Sendable<'a> {
        let mut object = Object::from([("type", "file"), ("mediaType", media_type)]);
        object.set_or_remove("filename", self.name.as_deref().map(Json::from));
        let (sent, size) = match data {
            FileSource::Url(url) => ((*url).to_owned(), 0),
            FileSource::Bytes { base64, .. } => (base64.clone().into_owned(), base64.len()),
        };
        object.set("data", sent);
        Sendable::File { part: ModelPart::from_json(object.into()), size, is_image }
    }

    fn heading(&self) -> String {
        match self.name() {
            Some(name) => format!("File {name}:"),
            None => "A file:".to_owned(),
        }
    }

    fn note(&self, reason: &str) -> String {
        let name = self.name().unwrap_or_else(|| "without a name".to_owned());
        format!("[a file, {name}, was sent here; it is not shown, because {reason}]")
    }

    /// Returns the name on one line.
    fn name(&self) -> Option<String> {
        let name: String =
            self.name.as_deref()?.chars().filter(|c| !c.is_control()).take(120).collect();
        (!name.is_empty()).then_some(name)
    }
}
