//! The messages of a view. They share their content with its lines, so that they cost next to nothing.

use ship_message::UiMessage;
use ship_store::View;

/// Returns the messages of a view in order.
pub(crate) fn view_messages(view: &View) -> Vec<UiMessage> {
    view.messages().cloned().collect()
}
