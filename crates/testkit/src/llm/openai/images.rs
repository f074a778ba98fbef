//! Pictures in a message.

use serde_json::Value;

use super::super::{Refusal, image};
use super::{missing, refuse};

/// Judges what an `image_url` part points to.
pub(super) fn judge(image_url: &Value, param: &str) -> Result<(), Refusal> {
    let Some(url) = image_url["url"].as_str() else {
        return Err(missing("image_url_missing", &format!("{param}.url")));
    };
    let Some(data) = url.strip_prefix("data:") else {
        return judge_remote(url, param);
    };
    let known = ["png", "jpeg", "jpg", "gif", "webp"];
    let picture = known.iter().find_map(|kind| data.strip_prefix(&format!("image/{kind};base64,")));
    match picture.and_then(image::read) {
        Some(_) => Ok(()),
        None => Err(unsupported()),
    }
}

/// Nothing is fetched; but only the web can be.
fn judge_remote(url: &str, param: &str) -> Result<(), Refusal> {
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let message = format!(
        "Invalid '{param}.url'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' prefix."
    );
    Err(refuse("image_url", Some("invalid_value"), Some(&format!("{param}.url")), message))
}

fn unsupported() -> Refusal {
    let message = "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].";
    refuse("image_format", Some("invalid_image_format"), None, message)
}
