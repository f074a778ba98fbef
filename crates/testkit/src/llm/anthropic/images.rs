//! Pictures: their formats, and how large they may be.

use serde_json::Value;

use super::super::{Refusal, image, prompt::list};
use super::{missing, refuse};

const SIDE_MAX: u32 = 8000;
const SIDE_MAX_OF_MANY: u32 = 2000;
/// With more pictures than this in one request, each has to be smaller.
const MANY: usize = 20;
const BYTES_MAX: usize = 5 << 20;

/// Judges one picture by itself.
pub(super) fn judge(block: &Value, place: &str) -> Result<(), Refusal> {
    let source = &block["source"];
    let place = format!("{place}.image.source");
    match source["type"].as_str() {
        Some("base64") => judge_data(source, &format!("{place}.base64")),
        Some("url") if source["url"].as_str().is_some_and(|url| url.starts_with("https://")) => {
            Ok(())
        }
        Some("url") => {
            Err(refuse("image_url", format!("{place}.url.url: Only HTTPS URLs are supported.")))
        }
        Some("file") => Ok(()),
        _ => Err(missing("image_source", &place)),
    }
}

fn judge_data(source: &Value, place: &str) -> Result<(), Refusal> {
    let media_type = source["media_type"].as_str().unwrap_or_default();
    if !["image/jpeg", "image/png", "image/gif", "image/webp"].contains(&media_type) {
        let message = format!(
            "{place}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        );
        return Err(refuse("image_type", message));
    }
    let Some(image) = image::read(source["data"].as_str().unwrap_or_default()) else {
        return Err(refuse("image_data", "Could not process image"));
    };
    if image.media_type != media_type {
        let message = format!(
            "{place}: The image was specified using the {media_type} media type, but the image appears to be a {} image",
            image.media_type
        );
        return Err(refuse("image_mismatch", message));
    }
    if image.bytes > BYTES_MAX {
        let message = format!(
            "{place}: image exceeds 5 MB maximum: {} bytes > {BYTES_MAX} bytes",
            image.bytes
        );
        return Err(refuse("image_bytes", message));
    }
    judge_side(&image, SIDE_MAX, "", place, "image_side")
}

fn judge_side(
    image: &image::Image,
    max: u32,
    of_many: &str,
    place: &str,
    rule: &'static str,
) -> Result<(), Refusal> {
    match image.size {
        Some((width, height)) if width.max(height) > max => Err(refuse(
            rule,
            format!(
                "{place}.data: At least one of the image dimensions exceed max allowed size{of_many}: {max} pixels"
            ),
        )),
        _ => Ok(()),
    }
}

/// Judges the pictures of a request together.
pub(super) fn judge_many(messages: &[Value]) -> Result<(), Refusal> {
    let mut images: Vec<(String, &Value)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (k, block) in list(&message["content"]).iter().enumerate() {
            let place = format!("messages.{at}.content.{k}");
            let inner = list(&block["content"]).iter().enumerate();
            images
                .extend(inner.map(|(m, part)| (format!("{place}.tool_result.content.{m}"), part)));
            images.push((place, block));
        }
    }
    images.retain(|(_, block)| block["type"] == "image");
    if images.len() <= MANY {
        return Ok(());
    }
    for (place, block) in images {
        let data = block["source"]["data"].as_str().unwrap_or_default();
        if let Some(image) = image::read(data) {
            let place = format!("{place}.image.source.base64");
            let of_many = " for many-image requests";
            judge_side(&image, SIDE_MAX_OF_MANY, of_many, &place, "image_side_of_many")?;
        }
    }
    Ok(())
}
