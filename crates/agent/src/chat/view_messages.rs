//! The messages of a view. They share their content with its lines, so that they cost next to nothing.

use std::sync::Arc;

use ship_context::contexts::place_references;
use ship_message::UiMessage;
use ship_store::View;

/// Returns the messages of a view in order.
pub(crate) fn view_messages(view: &View) -> Vec<Arc<UiMessage>> {
    view.messages().cloned().map(Arc::new).collect()
}

/// Returns the messages as they are shown: each reference before the message that it was fetched for.
pub(crate) fn place_messages(messages: Vec<Arc<UiMessage>>) -> Arc<[Arc<UiMessage>]> {
    match messages.iter().any(|message| ship_context::contexts::is_reference(message)) {
        true => place_references(messages).into(),
        false => messages.into(),
    }
}
