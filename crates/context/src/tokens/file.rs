//! Counts the tokens of a file by what a model makes of it, never by its base64.
//!
//! An image costs by its pixels, which stand in the first bytes of the file. Text is put into the message as text.
//! All other counts are guesses, which the next report of the provider corrects.

use ship_message::{DataUrl, FilePart, is_text_media_type};

use super::Tokenizer;
use super::family::Family;

/// The tokens of an image of unknown size, and of any other unknown file: about as much as a full page.
const UNKNOWN_TOKENS: u64 = 1_500;

/// The number of bytes of a PDF for one token. Anthropic gives 1,500 to 3,000 tokens for the text of a page, and
/// shows the page as an image besides; pages take from ten thousand bytes (text) to a hundred thousand (scans).
const PDF_BYTES_FOR_TOKEN: u64 = 20;

/// The length of the base64 in which an image's size is searched; previews and colours may stand before it.
const HEADER_CHARS: usize = 256 * 1024;

/// The highest count that any known rule gives to an image.
const IMAGE_TOKENS_MAX: u64 = 1_600;

/// Returns the most tokens that a file can cost, without a vocabulary: a token has at least one byte.
pub fn file_tokens_at_most(file: &FilePart) -> u64 {
    let data = DataUrl::parse(file.url());
    let media_type = media_type(file, data.as_ref());
    let content = match data {
        Some(data) if is_text_media_type(&media_type) => bytes_at_most(&data).saturating_add(3),
        Some(data) if media_type == "application/pdf" => bytes_at_most(&data) / PDF_BYTES_FOR_TOKEN,
        _ => 0,
    };
    let name = file.filename().map_or(0, |name| name.len() as u64);
    name + content.max(IMAGE_TOKENS_MAX)
}

