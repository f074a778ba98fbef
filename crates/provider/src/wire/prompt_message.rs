//! The messages of a prompt, between the SDK's form and a provider's.

use std::borrow::Cow;

use ship_message::json::Json;

use super::file_content::FileContent;
use super::provider_options::ProviderOptions;

/// A message of the prompt.
#[derive(Debug)]
pub(super) enum Message<'m> {
    System { text: &'m str, options: ProviderOptions<'m> },
    User { parts: Vec<UserPart<'m>>, options: ProviderOptions<'m> },
    Assistant { parts: Vec<AssistantPart<'m>>, options: ProviderOptions<'m> },
    Tool { parts: Vec<PromptToolPart<'m>>, options: ProviderOptions<'m> },
}

#[derive(Debug)]
pub(super) struct UserPart<'m> {
    pub(super) body: UserBody<'m>,
    pub(super) options: ProviderOptions<'m>,
}

#[derive(Debug)]
pub(super) enum UserBody<'m> {
    Text(Cow<'m, str>),
    File { data: FileContent<'m>, media_type: Cow<'m, str>, filename: Option<Cow<'m, str>> },
}

#[derive(Debug)]
pub(super) enum AssistantPart<'m> {
    Text {
        text: Cow<'m, str>,
        options: ProviderOptions<'m>,
    },
    Reasoning {
        text: Cow<'m, str>,
        options: ProviderOptions<'m>,
    },
    /// A file that the model made. No provider takes one back.
    File {
        options: ProviderOptions<'m>,
    },
    Call(ToolCall<'m>),
    Result(PromptToolResult<'m>),
}

#[derive(Debug)]
pub(super) struct ToolCall<'m> {
    pub(super) id: Cow<'m, str>,
    pub(super) name: Cow<'m, str>,
    pub(super) input: Option<Cow<'m, Json>>,
    pub(super) by_provider: bool,
    pub(super) options: ProviderOptions<'m>,
}

#[derive(Debug)]
pub(super) enum PromptToolPart<'m> {
    Result(PromptToolResult<'m>),
    /// The answer to the approval request of a call that the provider runs.
    Answer,
}

#[derive(Debug)]
pub(super) struct PromptToolResult<'m> {
    pub(super) id: Cow<'m, str>,
    pub(super) name: Cow<'m, str>,
    pub(super) output: Output<'m>,
    pub(super) output_options: Option<&'m Json>,
    pub(super) options: ProviderOptions<'m>,
}

#[derive(Debug)]
pub(super) enum Output<'m> {
    Text(Cow<'m, str>),
    ErrorText(Cow<'m, str>),
    Json(Cow<'m, Json>),
    ErrorJson(Cow<'m, Json>),
    Denied(Option<Cow<'m, str>>),
    Content(Vec<Cow<'m, Json>>),
}
