//! `validateUIMessages`: checks that messages fit the schema of the AI SDK.
//!
//! The rules are the SDK's schema: the required and optional fields of each part, their types, and the fields
//! that a state of a tool call forbids. A list is valid or not as a whole. The result has no field that the
//! schema does not know.

mod part;
mod tools;

pub(crate) use part::{is_provider_metadata, is_record};
pub use tools::{ToolCheck, ToolChecks};

use crate::json::Json;
use crate::ui::{Role, UiMessage};

/// Checks a message's metadata, which may be absent, and returns the value to keep.
pub type MetadataCheck<'a> = &'a dyn Fn(Option<&Json>) -> Result<Option<Json>, String>;

/// Checks the data of a data part by the part's name, and returns the value to keep; `None` means that there is no
/// schema of that name.
pub type DataCheck<'a> = &'a dyn Fn(&str, &Json) -> Option<Result<Json, String>>;

/// The checks that [`validate_ui_messages`] makes besides the schema.
#[derive(Clone, Copy, Default)]
pub struct ValidateOptions<'a> {
    /// Checks the metadata of every message.
    pub metadata: Option<MetadataCheck<'a>>,
    /// Checks the data of every data part; a part without a schema is an error.
    pub data: Option<DataCheck<'a>>,
    /// The existing tools. Finished calls of other tools become dynamic parts; unfinished ones are errors.
    pub tools: Option<&'a dyn ToolChecks>,
}

/// The reason why messages are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValidateError {
    /// There are no messages: the value is null or absent.
    #[error("messages parameter must be provided")]
    Missing,
    /// The value is not a list, or an empty one.
    #[error("messages must be a list of at least one message")]
    NotAList,
    /// A message breaks the schema.
    #[error("messages[{message}] is not valid: {reason}")]
    Message {
        /// The index of the message in the list.
        message: usize,
        /// The rule that it breaks.
        reason: &'static str,
    },
    /// A part breaks the schema.
    #[error("messages[{message}].parts[{part}] is not valid: {reason}")]
    Part {
        /// The index of the message in the list.
        message: usize,
        /// The index of the part in the message.
        part: usize,
        /// The rule that it breaks.
        reason: String,
    },
    /// The caller's own check of the metadata failed.
    #[error("messages[{message}].metadata is not valid: {reason}")]
    Metadata {
        /// The index of the message in the list.
        message: usize,
        /// The reason that the check gave.
        reason: String,
    },
}

/// Checks a JSON value that should be a list of messages, and returns the messages.
///
/// # Errors
/// Fails if any message breaks any rule; the error names the first.
///
/// ```
/// use ship_message::{ValidateOptions, json::Json, validate_ui_messages};
///
/// let messages = Json::parse(r#"[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]"#)?;
/// let messages = validate_ui_messages(messages, &ValidateOptions::default())?;
/// assert_eq!(messages[0].text(), "hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate_ui_messages(
    messages: Json,
    options: &ValidateOptions<'_>,
) -> Result<Vec<UiMessage>, ValidateError> {
    if messages.is_null() {
        return Err(ValidateError::Missing);
    }
    let Json::Array(list) = messages else { return Err(ValidateError::NotAList) };
    let list = list.into_vec();
    let read = |(message, json)| {
        UiMessage::from_json(json)
            .map_err(|_| ValidateError::Message { message, reason: "it must be an object" })
    };
    let messages = list.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    validate_messages(messages, options)
}

/// Does the same as [`validate_ui_messages`] for messages that were already read.
///
/// # Errors
/// Fails if any message breaks any rule; the error names the first.
pub fn validate_messages(
    mut messages: Vec<UiMessage>,
    options: &ValidateOptions<'_>,
) -> Result<Vec<UiMessage>, ValidateError> {
    if messages.is_empty() {
        return Err(ValidateError::NotAList);
    }
    for (at, message) in messages.iter_mut().enumerate() {
        check_message(message).map_err(|reason| ValidateError::Message { message: at, reason })?;
        for (part_at, part) in message.parts_mut().iter_mut().enumerate() {
            part::check(part).map_err(|reason| ValidateError::Part {
                message: at,
                part: part_at,
                reason: reason.into_owned(),
            })?;
        }
    }
    check_with_schemas(&mut messages, options)?;
    Ok(messages)
}

fn check_message(message: &mut UiMessage) -> Result<(), &'static str> {
    let mut has_id = false;
    let mut known = true;
    for (key, value) in message.fields().iter() {
        match key {
            "id" => has_id = value.as_str().is_some(),
            "role" | "metadata" | "parts" => {}
            _ => known = false,
        }
    }
    if !has_id {
        return Err("its `id` must be a string");
    }
    let role = message.role();
    if role == Role::Unknown {
        return Err("its `role` must be system, user or assistant");
    }
    if !message.has_parts() {
        return Err("its `parts` must be a list");
    }
    // The SDK allows an assistant's message without parts.
    if role != Role::Assistant && message.parts().is_empty() {
        return Err("it must have at least one part");
    }
    if !known {
        message.retain_fields(|key| matches!(key, "id" | "role" | "metadata" | "parts"));
    }
    Ok(())
}

/// Makes the checks of the caller after every message has passed the schema.
fn check_with_schemas(
    messages: &mut [UiMessage],
    options: &ValidateOptions<'_>,
) -> Result<(), ValidateError> {
    if let Some(check) = options.metadata {
        for (at, message) in messages.iter_mut().enumerate() {
            let kept = check(message.field("metadata"))
                .map_err(|reason| ValidateError::Metadata { message: at, reason })?;
            message.set_metadata_or_remove(kept);
        }
    }
    if options.data.is_none() && options.tools.is_none() {
        return Ok(());
    }
    for (at, message) in messages.iter_mut().enumerate() {
        for (part_at, part) in message.parts_mut().iter_mut().enumerate() {
            tools::check_with_schemas(part, options).map_err(|reason| ValidateError::Part {
                message: at,
                part: part_at,
                reason,
            })?;
        }
    }
    Ok(())
}
