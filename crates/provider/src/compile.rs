//! The request compiler: from what was said to a body that no provider refuses.
//!
//! A history may hold anything: runs that were cut off, calls without results, forks, summaries, parts of
//! another provider's making, files that nobody takes. [`compile`] is one pure function over all of it. The
//! log is never changed; what cannot be sent is mended or replaced by a note in the copy that is sent:
//!
//! 1. messages and parts that cannot be read become notes ([`readable`]), and the rest is converted as the
//!    AI SDK converts it;
//! 2. every call gets exactly one result, directly behind it, under an id and a name that all providers
//!    take, with an object for its input ([`calls`]);
//! 3. empty parts go, reasoning stays only where its own model reads it again ([`parts`]), files stay only
//!    where they are taken ([`files`]);
//! 4. the person speaks first and last, and nobody speaks twice in a row ([`turns`]).
//!
//! Every rule looks only at what came before, never at what comes after, wherever that is possible: so each
//! request begins with the bytes of the one before it, and a provider's cache is hit. What breaks this is
//! said where it happens.

mod calls;
mod files;
mod names;
mod parts;
mod readable;
mod turns;

use std::collections::HashSet;

use ship_message::{
    ConvertOptions, ModelContent, ModelMessage, ModelRole, UiMessage, convert_to_model_messages,
};

pub use names::ToolNames;

use crate::wire::{self, Files, Format, Parameters, WireError};
use crate::{Request, ToolSpec};

/// What becomes of images and other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFiles {
    /// They are sent as far as the provider takes them.
    Yes,
    /// Each is replaced by a note: the model has refused them.
    No,
}

/// Whom a request is for.
#[derive(Clone, Copy, Debug)]
pub struct CompileTarget<'a> {
    /// How it is written.
    pub format: Format,
    /// The provider's name, as reasoning parts name who made them.
    pub provider: &'a str,
    /// What becomes of files.
    pub files: SendFiles,
    /// The model, and how it is to answer.
    pub parameters: Parameters<'a>,
}

/// Writes the body of a request.
///
/// # Errors
/// Never for what the stages before give; the last one has errors because the AI SDK's has.
pub fn compile(request: &Request<'_>, target: &CompileTarget<'_>) -> Result<String, WireError> {
    let names = ToolNames::of(request.tools);
    let view = readable::readable(request.view);
    let mut messages = system(request.system, target.format);
    messages.extend(sendable(&view, target, &names));
    let mut seen = HashSet::new();
    let tools: Vec<ToolSpec> = request
        .tools
        .iter()
        .map(|tool| names.sendable(tool))
        .filter(|tool| seen.insert(tool.name.clone()))
        .take(TOOLS_MAX)
        .collect();
    let files = Files::left_to_provider();
    match target.format {
        Format::OpenAi => wire::openai(&messages, &tools, &target.parameters, &files),
        Format::Anthropic => {
            // What it asks for in headers has long been open to everybody.
            wire::anthropic(&messages, &tools, &target.parameters, &files).map(|sent| sent.body)
        }
    }
}

/// OpenAI takes no more.
const TOOLS_MAX: usize = 128;

/// Gives the messages in a form that every provider takes, without the system blocks.
fn sendable<'a>(
    view: &'a [UiMessage],
    target: &CompileTarget<'_>,
    names: &ToolNames,
) -> Vec<ModelMessage<'a>> {
    let converted = converted(view);
    let exchanges = calls::exchanges(converted, target, names);
    let mut messages = turns::turns(exchanges);
    files::settle(&mut messages, target);
    messages
}

/// Converts as the AI SDK does; a message that it cannot convert was made readable before.
pub(crate) fn converted(view: &[UiMessage]) -> Vec<ModelMessage<'_>> {
    let one = |message| {
        let one = std::slice::from_ref(message);
        convert_to_model_messages(one, &ConvertOptions::default()).unwrap_or_default()
    };
    view.iter().flat_map(one).collect()
}

/// Each block by itself where the format has blocks; else one text, because many hosts take only one system
/// message.
fn system<'a>(blocks: &[String], format: Format) -> Vec<ModelMessage<'a>> {
    let said = |text: &String| !parts::is_blank(text);
    let blocks: Vec<&str> = blocks.iter().filter(|text| said(text)).map(String::as_str).collect();
    let message =
        |text: &str| ModelMessage::new(ModelRole::System, ModelContent::Text(text.into()));
    match format {
        Format::OpenAi if blocks.is_empty() => Vec::new(),
        Format::OpenAi => vec![message(&blocks.join("\n\n"))],
        Format::Anthropic => blocks.into_iter().map(message).collect(),
    }
}
