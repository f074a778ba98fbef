//! The messages of a view. They share their content with its lines, so that they cost next to nothing.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_store::View;

/// Returns the messages of a view in order.
pub(crate) fn view_messages(view: &View) -> Vec<Arc<UiMessage>> {
    view.messages().cloned().map(Arc::new).collect()
}
