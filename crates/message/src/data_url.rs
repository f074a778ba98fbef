//! Parses `data:` URLs, which carry a file inside a message, and tells which files are text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The parts of a `data:` URL, after RFC 2397.
///
/// ```
/// let url = ship_message::DataUrl::parse("data:text/plain;charset=utf-8;base64,aGk=").expect("a data URL");
/// assert_eq!((url.media_type, url.is_base64, url.payload), ("text/plain", true, "aGk="));
/// assert_eq!(url.bytes().as_deref(), Some(b"hi".as_slice()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataUrl<'a> {
    /// The media type without its parameters; empty if the URL names none.
    pub media_type: &'a str,
    /// Whether the payload is base64. Otherwise it is percent-encoded text.
    pub is_base64: bool,
    /// The encoded file, behind the first comma.
    pub payload: &'a str,
}

impl<'a> DataUrl<'a> {
    /// Parses a URL; `None` if it has another scheme or no comma.
    pub fn parse(url: &'a str) -> Option<Self> {
        let scheme = url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:"))?;
        let (head, payload) = url[scheme.len()..].split_once(',')?;
        let media_type = head.split(';').next().unwrap_or_default();
        let is_base64 =
            head.rsplit(';').next().is_some_and(|last| last.eq_ignore_ascii_case("base64"));
        Some(Self { media_type, is_base64, payload })
    }

    /// Decodes the file; `None` if its base64 is invalid.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self.is_base64 {
            true => STANDARD.decode(self.payload).ok(),
            false => Some(percent_encoding::percent_decode_str(self.payload).collect()),
        }
    }
}

/// Whether a file of this media type is text that stands in a message as text. The media type is in small letters,
/// with or without parameters. A drawing, `image/svg+xml`, counts as an image.
pub fn is_text_media_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml") && !essence.starts_with("image/")
        || ["json", "xml", "yaml", "x-yaml", "toml", "javascript", "x-ndjson", "x-sh", "sql"]
            .into_iter()
            .any(|kind| essence.strip_prefix("application/") == Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_read_in_both_forms() {
        let bytes = |url| DataUrl::parse(url).and_then(|url| url.bytes());
        for (url, wanted) in [
            ("DATA:text/plain;charset=utf-8;base64,aGk=", b"hi".as_slice()),
            ("data:;BASE64,aGk=", b"hi"),
            ("data:,a%20b%zz%4", b"a b%zz%4"),
            ("data:text/plain,a,b", b"a,b"),
            ("data:text/plain;base64;x,aGk=", b"aGk="),
            ("data:image/png;base64,", b""),
        ] {
            assert_eq!(bytes(url).as_deref(), Some(wanted), "{url}");
        }
        for bad in ["data:image/png;base64,%%%", "data:x", "file:///etc/passwd", "", "é", "dat"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_document_in_xml_is_text_and_a_drawing_is_not() {
        for text in ["text/plain; charset=utf-8", "application/json", "application/atom+xml"] {
            assert!(is_text_media_type(text), "{text}");
        }
        for other in ["image/svg+xml", "application/pdf", "application/x-json", "json", ""] {
            assert!(!is_text_media_type(other), "{other}");
        }
    }
}
