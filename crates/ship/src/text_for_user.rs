//! Finds what a message told the person, and renders it.

use ship_context::texts_for_user;
use ship_message::UiMessage;
use ship_project::Settings;

use crate::markdown::Markdown;
use crate::output;

/// Returns the texts that a message told the person, under these settings.
pub(crate) fn project_texts_for_user(message: &UiMessage, settings: &Settings) -> Vec<String> {
    texts_for_user(message, settings.context.chat_egress.chat_send_idempotency)
}

/// Renders a text for the terminal, where nothing in it may move the cursor.
pub(crate) fn render_text(text: &str) -> String {
    Markdown::of_stdout().render(&output::escape_unprintable(text))
}
