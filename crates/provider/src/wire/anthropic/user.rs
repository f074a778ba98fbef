//! Writes the user's messages: words and files of people, and the results of tools.

use std::borrow::Cow;

use ship_message::json::Json;

use super::super::anthropic_block::{
    Block, BlockBody, BlockContent, ContentBlock, Document, MediaSource, ToolResultBlock,
};
use super::super::anthropic_message::{AnthropicMessage, AnthropicMessages};
use super::super::error::WireError;
use super::super::file_content::FileContent;
use super::super::prompt_message::{
    Message, Output, PromptToolPart, PromptToolResult, UserBody, UserPart,
};
use super::super::provider_options::{ANTHROPIC, ProviderOptions};
use super::cache::CacheControl;

const DENIED: &str = "Tool call execution denied.";
const PDF: &str = "application/pdf";

pub(super) fn add<'p>(
    block: &'p [Message<'_>],
    conversation: &mut AnthropicMessages<'p>,
    cache: &mut CacheControl,
) -> Result<(), WireError> {
    let mut blocks = Vec::new();
    for message in block {
        match message {
            Message::User { parts, options } => {
                if !parts.is_empty() {
                    conversation.last_person_message = conversation.messages.len();
                }
                for (i, part) in parts.iter().enumerate() {
                    let is_last = i + 1 == parts.len();
                    let mut mark = cache.mark_from(part.options.json());
                    // The mark of a whole message stands at its last block.
                    if mark.is_none() && is_last {
                        mark = cache.mark_from(options.json());
                    }
                    blocks.push(Block::new(user_body(part, conversation)?, mark));
                }
            }
            Message::Tool { parts, options } => {
                for (i, part) in parts.iter().enumerate() {
                    let PromptToolPart::Result(result) = part else { continue };
                    let is_last = i + 1 == parts.len();
                    let mut mark = cache.mark_from(result.options.json());
                    mark = mark.or_else(|| cache.mark_from(output_options(result)));
                    if mark.is_none() && is_last {
                        mark = cache.mark_from(options.json());
                    }
                    blocks.push(Block::new(
                        BlockBody::ToolResult(tool_result(result, conversation)),
                        mark,
                    ));
                }
            }
            Message::System { .. } | Message::Assistant { .. } => {}
        }
    }
    conversation.messages.push(AnthropicMessage::new("user", blocks));
    Ok(())
}

fn user_body<'p>(
    part: &'p UserPart<'_>,
    conversation: &mut AnthropicMessages<'_>,
) -> Result<BlockBody<'p>, WireError> {
    let (data, media_type, filename) = match &part.body {
        UserBody::Text(text) => return Ok(BlockBody::Text { text, citations: None }),
        UserBody::File { data, media_type, filename } => {
            (data, media_type.as_ref(), filename.as_deref())
        }
    };
    if media_type.starts_with("image/") {
        // The API takes no wildcard. The AI SDK sends this type too.
        let media_type = if media_type == "image/*" { "image/jpeg" } else { media_type };
        return Ok(BlockBody::Image(source(data, media_type)));
    }
    let is_pdf = media_type == PDF;
    if is_pdf {
        conversation.require_beta("pdfs-2024-09-25");
    } else if media_type != "text/plain" {
        return Err(WireError::Unsupported(format!("media type: {media_type}")));
    }
    let document = document(&part.options, filename, || {
        Ok(match file_address(data) {
            Some(url) => MediaSource::Url(url),
            None if is_pdf => source(data, PDF),
            None => MediaSource::Text(data.text()?),
        })
    })?;
    Ok(BlockBody::Document(document))
}

/// Makes a document with the options of its file.
fn document<'p>(
    options: &'p ProviderOptions<'_>,
    filename: Option<&'p str>,
    source: impl FnOnce() -> Result<MediaSource<'p>, WireError>,
) -> Result<Document<'p>, WireError> {
    let options = options.of(ANTHROPIC);
    let text = |key: &str| match options.and_then(|options| options.get(key)) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or(WireError::InvalidOptions),
    };
    let citations = match options.and_then(|options| options.get("citations")) {
        None => false,
        Some(citations) => {
            let enabled = citations.get("enabled").and_then(Json::as_bool);
            enabled.ok_or(WireError::InvalidOptions)?
        }
    };
    let (title, context) = (text("title")?, text("context")?);
    Ok(Document {
        source: source()?,
        title: title.or(filename),
        context: context.filter(|context| !context.is_empty()),
        citations,
    })
}

fn source<'p>(data: &'p FileContent<'_>, media_type: &'p str) -> MediaSource<'p> {
    match file_address(data) {
        Some(url) => MediaSource::Url(url),
        None => MediaSource::Base64 { media_type, data: data.base64() },
    }
}

/// Returns the address of a file. A text that only begins like one is passed on, for the provider to refuse.
fn file_address<'p>(data: &'p FileContent<'_>) -> Option<&'p str> {
    let begins = |text: &str, with: &str| {
        text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    match data {
        FileContent::Url(url) => Some(url),
        FileContent::Base64(text) => {
            (begins(text, "http://") || begins(text, "https://")).then_some(text.as_ref())
        }
        FileContent::Bytes(_) => None,
    }
}

/// Returns the options of a result's output; of several items, the first with options counts.
fn output_options<'p>(result: &'p PromptToolResult<'_>) -> Option<&'p Json> {
    if result.output_options.is_some() {
        return result.output_options;
    }
    match &result.output {
        Output::Content(items) => items
            .iter()
            .find_map(|item| item.get("providerOptions").filter(|options| !options.is_null())),
        _ => None,
    }
}

fn tool_result<'p>(
    result: &'p PromptToolResult<'_>,
    conversation: &mut AnthropicMessages<'_>,
) -> ToolResultBlock<'p> {
    let content = match &result.output {
        Output::Text(text) | Output::ErrorText(text) => BlockContent::Text(text),
        Output::Denied(reason) => BlockContent::Text(reason.as_deref().unwrap_or(DENIED)),
        Output::Json(value) | Output::ErrorJson(value) => BlockContent::Json(value),
        Output::Content(items) => {
            let blocks = items.iter().filter_map(|item| content_block(item, conversation));
            BlockContent::Blocks(blocks.collect())
        }
    };
    ToolResultBlock {
        id: &result.id,
        toolset: super::assistant::toolset(&result.options),
        content,
        is_error: matches!(result.output, Output::ErrorText(_) | Output::ErrorJson(_)),
    }
}

/// Converts an item of a tool's output, if Anthropic takes such items from tools.
fn content_block<'p>(
    item: &'p Json,
    conversation: &mut AnthropicMessages<'_>,
) -> Option<ContentBlock<'p>> {
    let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
    let base64 =
        || MediaSource::Base64 { media_type: text("mediaType"), data: Cow::Borrowed(text("data")) };
    match text("type") {
        "text" => Some(ContentBlock::Text(text("text"))),
        "image-data" => Some(ContentBlock::Image(base64())),
        "image-url" => Some(ContentBlock::Image(MediaSource::Url(text("url")))),
        "file-url" => Some(ContentBlock::Document(MediaSource::Url(text("url")))),
        "file-data" if text("mediaType") == PDF => {
            conversation.require_beta("pdfs-2024-09-25");
            Some(ContentBlock::Document(base64()))
        }
        "custom" => {
            let options = item.get("providerOptions")?.get(ANTHROPIC)?;
            let is_reference = options.get("type")?.as_str()? == "tool-reference";
            is_reference.then(|| ContentBlock::ToolReference(options.get("toolName")))
        }
        _ => None,
    }
}
