//! Finds what a message told the person, and how the run that wrote it ended.

use ship_context::texts_for_user;
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_project::Settings;

use crate::markdown::Markdown;
use crate::output;

/// Returns the texts that a message told the person, under these settings.
pub(crate) fn told(message: &UiMessage, settings: &Settings) -> Vec<String> {
    texts_for_user(message, settings.context.chat_egress.chat_send_idempotency)
}

/// Renders a text for the terminal, where nothing in it may move the cursor.
pub(crate) fn shown(text: &str) -> String {
    Markdown::of_stdout().whole(&output::visible(text))
}

/// The end of the run that wrote a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End<'a> {
    /// The run ended normally.
    Whole,
    /// The person stopped the run.
    Stopped,
    /// The run failed, with this sentence.
    Failed(&'a str),
}

impl<'a> End<'a> {
    pub(crate) fn of(message: &'a UiMessage) -> Self {
        let mark = |key| message.metadata().and_then(|metadata| metadata.get(key));
        if let Some(sentence) = mark("error").and_then(Json::as_str) {
            return Self::Failed(sentence);
        }
        match mark("interrupted").and_then(Json::as_bool) {
            Some(true) => Self::Stopped,
            _ => Self::Whole,
        }
    }

    /// Returns the words about the end that the message itself carries after its text.
    pub(crate) fn words(self) -> Option<&'a str> {
        match self {
            Self::Whole => None,
            Self::Stopped => Some(ship_agent::STOPPED),
            Self::Failed(sentence) => Some(sentence),
        }
    }
}
