//! Converts a model message into a message of the prompt, part by part. Its fields were checked before.

use std::borrow::Cow;

use ship_message::json::{Json, Object};
use ship_message::{
    ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue, ToolOutput, ToolResultModelPart,
};

use super::super::error::WireError;
use super::super::file_content::{self, FileContent};
use super::super::json_text::{is_true, json_of, text_of};
use super::super::prompt_message::{
    AssistantPart, Message, Output, PromptToolPart, PromptToolResult, ToolCall, UserBody, UserPart,
};
use super::super::provider_options::ProviderOptions;
use super::super::sdk_compat::files::FetchedFiles;

/// Converts a message into one of the prompt.
pub(super) fn convert_message<'m>(
    message: &'m ModelMessage<'_>,
    fetched: &FetchedFiles<'m>,
) -> Result<Message<'m>, WireError> {
    let options = ProviderOptions::new(message.provider_options().map(ModelValue::Ref));
    let plain = match &message.content {
        ModelContent::Text(text) => Some(text.as_ref()),
        ModelContent::Parts(_) => None,
    };
    Ok(match (message.role, plain) {
        (ModelRole::System, text) => Message::System { text: text.unwrap_or_default(), options },
        (ModelRole::User, Some(text)) => {
            let body = UserBody::Text(text.into());
            let parts = vec![UserPart { body, options: ProviderOptions::default() }];
            Message::User { parts, options }
        }
        (ModelRole::User, None) => {
            let mut parts = Vec::with_capacity(message.parts().len());
            for part in message.parts() {
                parts.extend(user_part(part, fetched)?);
            }
            Message::User { parts, options }
        }
        (ModelRole::Assistant, Some(text)) => {
            let part =
                AssistantPart::Text { text: text.into(), options: ProviderOptions::default() };
            Message::Assistant { parts: vec![part], options }
        }
        (ModelRole::Assistant, None) => {
            let mut parts = Vec::with_capacity(message.parts().len());
            for part in message.parts() {
                parts.extend(assistant_part(part, fetched)?);
            }
            Message::Assistant { parts, options }
        }
        (ModelRole::Tool, _) => {
            let parts = message.parts().iter().filter_map(|part| tool_part(part, fetched));
            Message::Tool { parts: parts.collect(), options }
        }
    })
}

fn user_part<'m>(
    part: &'m ModelPart<'_>,
    fetched: &FetchedFiles<'m>,
) -> Result<Option<UserPart<'m>>, WireError> {
    let (body, options) = match part {
        ModelPart::Text(part) => {
            let text = text(part.text());
            if text.is_empty() {
                return Ok(None);
            }
            (UserBody::Text(text), part.provider_options())
        }
        ModelPart::Image(part) => {
            let media_type = part.media_type().and_then(text_of);
            let (data, media_type) = file(part.image(), media_type, fetched)?;
            // The type that the bytes show counts more than the claimed one.
            let media_type = data.image_type()?.map(Cow::Borrowed).or(media_type);
            let media_type = media_type.unwrap_or("image/*".into());
            (UserBody::File { data, media_type, filename: None }, part.provider_options())
        }
        ModelPart::File(part) => {
            let media_type = part.media_type().and_then(text_of);
            let (data, media_type) = file(part.data(), media_type, fetched)?;
            let media_type = media_type.unwrap_or_default();
            let filename = part.filename().and_then(text_of);
            (UserBody::File { data, media_type, filename }, part.provider_options())
        }
        _ => return Ok(None),
    };
    Ok(Some(UserPart { body, options: ProviderOptions::new(options) }))
}

/// Returns the data of a file, as it was fetched if it was, and its media type: that of a data URL wins.
fn file<'m>(
    value: Option<ModelValue<'m>>,
    media_type: Option<Cow<'m, str>>,
    fetched: &FetchedFiles<'m>,
) -> Result<(FileContent<'m>, Option<Cow<'m, str>>), WireError> {
    let (data, in_url) = match text(value) {
        Cow::Borrowed(text) => file_content::read(text)?,
        // Only a value outside of messages is owned, and files are in messages.
        Cow::Owned(text) => (FileContent::Base64(text.into()), None),
    };
    let media_type = in_url.or(media_type);
    Ok(match &data {
        FileContent::Url(address) => match fetched.get(address) {
            Some(file) => {
                let found = || file.media_type.as_deref().map(Cow::Borrowed);
                (FileContent::Bytes(&file.bytes), media_type.or_else(found))
            }
            None => (data, media_type),
        },
        FileContent::Base64(_) | FileContent::Bytes(_) => (data, media_type),
    })
}

