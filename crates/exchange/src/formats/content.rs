//! The content of messages in the forms that several formats share.

use ship_message::json::Json;

use crate::message_builder::MessageBuilder;

/// Adds a part of a message in one of OpenAI's forms: of chat completions, or of responses.
pub(super) fn add_openai_part(builder: &mut MessageBuilder, part: &Json) {
    if let Some(text) = part.as_str() {
        return builder.text(text);
    }
    let text = |key: &str| part.get(key).and_then(Json::as_str);
    let kind = text("type").unwrap_or_default();
    match kind {
        "text" | "input_text" | "output_text" | "summary_text" => {
            builder.text(text("text").unwrap_or_default());
        }
        "refusal" => builder.text(text("refusal").unwrap_or_default()),
        "image_url" | "input_image" => match image_url(part) {
            Some(url) => builder.file(&media_type_of(url), url, None),
            None => builder.keep(kind, part.clone()),
        },
        "file" => {
            let file = part.get("file");
            let field = |key: &str| file.and_then(|file| file.get(key)).and_then(Json::as_str);
            match field("file_data") {
                Some(url) => builder.file(&media_type_of(url), url, field("filename")),
                None => builder.keep("file", part.clone()),
            }
        }
        "" => builder.keep("content", part.clone()),
        kind => builder.keep(kind, part.clone()),
    }
}

/// Adds the content of a message: a text, or a list of parts.
pub(super) fn add_openai_content(builder: &mut MessageBuilder, content: Option<&Json>) {
    match content {
        None | Some(Json::Null) => {}
        Some(Json::String(text)) => builder.text(text.as_str()),
        Some(Json::Array(parts)) => {
            parts.iter().for_each(|part| add_openai_part(builder, part));
        }
        Some(other) => builder.keep("content", other.clone()),
    }
}

fn image_url(part: &Json) -> Option<&str> {
    let image = part.get("image_url")?;
    image.as_str().or_else(|| image.get("url")?.as_str())
}

/// Returns the media type of a URL: the one that it names, or that of its ending.
fn media_type_of(url: &str) -> String {
    let named = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next());
    if let Some(named) = named.filter(|named| named.contains('/')) {
        return named.to_owned();
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" | "gif" | "webp" => format!("image/{ending}"),
        "jpg" | "jpeg" => "image/jpeg".to_owned(),
        "pdf" => "application/pdf".to_owned(),
        _ => "image/*".to_owned(),
    }
}

/// Returns the output of a tool: a text, or what the list has besides texts.
pub(super) fn output_of(content: Option<&Json>) -> Json {
    match content {
        None | Some(Json::Null) => "".into(),
        Some(Json::String(text)) => crate::message_builder::output_of_text(text.as_str()),
        Some(other) => texts_of(other).map_or_else(|| other.clone(), Json::from),
    }
}

/// Returns the text of a list that has nothing but texts.
fn texts_of(list: &Json) -> Option<String> {
    let texts: Option<Vec<&str>> =
        list.as_array()?.iter().map(|part| part.get("text")?.as_str()).collect();
    Some(texts?.join("\n"))
}