/// Returns the kind of a file: as the part says, or else as its data does.
fn media_type(file: &FilePart, data: Option<&DataUrl<'_>>) -> String {
    let declared = data.map_or("", |data| data.media_type);
    let media_type = if file.media_type().is_empty() { declared } else { file.media_type() };
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the tokens of a file part.
pub(super) fn file_tokens(tokenizer: &Tokenizer, file: &FilePart) -> u64 {
    let data = DataUrl::parse(file.url());
    let media_type = media_type(file, data.as_ref());
    let name = file.filename().map_or(0, |name| tokenizer.count(name));
    let content = data.and_then(|data| {
        if media_type.starts_with("image/") {
            return pixels(&data).map(|size| image_tokens(tokenizer.family(), size));
        }
        if media_type == "application/pdf" {
            return Some((bytes_at_most(&data) / PDF_BYTES_FOR_TOKEN).max(UNKNOWN_TOKENS));
        }
        if is_text_media_type(&media_type) {
            return text(&data).map(|text| tokenizer.count(&text));
        }
        None
    });
    name + content.unwrap_or(UNKNOWN_TOKENS)
}

/// The width and the height in pixels.
type Pixels = (f64, f64);

/// Returns the tokens of an image by the rule of the model's maker. Most others cut images into squares of 28
/// pixels, each of which is a token; that is close to Anthropic's rule.
fn image_tokens(family: Family, pixels: Pixels) -> u64 {
    match family {
        Family::OpenAi | Family::OpenAiOld => tile_tokens(pixels),
        Family::Claude
        | Family::DeepSeek
        | Family::Qwen
        | Family::Llama
        | Family::Mistral
        | Family::Kimi
        | Family::Glm4
        | Family::Glm5
        | Family::MiniMax
        | Family::Unknown => area_tokens(pixels),
    }
}

/// OpenAI's rule: fit into 2048 × 2048, the shorter side to 768, then 170 for each tile of 512 × 512, and 85.
fn tile_tokens((width, height): Pixels) -> u64 {
    let fit = (2048.0 / width.max(height)).min(1.0);
    let shorter = (768.0 / (width.min(height) * fit)).min(1.0);
    let tiles = |side: f64| (side * fit * shorter / 512.0).ceil().max(1.0);
    85 + 170 * (tiles(width) * tiles(height)) as u64
}

/// Anthropic's rule: the longer side to 1568, then a token for every 750 pixels, at most 1,600.
fn area_tokens((width, height): Pixels) -> u64 {
    let fit = (1568.0 / width.max(height)).min(1.0);
    (width * fit * height * fit / 750.0).ceil().clamp(1.0, IMAGE_TOKENS_MAX as f64) as u64
}

/// Returns the most bytes that a file can have.
fn bytes_at_most(data: &DataUrl<'_>) -> u64 {
    let chars = data.payload.len() as u64;
    if data.is_base64 { chars / 4 * 3 } else { chars }
}

/// Returns the width and height of an image. Its first bytes are enough to find them.
fn pixels(data: &DataUrl<'_>) -> Option<Pixels> {
    if !data.is_base64 {
        return None;
    }
    let chars = data.payload.len().min(HEADER_CHARS);
    // Base64 is decoded in groups of four characters.
    let head = DataUrl { payload: data.payload.get(..chars - chars % 4)?, ..*data };
    let size = imagesize::blob_size(&head.bytes()?).ok()?;
    let has_pixels = size.width > 0 && size.height > 0;
    has_pixels.then_some((size.width as f64, size.height as f64))
}

/// Returns the text of a file. One that is not base64 is counted as it is escaped, which is rare and a little too much.
fn text(data: &DataUrl<'_>) -> Option<String> {
    match data.is_base64 {
        true => String::from_utf8(data.bytes()?).ok(),
        false => Some(data.payload.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// Makes the first bytes of a PNG of this size, followed by much data.
    fn png(width: u32, height: u32) -> FilePart {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0]);
        bytes.resize(1_000_000, 7);
        data("image/png", &bytes)
    }

    fn data(media_type: &str, bytes: &[u8]) -> FilePart {
        FilePart::new(media_type, format!("data:{media_type};base64,{}", STANDARD.encode(bytes)))
    }

    fn tokens(model: &str, file: &FilePart) -> u64 {
        file_tokens(&Tokenizer::for_model(model), file)
    }

    #[test]
    fn an_image_is_counted_by_its_pixels_as_its_provider_does() {
        for (width, height, openai, anthropic) in [
            (512, 512, 85 + 170, 350),
            (1024, 1024, 85 + 4 * 170, 1_399),
            (2048, 4096, 85 + 6 * 170, 1_600),
            (1000, 1000, 85 + 4 * 170, 1_334),
            (1, 1, 85 + 170, 1),
            (u32::MAX, 1, 85 + 4 * 170, 1),
        ] {
            let image = png(width, height);
            assert_eq!(tokens("gpt-4o", &image), openai, "{width} × {height}");
            assert_eq!(tokens("claude-sonnet-4-5", &image), anthropic, "{width} × {height}");
        }
    }

    #[test]
    fn an_image_whose_size_is_not_known_takes_a_page() {
        for url in [
            "https://example.com/a.png",
            "data:image/png;base64,????",
            "data:image/png;base64,",
            "data:image/png;base64",
            "data:image/svg+xml,<svg/>",
            "data:",
            "日本",
            "",
        ] {
            assert_eq!(tokens("gpt-4o", &FilePart::new("image/png", url)), 1_500, "{url}");
        }
        assert_eq!(tokens("gpt-4o", &png(0, 100)), 1_500);
    }

    #[test]
    fn a_text_file_takes_what_its_text_takes() {
        let text = "fn main() { println!(\"hello\"); }\n".repeat(100);
        let file = data("text/plain", text.as_bytes());
        assert_eq!(tokens("gpt-4o", &file), Tokenizer::for_model("gpt-4o").count(&text));
    }

    #[test]
    fn no_file_takes_more_than_it_takes_at_most() {
        let noise: String = ('\u{4e00}'..='\u{9fff}').step_by(7).collect();
        for file in [
            png(2048, 4096),
            png(1, 1),
            FilePart::new("image/png", "https://example.com/a.png"),
            FilePart::new("application/zip", "data:application/zip;base64,AAAA"),
            FilePart::new("text/plain", "data:text/plain,abc%20def"),
            data("text/plain", noise.as_bytes()),
            data("text/plain", b"\xff\xff\xff"),
            data("application/pdf", &[0; 600_000]),
        ] {
            for model in ["gpt-4o", "gpt-4", "claude-sonnet-4-5", "qwen3"] {
                let (tokens, at_most) = (tokens(model, &file), file_tokens_at_most(&file));
                assert!(tokens <= at_most, "{model}: {tokens} of {at_most}");
            }
        }
        let image = file_tokens_at_most(&png(512, 512));
        assert_eq!(image, IMAGE_TOKENS_MAX, "base64 is not paid for");
    }

    #[test]
    fn a_pdf_is_counted_by_its_bytes() {
        assert_eq!(tokens("claude-x", &data("application/pdf", &[0; 600_000])), 30_000);
        assert_eq!(tokens("claude-x", &data("application/pdf", &[0; 600])), 1_500);
    }
}
