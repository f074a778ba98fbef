//! Marks the places of the history where one context ends and another one begins.

use ship_agent::{ContextList, HistoryMessage, HistoryReader};
use ship_store::{ContextId, Metadata};

use crate::output::{escape_unprintable, time_ago};
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The contexts of a history, and the one that the message before was in.
pub(super) struct ContextMarks<'a> {
    session: &'a Session,
    /// `None` if all messages are in the active context, or marks are not wanted.
    contexts: Option<ContextList>,
    last: Option<ContextId>,
}

impl<'a> ContextMarks<'a> {
    /// Looks up the titles of the contexts, if the messages are in several.
    pub(super) async fn new(session: &'a Session, history: &HistoryReader) -> Self {
        let active = history.active_context();
        let mut shown = (0..history.len()).filter_map(|nth| history.context_of(nth));
        let is_mixed = shown.any(|context| Some(context) != active);
        // Without titles, the history is as useful as can be.
        let contexts = match session.agent().await {
            Ok(agent) if is_mixed && !session.json => agent.contexts(&session.chat).await.ok(),
            _ => None,
        };
        Self { session, contexts: contexts.flatten(), last: active.cloned() }
    }

    /// Returns the line above a message, if the message before it is in another context. A failure that was asked again
    /// is no place of its own: the context goes on with the next answer.
    pub(super) fn enter(&mut self, message: &HistoryMessage) -> Option<String> {
        let context = message.context.as_ref()?;
        let contexts = self.contexts.as_ref()?;
        let item = contexts.index.items().iter().find(|item| item.context == *context);
        let is_listed = item.is_some() || contexts.active.context() == context;
        let is_retried = !is_listed && Metadata::of(&message.message).error().is_some();
        if self.last.as_ref() == Some(context) || is_retried {
            return None;
        }
        self.last = Some(context.clone());
        let place = match item {
            Some(item) => {
                let left = time_ago(self.session.now(), item.archived_at);
                format!("in “{}”, left {left}", escape_unprintable(&item.title))
            }
            None if contexts.active.context() == context => {
                format!("in “{}”, the active context", escape_unprintable(contexts.active.title()))
            }
            None => "in a context that is gone".to_owned(),
        };
        let mark = table::wrap_text(&format!("— {place} —"), 2);
        Some(format!("{}\n", Style::of_stdout().dim(&mark)))
    }
}
