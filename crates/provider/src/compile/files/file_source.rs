//! Determines what a file really is.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use imagesize::ImageType;
use ship_message::{DataUrl, is_text_media_type};

/// The source of a file's bytes.
pub(super) enum FileSource<'a> {
    /// An address on the web, from which the provider fetches the file.
    Url(&'a str),
    /// The bytes themselves.
    Bytes { media_type: Option<&'a str>, base64: Cow<'a, str>, bytes: Vec<u8> },
}

impl<'a> FileSource<'a> {
    /// Reads a URL. The error is a reason for the note.
    pub(super) fn read(url: &'a str) -> Result<Self, &'static str> {
        if has_scheme(url, "data:") {
            return Self::from_data_url(url);
        }
        if has_scheme(url, "https://") || has_scheme(url, "http://") {
            return Ok(Self::Url(url));
        }
        Err("nobody can fetch it from where it is")
    }

    fn from_data_url(url: &'a str) -> Result<Self, &'static str> {
        let data = DataUrl::parse(url).ok_or("its data cannot be read")?;
        let bytes = data.bytes().ok_or("its data cannot be read")?;
        if bytes.is_empty() {
            return Err("it is empty");
        }
        let base64 = match data.is_base64 {
            true => Cow::Borrowed(data.payload),
            false => Cow::Owned(STANDARD.encode(&bytes)),
        };
        let media_type = Some(data.media_type).filter(|media_type| !media_type.is_empty());
        Ok(Self::Bytes { media_type, base64, bytes })
    }

    pub(super) fn media_type(&self) -> Option<&str> {
        match self {
            Self::Url(_) => None,
            Self::Bytes { media_type, .. } => *media_type,
        }
    }

    /// Returns the text of a text file.
    pub(super) fn text(&self, media_type: &str) -> Option<&str> {
        match self {
            Self::Bytes { bytes, .. } if is_text_media_type(media_type) => {
                std::str::from_utf8(bytes).ok()
            }
            Self::Bytes { .. } | Self::Url(_) => None,
        }
    }
}

/// Whether a URL has this scheme, in small or capital letters.
fn has_scheme(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
}

/// The facts that the first bytes of an image give.
pub(super) struct Image {
    pub(super) media_type: &'static str,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Image {
    /// Examines the bytes; `None` if they are not an image that providers take.
    pub(super) fn detect(bytes: &[u8]) -> Option<Self> {
        let media_type = match imagesize::image_type(bytes).ok()? {
            ImageType::Png => "image/png",
            ImageType::Jpeg => "image/jpeg",
            ImageType::Gif => "image/gif",
            ImageType::Webp => "image/webp",
            _ => return None,
        };
        let size = imagesize::blob_size(bytes).ok()?;
        Some(Self { media_type, width: size.width, height: size.height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_read_in_both_forms() {
        let Ok(FileSource::Bytes { bytes, media_type, .. }) =
            FileSource::read("DATA:text/plain;charset=utf-8;base64,aGk=")
        else {
            panic!("bytes");
        };
        assert_eq!((bytes.as_slice(), media_type), (b"hi".as_slice(), Some("text/plain")));
        let Ok(FileSource::Bytes { bytes, base64, .. }) = FileSource::read("data:,a%20b%zz%4")
        else {
            panic!("bytes")
        };
        assert_eq!((bytes.as_slice(), base64.as_ref()), (b"a b%zz%4".as_slice(), "YSBiJXp6JTQ="));
        for bad in [
            "data:image/png;base64,%%%",
            "data:image/png;base64,",
            "data:x",
            "file:///etc/passwd",
            "blob:1",
            "",
            "é",
        ] {
            assert!(FileSource::read(bad).is_err(), "{bad}");
        }
        assert!(matches!(FileSource::read("https://x/y.png"), Ok(FileSource::Url(_))));
    }
}
