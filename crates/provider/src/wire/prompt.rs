//! Makes the prompt: the messages are checked and joined, and get the data of every file.
//!
//! Content that no provider wants is removed here: empty texts, approval requests, empty tool messages. A part that
//! a format may ignore is still there, because it counts as the last part of a message.

mod parts;

use std::collections::HashMap;

use ship_message::ModelMessage;

use self::parts::convert_message;
use super::Format;
use super::error::WireError;
use super::prompt_message::{AssistantPart, Message, PromptToolPart};
use super::provider_options::ProviderOptions;
use super::sdk_compat::files::{FetchedFiles, Files};
use super::sdk_compat::{approvals, check};

/// Makes the prompt from messages.
pub(super) fn prompt_of<'m>(
    messages: &'m [ModelMessage<'_>],
    format: Format,
    files: &'m Files,
) -> Result<Vec<Message<'m>>, WireError> {
    check::messages(messages)?;
    let denied = approvals::denied(messages)?;
    let fetched = FetchedFiles::new(messages, format, files)?;
    let mut prompt = Vec::with_capacity(messages.len() + 1);
    for message in messages {
        push(&mut prompt, convert_message(message, &fetched)?);
    }
    if !denied.is_empty() {
        let parts = denied.into_iter().map(PromptToolPart::Result).collect();
        push(&mut prompt, Message::Tool { parts, options: ProviderOptions::default() });
    }
    check_calls_have_results(&prompt)?;
    prompt.retain(|message| !matches!(message, Message::Tool { parts, .. } if parts.is_empty()));
    Ok(prompt)
}

/// Adds a message; consecutive tool messages become one.
fn push<'m>(prompt: &mut Vec<Message<'m>>, message: Message<'m>) {
    match (prompt.last_mut(), message) {
        (Some(Message::Tool { parts, options }), Message::Tool { parts: more, options: later }) => {
            // The options of the first message become those of its last part.
            if let Some(PromptToolPart::Result(last)) = parts.last_mut() {
                last.options = std::mem::take(&mut last.options).or(options);
            }
            parts.extend(more);
            *options = later;
        }
        (_, message) => prompt.push(message),
    }
}

/// Checks that no call is open before a user message, or at the end.
fn check_calls_have_results(prompt: &[Message<'_>]) -> Result<(), WireError> {
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut seen = 0;
    for message in prompt {
        match message {
            Message::Assistant { parts, .. } => {
                for part in parts {
                    if let AssistantPart::Call(call) = part
                        && !call.by_provider
                    {
                        seen += 1;
                        open.entry(&call.id).or_insert(seen);
                    }
                }
            }
            Message::Tool { parts, .. } => {
                for part in parts {
                    if let PromptToolPart::Result(result) = part {
                        open.remove(result.id.as_ref());
                    }
                }
            }
            Message::System { .. } | Message::User { .. } if !open.is_empty() => break,
            Message::System { .. } | Message::User { .. } => {}
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let mut open: Vec<_> = open.into_iter().collect();
    open.sort_by_key(|(_, seen)| *seen);
    Err(WireError::MissingToolResults(open.into_iter().map(|(id, _)| id.to_owned()).collect()))
}