fn assistant_part<'m>(
    part: &'m ModelPart<'_>,
    fetched: &FetchedFiles<'m>,
) -> Result<Option<AssistantPart<'m>>, WireError> {
    Ok(match part {
        ModelPart::Text(part) => {
            let (text, options) =
                (text(part.text()), ProviderOptions::new(part.provider_options()));
            // The SDK keeps an empty text that has options.
            let says_something = !text.is_empty() || options.is_some();
            says_something.then_some(AssistantPart::Text { text, options })
        }
        ModelPart::Reasoning(part) => {
            let options = ProviderOptions::new(part.provider_options());
            Some(AssistantPart::Reasoning { text: text(part.text()), options })
        }
        ModelPart::File(part) => {
            // Read for its error alone: a file of the model's own is not sent back.
            file_content::read(&text(part.data()))?;
            Some(AssistantPart::File { options: ProviderOptions::new(part.provider_options()) })
        }
        ModelPart::ToolCall(part) => Some(AssistantPart::Call(ToolCall {
            id: text(part.call_id()),
            name: text(part.tool_name()),
            input: part.input().map(json_of),
            by_provider: part.provider_executed().is_some_and(|value| is_true(&json_of(value))),
            options: ProviderOptions::new(part.provider_options()),
        })),
        ModelPart::ToolResult(part) => Some(AssistantPart::Result(tool_result(part, fetched))),
        _ => None,
    })
}

fn tool_part<'m>(
    part: &'m ModelPart<'_>,
    fetched: &FetchedFiles<'m>,
) -> Option<PromptToolPart<'m>> {
    match part {
        ModelPart::ToolResult(part) => Some(PromptToolPart::Result(tool_result(part, fetched))),
        ModelPart::ToolApprovalResponse(part) => {
            part.provider_executed().filter(|value| is_true(&json_of(value.clone())))?;
            Some(PromptToolPart::Answer)
        }
        _ => None,
    }
}

fn tool_result<'m>(
    part: &'m ToolResultModelPart<'_>,
    fetched: &FetchedFiles<'m>,
) -> PromptToolResult<'m> {
    let (kind, value, other) = match part.output() {
        Some(ToolOutput::Of(kind, value)) => (kind.name(), Some(value), None),
        Some(ToolOutput::Other(output)) => {
            let kind = output.get("type").and_then(Json::as_str).unwrap_or_default();
            (kind, output.get("value").map(ModelValue::Ref), Some(output))
        }
        None => ("", None, None),
    };
    let json = |value: Option<ModelValue<'m>>| value.map_or(Cow::Owned(Json::Null), json_of);
    let output = match kind {
        "text" => Output::Text(text(value)),
        "error-text" => Output::ErrorText(text(value)),
        "error-json" => Output::ErrorJson(json(value)),
        "content" => {
            let items = other.and_then(|output| output.get("value")).and_then(Json::as_array);
            let items = items.unwrap_or_default();
            Output::Content(items.iter().map(|item| content_item(item, fetched)).collect())
        }
        "execution-denied" => {
            let reason = other.and_then(|output| output.get("reason")).and_then(Json::as_str);
            Output::Denied(reason.map(Cow::Borrowed))
        }
        _ => Output::Json(json(value)),
    };
    // If the output has several items, only the options of the items count.
    let several = matches!(output, Output::Content(_));
    PromptToolResult {
        id: text(part.call_id()),
        name: text(part.tool_name()),
        output,
        output_options: part.output_options().filter(|_| !several),
        options: ProviderOptions::new(part.provider_options()),
    }
}

/// Converts an item of a tool's output. An address with a fetched file becomes that file, and the old kind `media`
/// becomes one of its two successors.
fn content_item<'m>(item: &'m Json, fetched: &FetchedFiles<'_>) -> Cow<'m, Json> {
    let text = |key: &str| item.get(key).and_then(Json::as_str).unwrap_or_default();
    let (kind, otherwise) = match text("type") {
        "image-url" => ("image-data", "image/*"),
        "file-url" => ("file-data", "application/octet-stream"),
        "media" => {
            let image = text("mediaType").starts_with("image/");
            let kind = if image { "image-data" } else { "file-data" };
            let fields = [("type", kind), ("data", text("data")), ("mediaType", text("mediaType"))];
            return Cow::Owned(Object::from(fields).into());
        }
        _ => return Cow::Borrowed(item),
    };
    let Some(file) =
        file_content::parse_address(text("url")).and_then(|address| fetched.get(&address))
    else {
        return Cow::Borrowed(item);
    };
    let media_type = file.media_type.as_deref().unwrap_or(otherwise);
    let data = file_content::encode(&file.bytes);
    let mut object =
        Object::from([("type", kind), ("data", data.as_str()), ("mediaType", media_type)]);
    object.set_or_remove("providerOptions", item.get("providerOptions").cloned());
    Cow::Owned(object.into())
}

/// Returns the text of a field that was checked to be one.
fn text(value: Option<ModelValue<'_>>) -> Cow<'_, str> {
    value.and_then(text_of).unwrap_or_default()
}
