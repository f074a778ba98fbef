//! The request compiler: turns a history into a body that no provider refuses.
//!
//! A history may hold anything: interrupted runs, calls without results, forks, summaries, parts of another
//! provider, files that no provider takes. [`compile`] is one pure function over all of it. The log is never
//! changed; content that cannot be sent is mended or replaced by a note in the copy that is sent:
//!
//! 1. messages and parts that cannot be read become notes ([`unreadable_notes`]), and the rest is converted as the AI
//!    SDK converts it;
//! 2. every call gets exactly one result, directly after it, under an id and a name that all providers take, with
//!    an object for its input ([`exchanges`]);
//! 3. empty parts are removed, reasoning stays only where its own model reads it again ([`parts`]), and files
//!    stay only where they are taken ([`files`]);
//! 4. the person speaks first and last, and no side speaks twice in a row ([`alternation`]);
//! 5. for OpenAI's format, texts side by side become one, because many hosts take a list only for files.
//!
//! A host may want more: no tools, so that calls and results are told as text ([`told_calls`]), or other ids.
//!
//! Wherever possible, a rule depends only on the messages before it and never on those after it. So each
//! request begins with the bytes of the one before it, and the provider's cache is hit. Each exception is
//! explained where it occurs.

mod alternation;
mod exchanges;
mod files;
mod names;
mod parts;
mod told_calls;
mod unreadable_notes;

use std::collections::HashSet;

use ship_message::json::{Array, Json};
use ship_message::{
    ConvertOptions, ModelContent, ModelMessage, ModelRole, UiMessage, convert_to_model_messages,
};

pub use names::ToolNames;

use crate::wire::{self, Files, Format, Parameters, WireError};
use crate::{HostForm, HostForms, Request, ToolSpec};

/// Says what happens to images and other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFiles {
    /// Files are sent if the provider takes them.
    Yes,
    /// Each file is replaced by a note, because the model has refused them.
    No,
}

/// The receiver of a request.
#[derive(Clone, Copy, Debug)]
pub struct CompileTarget<'a> {
    /// The format of the body.
    pub format: Format,
    /// The name of the provider, as reasoning parts name their author.
    pub provider: &'a str,
    /// Whether files are sent.
    pub files: SendFiles,
    /// The forms that the host wants.
    pub forms: HostForms,
    /// The model and the parameters of its answer.
    pub parameters: Parameters<'a>,
}

/// Writes the body of a request.
///
/// # Errors
/// Never fails for the result of the earlier stages; the last stage has errors because the AI SDK's has.
pub fn compile(request: &Request<'_>, target: &CompileTarget<'_>) -> Result<String, WireError> {
    let names = ToolNames::of(request.tools);
    let view = unreadable_notes::replace_unreadable(request.view);
    let mut messages = system_messages(request.system, target.format);
    messages.extend(sendable_messages(&view, target, &names));
    let mut seen = HashSet::new();
    let offered = match target.forms.has(HostForm::NoTools) {
        true => &[],
        false => request.tools,
    };
    let tools: Vec<ToolSpec> = offered
        .iter()
        .map(|tool| names.sendable_tool(tool))
        .filter(|tool| seen.insert(tool.name.clone()))
        .take(TOOLS_MAX)
        .collect();
    let files = Files::left_to_provider();
    match target.format {
        Format::OpenAi => wire::openai(&messages, &tools, &target.parameters, &files),
        Format::Anthropic => {
            // The features that it asks for in headers have long been generally available.
            wire::anthropic(&messages, &tools, &target.parameters, &files).map(|sent| sent.body)
        }
    }
}

/// The number of tools that OpenAI takes at most.
const TOOLS_MAX: usize = 128;

/// Returns the messages in a form that every provider takes, without the system blocks.
fn sendable_messages<'a>(
    view: &'a [UiMessage],
    target: &CompileTarget<'_>,
    names: &ToolNames,
) -> Vec<ModelMessage<'a>> {
    let converted = convert_view(view);
    let mut exchanges = exchanges::group_exchanges(converted, target, names);
    if target.forms.has(HostForm::NoTools) {
        exchanges = told_calls::tell_calls(exchanges);
    }
    let mut messages = alternation::alternate(exchanges, target.forms);
    files::replace_files(&mut messages, target);
    if target.format == Format::OpenAi {
        messages.iter_mut().for_each(parts::join_texts);
    }
    messages
}

/// Converts messages as the AI SDK does. A message that it could not convert was made readable before.
pub(crate) fn convert_view(view: &[UiMessage]) -> Vec<ModelMessage<'_>> {
    let one = |message| {
        let one = std::slice::from_ref(message);
        convert_to_model_messages(one, &ConvertOptions::default()).unwrap_or_default()
    };
    view.iter().flat_map(one).collect()
}

/// Makes one message for each block where the format has blocks; otherwise one text, because many hosts take
/// only one system message.
fn system_messages<'a>(blocks: &[String], format: Format) -> Vec<ModelMessage<'a>> {
    let has_text = |text: &String| !parts::is_blank(text);
    let blocks: Vec<&str> =
        blocks.iter().filter(|text| has_text(text)).map(String::as_str).collect();
    let message =
        |text: &str| ModelMessage::new(ModelRole::System, ModelContent::Text(text.into()));
    match format {
        Format::OpenAi if blocks.is_empty() => Vec::new(),
        Format::OpenAi => vec![message(&blocks.join("\n\n"))],
        Format::Anthropic => blocks.into_iter().map(message).collect(),
    }
}

impl Request<'_> {
    /// Returns the request without a provider's format, for a model that needs none.
    pub fn plain_body(&self) -> String {
        let mut out = String::from("{\"system\":");
        let system: Array = self.system.iter().map(|text| Json::from(text.as_str())).collect();
        Json::from(system).write_to(&mut out);
        out.push_str(",\"messages\":[");
        for (i, message) in convert_view(self.view).iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            message.write_to(&mut out);
        }
        out.push_str("],\"tools\":");
        let tools: Array = self.tools.iter().map(ToolSpec::to_json).collect();
        Json::from(tools).write_to(&mut out);
        out.push_str(",\"maxTokens\":");
        Json::from(self.max_tokens).write_to(&mut out);
        out.push('}');
        out
    }
}
