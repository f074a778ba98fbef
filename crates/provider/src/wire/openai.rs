//! Writes chat completions, which OpenAI defined and many hosts offer.
//!
//! Reasoning is one text beside the answer, the input of a call is JSON in a string, and a call that the provider
//! ran is an ordinary call without its result. The options in `providerOptions.openaiCompatible` override the
//! fields of their message or part.

use ship_message::json::{Json, Object, ObjectWriter};

use super::error::WireError;
use super::file_content::FileContent;
use super::json_text::{as_string, is_true, write_string};
use super::prompt_message::{
    AssistantPart, Message, Output, PromptToolPart, ToolCall, UserBody, UserPart,
};
use super::provider_options::ProviderOptions;
use super::{Parameters, description};
use crate::ToolSpec;

const DENIED: &str = "Tool call execution denied.";

pub(super) fn write_body(
    prompt: &[Message<'_>],
    tools: &[ToolSpec],
    parameters: &Parameters<'_>,
) -> Result<String, WireError> {
    let mut out = String::new();
    let mut body = ObjectWriter::open(&mut out);
    body.str("model", parameters.model);
    if let Some(max) = parameters.max_tokens {
        body.json(parameters.max_tokens_field.name(), &max.into());
    }
    if let Some(temperature) = parameters.temperature {
        body.json("temperature", &temperature.into());
    }
    write_messages(prompt, body.key("messages"))?;
    if !tools.is_empty() {
        body.list("tools", tools, write_tool);
        body.str("tool_choice", "auto");
    }
    if parameters.stream {
        body.json("stream", &true.into());
    }
    if parameters.stream && parameters.stream_usage {
        // Without this option, a stream does not tell how many tokens it took.
        body.object("stream_options").json("include_usage", &true.into());
    }
    drop(body);
    Ok(out)
}

fn write_tool(tool: &ToolSpec, out: &mut String) {
    let mut object = ObjectWriter::open(out);
    object.str("type", "function");
    let mut function = object.object("function");
    function.str("name", &tool.name);
    if let Some(description) = description(tool) {
        function.str("description", description);
    }
    function.json("parameters", &tool.input_schema);
}

fn write_messages(prompt: &[Message<'_>], out: &mut String) -> Result<(), WireError> {
    out.push('[');
    let start = out.len();
    for message in prompt {
        // A tool message becomes one message for each of its results, and may have none.
        let separator = if out.len() > start { "," } else { "" };
        match message {
            Message::System { text, options } => {
                out.push_str(separator);
                let laid_over = override_fields(options);
                write_overridden(laid_over, out, |message| {
                    message.str("role", "system");
                    message.str("content", text);
                });
            }
            Message::User { parts, options } => {
                out.push_str(separator);
                write_user(parts, options, out)?;
            }
            Message::Assistant { parts, options } => {
                out.push_str(separator);
                write_assistant(parts, options, out);
            }
            Message::Tool { parts, .. } => {
                for part in parts {
                    if out.len() > start && matches!(part, PromptToolPart::Result(_)) {
                        out.push(',');
                    }
                    write_result(part, out);
                }
            }
        }
    }
    out.push(']');
    Ok(())
}

fn override_fields<'o>(options: &'o ProviderOptions<'_>) -> Option<&'o Object> {
    options.of("openaiCompatible").filter(|fields| !fields.is_empty())
}

/// Writes an object, and overrides its fields. Options are rare, so the object is written first, and parsed again
/// only if there are any.
fn write_overridden(
    fields: Option<&Object>,
    out: &mut String,
    write: impl FnOnce(&mut ObjectWriter<'_>),
) {
    let start = out.len();
    write(&mut ObjectWriter::open(out));
    if let Some(fields) = fields {
        override_object(fields, start, out);
    }
}

fn override_object(fields: &Object, start: usize, out: &mut String) {
    if let Ok(Json::Object(mut object)) = Json::parse(&out[start..]) {
        for (key, value) in fields.iter() {
            object.set(key.to_owned(), value.clone());
        }
        out.truncate(start);
        Json::Object(object).write_to(out);
    }
}

fn write_user(
    parts: &[UserPart<'_>],
    options: &ProviderOptions<'_>,
    out: &mut String,
) -> Result<(), WireError> {
    // The SDK writes a single text as a string, with the options of its part.
    if let [UserPart { body: UserBody::Text(text), options }] = parts {
        write_overridden(override_fields(options), out, |message| {
            message.str("role", "user");
            message.str("content", text);
        });
        return Ok(());
    }
    let start = out.len();
    let mut message = ObjectWriter::open(out);
    message.str("role", "user");
    let content = message.key("content");
    content.push('[');
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            content.push(',');
        }
        write_user_part(part, content)?;
    }
    content.push(']');
    drop(message);
    if let Some(fields) = override_fields(options) {
        override_object(fields, start, out);
    }
    Ok(())
}

fn write_user_part(part: &UserPart<'_>, out: &mut String) -> Result<(), WireError> {
    let fields = override_fields(&part.options);
    let (data, media_type, filename) = match &part.body {
        UserBody::Text(text) => {
            write_overridden(fields, out, |part| write_text(part, text));
            return Ok(());
        }
        UserBody::File { data, media_type, filename } => (data, media_type.as_ref(), filename),
    };
    let unsupported = |what: String| Err(WireError::Unsupported(what));
    let is_url = matches!(data, FileContent::Url(_));
    if media_type.starts_with("image/") {
        // The SDK takes an image of unknown type for a JPEG.
        let media_type = if media_type == "image/*" { "image/jpeg" } else { media_type };
        write_overridden(fields, out, |part| {
            part.str("type", "image_url");
            let mut image = part.object("image_url");
            write_url(data, media_type, image.key("url"));
        });
    } else if media_type.starts_with("audio/") {
        let format = match media_type {
            _ if is_url => return unsupported("audio file parts with URLs".to_owned()),
            "audio/wav" => "wav",
            "audio/mp3" | "audio/mpeg" => "mp3",
            _ => return unsupported(format!("audio media type {media_type}")),
        };
        write_overridden(fields, out, |part| {
            part.str("type", "input_audio");
            let mut audio = part.object("input_audio");
            audio.str("data", &data.base64());
            audio.str("format", format);
        });
    } else if media_type == "application/pdf" {
        if is_url {
            return unsupported("PDF file parts with URLs".to_owned());
        }
        write_overridden(fields, out, |part| {
            part.str("type", "file");
            let mut file = part.object("file");
            file.str("filename", filename.as_deref().unwrap_or("document.pdf"));
            write_url(data, media_type, file.key("file_data"));
        });
    } else if media_type.starts_with("text/") {
        let text = data.text()?;
        write_overridden(fields, out, |part| write_text(part, &text));
    } else {
        return unsupported(format!("file part media type {media_type}"));
    }
    Ok(())
}

fn write_text(part: &mut ObjectWriter<'_>, text: &str) {
    part.str("type", "text");
    part.str("text", text);
}

/// Writes an address, or data as a data URL.
fn write_url(data: &FileContent<'_>, media_type: &str, out: &mut String) {
    match data {
        FileContent::Url(address) => write_string(address, out),
        FileContent::Base64(_) | FileContent::Bytes(_) => {
            write_string(&format!("data:{media_type};base64,{}", data.base64()), out);
        }
    }
}

fn write_assistant(parts: &[AssistantPart<'_>], options: &ProviderOptions<'_>, out: &mut String) {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut calls = Vec::new();
    for part in parts {
        match part {
            AssistantPart::Text { text: more, .. } => text.push_str(more),
            AssistantPart::Reasoning { text: more, .. } => reasoning.push_str(more),
            AssistantPart::Call(call) => calls.push(call),
            AssistantPart::File { .. } | AssistantPart::Result(_) => {}
        }
    }
    write_overridden(override_fields(options), out, |message| {
        message.str("role", "assistant");
        // The SDK writes null for the text of a message that only has calls.
        if text.is_empty() && !calls.is_empty() {
            message.json("content", &Json::Null);
        } else {
            message.str("content", &text);
        }
        if !reasoning.is_empty() {
            message.str("reasoning_content", &reasoning);
        }
        if !calls.is_empty() {
            message.list("tool_calls", calls, write_call);
        }
    });
}

fn write_call(call: &ToolCall<'_>, out: &mut String) {
    // Gemini wants its signature back, in a field of its own.
    let signature =
        call.options.get("google", "thoughtSignature").filter(|signature| is_true(signature));
    let mut fields = override_fields(&call.options).cloned().unwrap_or_default();
    if let Some(signature) = signature {
        let google = Object::from([("thought_signature", as_string(signature))]);
        fields.set("extra_content", Object::from([("google", google)]));
    }
    let fields = Some(&fields).filter(|fields| !fields.is_empty());
    write_overridden(fields, out, |object| {
        object.str("id", &call.id);
        object.str("type", "function");
        let mut function = object.object("function");
        function.str("name", &call.name);
        if let Some(input) = &call.input {
            function.stringified("arguments", input);
        }
    });
}

fn write_result(part: &PromptToolPart<'_>, out: &mut String) {
    let PromptToolPart::Result(result) = part else { return };
    write_overridden(override_fields(&result.options), out, |message| {
        message.str("role", "tool");
        message.str("tool_call_id", &result.id);
        match &result.output {
            Output::Text(text) | Output::ErrorText(text) => message.str("content", text),
            Output::Denied(reason) => {
                message.str("content", reason.as_deref().unwrap_or(DENIED));
            }
            Output::Json(value) | Output::ErrorJson(value) => {
                message.stringified("content", value);
            }
            Output::Content(items) => {
                let items: Vec<Json> = items.iter().map(|item| item.as_ref().clone()).collect();
                message.stringified("content", &items.into());
            }
        }
    });
}
