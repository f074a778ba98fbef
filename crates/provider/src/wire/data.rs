//! What a file is given as: an address, base64, or bytes that were fetched.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use url::Url;

use super::error::WireError;

/// A file's data.
#[derive(Clone, Debug)]
pub(super) enum FileContent<'a> {
    /// An address, written as the URL standard writes it.
    Url(String),
    /// Base64, or at least text that is no address.
    Base64(Cow<'a, str>),
    /// Bytes that were fetched.
    Bytes(&'a [u8]),
}

/// What a string that should be data turns out to be, and the media type if it brings one.
pub(super) fn read(text: &str) -> Result<(FileContent<'_>, Option<Cow<'_, str>>), WireError> {
    if let Some((media_type, content)) = plain_data_url(text) {
        return Ok((FileContent::Base64(content.into()), Some(media_type.into())));
    }
    let Some(url) = address(text) else { return Ok((FileContent::Base64(text.into()), None)) };
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

/// The address that a text is, as the URL standard writes it. Base64 has no colon, and an address must.
pub(super) fn address(text: &str) -> Option<String> {
    if !text.contains(':') {
        return None;
    }
    Url::parse(text).ok().map(String::from)
}

/// A data URL that the URL standard would not change, which is nearly every one; a picture in it need not
/// be copied then.
fn plain_data_url(text: &str) -> Option<(&str, &str)> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'?' && byte != b'#';
    if !text.starts_with("data:") || !text.bytes().all(plain) {
        return None;
    }
    split_data_url(text)
}

/// Media type and content: what is between the first comma and the second.
fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let mut pieces = url.split(',');
    let header = pieces.next()?;
    let content = pieces.next()?;
    let media_type = header.split(';').next()?.split(':').nth(1)?;
    Some((media_type, content))
}

impl FileContent<'_> {
    /// The data as base64; an address stays what it is.
    pub(super) fn base64(&self) -> Cow<'_, str> {
        match self {
            Self::Url(text) => Cow::Borrowed(text),
            Self::Base64(text) => Cow::Borrowed(text),
            Self::Bytes(bytes) => Cow::Owned(encode(bytes)),
        }
    }

    /// The data as text; an address stays what it is.
    pub(super) fn text(&self) -> Result<Cow<'_, str>, WireError> {
        match self {
            Self::Url(text) => Ok(Cow::Borrowed(text)),
            Self::Base64(text) => Ok(Cow::Owned(without_mark(&decode(text)?).into_owned())),
            Self::Bytes(bytes) => Ok(without_mark(bytes)),
        }
    }

    /// The kind of image that the first bytes tell; `None` for an address, and when they tell nothing.
    pub(super) fn image_type(&self) -> Result<Option<&'static str>, WireError> {
        let bytes = self.prefix(SNIFF_BYTES)?;
        let Some(mut bytes) = bytes else { return Ok(None) };
        // Sound may begin with a tag as long as the tag says; the SDK looks behind it for images, too.
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

    /// The first bytes of the data.
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

const SNIFF_BYTES: usize = 18;
const TAG_BYTES_MAX: usize = 128 * 1024 + 12;

/// A byte, or any byte.
const fn bytes<const N: usize>(bytes: [u8; N]) -> [Option<u8>; N] {
    let mut signature = [None; N];
    let mut i = 0;
    while i < N {
        signature[i] = Some(bytes[i]);
        i += 1;
    }
    signature
}

const WEBP: [Option<u8>; 12] = {
    let mut signature = bytes(*b"RIFF....WEBP");
    let mut i = 4;
    while i < 8 {
        signature[i] = None;
        i += 1;
    }
    signature
};

/// How images begin.
const IMAGES: &[(&str, &[Option<u8>])] = &[
    ("image/gif", &bytes(*b"GIF")),
    ("image/png", &bytes(*b"\x89PNG")),
    ("image/jpeg", &bytes(*b"\xff\xd8")),
    ("image/webp", &WEBP),
    ("image/bmp", &bytes(*b"BM")),
    ("image/tiff", &bytes(*b"II*\0")),
    ("image/tiff", &bytes(*b"MM\0*")),
    ("image/avif", &bytes(*b"\0\0\0 ftypavif")),
    ("image/heic", &bytes(*b"\0\0\0 ftypheic")),
];

/// As UTF-8, without the byte order mark that JavaScript's decoder leaves out.
fn without_mark(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

pub(super) fn encode(bytes: &[u8]) -> String {
    base64::prelude::BASE64_STANDARD.encode(bytes)
}

/// Reads base64 as JavaScript's `atob` does, which forgives white space, missing padding and spare bits, and
/// also with the two letters that URLs use.
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
    FORGIVING.decode(&letters).map_err(|_| WireError::NotBase64(what_is_wrong(text)))
}

/// JavaScript's words for what is wrong: a letter that has no place there, or one too few.
fn what_is_wrong(text: &str) -> &'static str {
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
