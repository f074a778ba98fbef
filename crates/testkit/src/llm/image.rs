//! The first bytes of pictures: enough to know what they are and how large.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A picture's format and size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image {
    /// Its media type, by its bytes.
    pub(super) media_type: &'static str,
    /// Its width and height, where the head says them.
    pub(super) size: Option<(u32, u32)>,
    /// How many bytes it has.
    pub(super) bytes: usize,
}

/// Reads what base64 text holds. `None` if it is not base64, or no picture that providers take.
pub(super) fn read(base64: &str) -> Option<Image> {
    let bytes = STANDARD.decode(base64).ok()?;
    let (media_type, size) = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => ("image/png", png(&bytes)),
        [0xff, 0xd8, 0xff, ..] => ("image/jpeg", jpeg(&bytes)),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => ("image/gif", gif(&bytes)),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
            ("image/webp", webp(&bytes))
        }
        _ => return None,
    };
    Some(Image { media_type, size, bytes: bytes.len() })
}

/// The header chunk comes first and begins with the two sizes.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    Some((number(16)?, number(20)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((little(bytes, 6)?, little(bytes, 8)?))
}

/// Walks the segments up to the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let mut at = 2;
    loop {
        let (mark, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?);
        if mark != 0xff {
            return None;
        }
        // C4, C8 and CC are tables in the midst of the frames' numbers.
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            return Some((big(at + 7)?.into(), big(at + 5)?.into()));
        }
        at += 2 + usize::from(big(at + 2)?);
    }
}

/// Three kinds of webp keep their size in three places.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(bytes, 26)? & 0x3fff, little(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = little(bytes, 21)? | little(bytes, 23)? << 16;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let long = |at: usize| Some(little(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16);
            Some((long(24)? + 1, long(27)? + 1))
        }
        _ => None,
    }
}

fn little(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_bytes(bytes: &[u8]) -> Option<(&'static str, Option<(u32, u32)>)> {
        read(&STANDARD.encode(bytes)).map(|image| (image.media_type, image.size))
    }

    #[test]
    fn the_head_of_a_picture_tells_its_format_and_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x1f\x41\0\0\0\x02";
        assert_eq!(read_bytes(png), Some(("image/png", Some((8001, 2)))));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x0b\x08\0\x10\0\x20\x03";
        assert_eq!(read_bytes(jpeg), Some(("image/jpeg", Some((32, 16)))));
        assert_eq!(read_bytes(b"GIF89a\x05\0\x06\0"), Some(("image/gif", Some((5, 6)))));
        let webp = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x0f\0\0\x1f\0\0";
        assert_eq!(read_bytes(webp), Some(("image/webp", Some((16, 32)))));
    }

    #[test]
    fn a_cut_picture_has_no_size_and_other_bytes_are_no_picture() {
        assert_eq!(read_bytes(b"\x89PNG\r\n\x1a\n\0\0"), Some(("image/png", None)));
        assert_eq!(read_bytes(b"\xff\xd8\xff"), Some(("image/jpeg", None)));
        assert_eq!(read_bytes(b"BM000000"), None);
        assert_eq!(read("not base64!"), None);
    }
}
