//! Finds the earlier imports of a chat in the heads of its logs.

use std::collections::{HashMap, HashSet};

use ship_message::UiMessage;
use ship_store::carry::ImportedFrom;
use ship_store::{Chat, ContextId, Head, ReadError, SealedLog, View};

/// The number of sealed logs that are read at once.
const PAGE: usize = 64;

/// An earlier import of a conversation.
#[derive(Clone, Debug)]
pub(super) struct KnownImport {
    pub(super) context: ContextId,
    pub(super) from: ImportedFrom,
    /// Whether the context has a later log, in which something may have been said here.
    pub(super) is_continued: bool,
}

/// The newest import of each conversation.
#[derive(Debug, Default)]
pub(super) struct KnownImports {
    by_key: HashMap<String, KnownImport>,
    /// The contexts with a log that no import has written.
    continued: HashSet<ContextId>,
}

impl KnownImports {
    /// Reads the heads of all logs of a chat.
    pub(super) async fn find(chat: &dyn Chat, view: &View) -> Result<Self, ReadError> {
        let mut known = Self::default();
        if !is_untouched(view) {
            known.continued.insert(view.head.context.clone());
        }
        let mut before = None;
        loop {
            let page = chat.log().sealed_logs(before.clone(), PAGE).await?;
            let whole = page.iter().filter(|log| log.purged.is_none());
            whole.for_each(|log: &SealedLog| known.add(&log.head));
            if page.len() < PAGE {
                return Ok(known);
            }
            before = page.last().map(|log| log.name.clone());
        }
    }

    /// Adds the head of a log. The newest log comes first.
    fn add(&mut self, head: &Head) {
        let context = head.context.clone();
        let Some(from) = head.import() else {
            self.continued.insert(context);
            return;
        };
        let is_continued = self.continued.contains(&context);
        let import = KnownImport { context, is_continued, from };
        self.by_key.entry(import.from.key.clone()).or_insert(import);
    }

    /// Returns the newest import of a conversation.
    pub(super) fn of(&self, key: &str) -> Option<&KnownImport> {
        self.by_key.get(key)
    }
}

/// Whether an import has published the live context, and nothing was said in it since.
pub(super) fn is_untouched(view: &View) -> bool {
    let end = view.head.carry.imported_from().and_then(|from| from.live_end);
    end.is_some() && end.as_deref() == view.messages().next_back().and_then(UiMessage::id)
}
