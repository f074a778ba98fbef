//! The content of a file: an address, base64, or fetched bytes.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use url::Url;

use super::error::WireError;

/// The content of a file.
#[derive(Clone, Debug)]
pub(super) enum FileContent<'a> {
    /// An address in the spelling of the URL standard.
    Url(String),
    /// Base64, or at least text that is not an address.
    Base64(Cow<'a, str>),
    /// The bytes that were fetched.
    Bytes(&'a [u8]),
}

/// Determines what a string with file data is, and its media type if it has one.
pub(super) fn read(text: &str) -> Result<(FileContent<'_>, Option<Cow<'_, str>>), WireError> {
    if let Some((media_type, content)) = plain_data_url(text) {
        return Ok((FileContent::Base64(content.into()), Some(media_type.into())));
    }
    let Some(url) = parse_address(text) else {
        return Ok((FileContent::Base64(text.into()), None));
    };
    if !url.starts_with("data:") {
        return Ok((FileContent::Url(url), None));
    }
    match split_data_url(&url) {
        Some((media_type, content)) => {
            let content = Cow::Owned(content.to_owned());
            Ok((FileContent::Base64(content), Some(Cow::Owned(media_type.to_owned()))))
        }
        None => Err(WireError::InvalidDataUrl(url)),
    }
}

/// Returns a text as an address in the spelling of the URL standard. Base64 has no colon, and an
/// address must have one.
pub(super) fn parse_address(text: &str) -> Option<String> {
    if !text.contains(':') {
        return None;
    }
    Url::parse(text).ok().map(String::from)
}

/// Divides a data URL that the URL standard would not change, which is nearly every one. Then a picture in it
/// need not be copied.
fn plain_data_url(text: &str) -> Option<(&str, &str)> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'?' && byte != b'#';
    if !text.starts_with("data:") || !text.bytes().all(plain) {
        return None;
    }
    split_data_url(text)
}

/// Returns the media type and the content, which stands between the first comma and the second.
///
/// [`DataUrl`](ship_message::DataUrl) reads to the end, as the standard says; the SDK does not, and here its bytes
/// are compared with ours.
fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let mut pieces = url.split(',');
    let header = pieces.next()?;
    let content = pieces.next()?;
    let media_type = header.split(';').next()?.split(':').nth(1)?;
    Some((media_type, content))
}

impl FileContent<'_> {
    /// Returns the data as base64; an address stays unchanged.
    pub(super) fn base64(&self) -> Cow<'_, str> {
        match self {
            Self::Url(text) => Cow::Borrowed(text),
            Self::Base64(text) => Cow::Borrowed(text),
            Self::Bytes(bytes) => Cow::Owned(encode(bytes)),
        }
    }

    /// Returns the data as text; an address stays unchanged.
    pub(super) fn text(&self) -> Result<Cow<'_, str>, WireError> {
        match self {
            Self::Url(text) => Ok(Cow::Borrowed(text)),
            Self::Base64(text) => {
                Ok(Cow::Owned(without_byte_order_mark(&decode(text)?).into_owned()))
            }
            Self::Bytes(bytes) => Ok(without_byte_order_mark(bytes)),
        }
    }

    /// Returns the kind of image from the first bytes; `None` for an address or unknown bytes.
    pub(super) fn image_type(&self) -> Result<Option<&'static str>, WireError> {
        let bytes = self.prefix(SNIFF_BYTES)?;
        let Some(mut bytes) = bytes else { return Ok(None) };
        // Audio may begin with a tag of any length; the SDK looks for images after it, too.
        if bytes.len() > 10 && bytes.starts_with(b"ID3") {
            let length =
                bytes[6..10].iter().fold(0, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
            bytes = self.prefix(TAG_BYTES_MAX)?.unwrap_or_default();
            bytes.drain(..(length + 10).min(bytes.len()));
        }
        let found = IMAGES.iter().find(|(_, signature)| {
            bytes.len() >= signature.len()
                && signature.iter().zip(&bytes).all(|(want, byte)| want.is_none_or(|w| w == *byte))
        });
        Ok(found.map(|(media_type, _)| *media_type))
    }

    /// Returns the first bytes of the data.
    fn prefix(&self, count: usize) -> Result<Option<Vec<u8>>, WireError> {
        let mut bytes = match self {
            Self::Url(_) => return Ok(None),
            Self::Bytes(bytes) => bytes[..count.min(bytes.len())].to_vec(),
            Self::Base64(text) => {
                let end = text.char_indices().nth(count.div_ceil(3) * 4).map(|(at, _)| at);
                decode(&text[..end.unwrap_or(text.len())])?
            }
        };
        bytes.truncate(count);
        Ok(Some(bytes))
    }
}

// As many bytes as the SDK decodes: 24 letters of base64.
const SNIFF_BYTES: usize = 18;
// A tag of 128 KiB, and the longest signature behind it. The limit keeps a large file from being decoded for its type.
const TAG_BYTES_MAX: usize = 128 * 1024 + 12;

/// Makes a signature in which every byte is fixed.
const fn signature<const N: usize>(bytes: [u8; N]) -> [Option<u8>; N] {
    let mut signature = [None; N];
    let mut i = 0;
    while i < N {
        signature[i] = Some(bytes[i]);
        i += 1;
    }
    signature
}

const WEBP: [Option<u8>; 12] = {
    let mut signature = signature(*b"RIFF....WEBP");
    let mut i = 4;
    while i < 8 {
        signature[i] = None;
        i += 1;
    }
    signature
};

/// The first bytes of each kind of image.
const IMAGES: &[(&str, &[Option<u8>])] = &[
    ("image/gif", &signature(*b"GIF")),
    ("image/png", &signature(*b"\x89PNG")),
    ("image/jpeg", &signature(*b"\xff\xd8")),
    ("image/webp", &WEBP),
    ("image/bmp", &signature(*b"BM")),
    ("image/tiff", &signature(*b"II*\0")),
    ("image/tiff", &signature(*b"MM\0*")),
    ("image/avif", &signature(*b"\0\0\0 ftypavif")),
    ("image/heic", &signature(*b"\0\0\0 ftypheic")),
];

/// Returns UTF-8 without the byte order mark, which JavaScript's decoder leaves out.
fn without_byte_order_mark(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

pub(super) fn encode(bytes: &[u8]) -> String {
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

/// Decodes base64 as JavaScript's `atob` does, which forgives white space, missing padding and spare bits, and also
/// accepts the two letters of URLs.
fn decode(text: &str) -> Result<Vec<u8>, WireError> {
    const FORGIVING: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    let mut letters: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' '))
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            byte => byte,
        })
        .collect();
    if letters.len().is_multiple_of(4) {
        for _ in 0..2 {
            letters.pop_if(|byte| *byte == b'=');
        }
    }
    FORGIVING.decode(&letters).map_err(|_| WireError::NotBase64(base64_problem(text)))
}

/// Returns JavaScript's words for the problem: an invalid letter, or a missing one.
fn base64_problem(text: &str) -> &'static str {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    let is_space = |c: char| matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ');
    let letters = text.trim_end_matches(|c| is_space(c) || c == '=');
    let padding = text[letters.len()..].matches('=').count();
    let strange = letters.chars().any(|c| !is_letter(c) && !is_space(c));
    let one_too_few = letters.chars().filter(|c| is_letter(*c)).count() % 4 == 1;
    if one_too_few && padding <= 2 && !strange {
        "The string to be decoded is not correctly encoded."
    } else {
        "Invalid character"
    }
}
