//! The context log of a chat, as anyone may read it.

use crate::{MessageId, MessagePlace, ReadError, SealedLog, SealedName, Seq, StoreFuture, View};

/// What the model works in: the live log and the sealed ones behind it.
pub trait ContextLog: Send + Sync {
    /// Returns what the log can do beyond holding messages.
    fn features(&self) -> LogFeatures {
        LogFeatures::ALL
    }

    /// Reads the active context; `None` before the first.
    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError>;

    /// Lists the sealed logs that the active one goes back to, the newest first.
    ///
    /// To read everything while others write, read the view first and then this: a log that is sealed in
    /// between is then in both, and none is missed.
    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError>;

    /// Lists up to `limit` of them that are before `before` (or before the live log), the newest first. Costs
    /// what it lists, however many there are.
    fn sealed_logs(
        &self,
        before: Option<SealedName>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        Box::pin(async move {
            let sealed = self.sealed().await?.into_iter();
            let is_before = |log: &SealedLog| {
                before.as_ref().is_none_or(|before| log.name.range() < before.range())
            };
            Ok(sealed.filter(is_before).take(limit).collect())
        })
    }

    /// Returns the sealed log that has a line, as the names tell: no log is opened.
    fn sealed_with(&self, seq: Seq) -> StoreFuture<'_, Option<SealedName>, ReadError> {
        Box::pin(async move {
            let names = self.sealed().await?.into_iter().map(|log| log.name);
            Ok(names.into_iter().find(|name| name.has(seq)))
        })
    }

    /// Finds the newest log that has a message of this id: the live one, then the sealed ones of all contexts,
    /// the newest first; only sealed ones before `before` if that is given. Costs what is read until then.
    fn find(
        &self,
        id: &MessageId,
        before: Option<SealedName>,
    ) -> StoreFuture<'_, Option<MessagePlace>, ReadError> {
        let id = id.clone();
        Box::pin(async move {
            if before.is_none()
                && let Some(seq) = self.view().await?.and_then(|view| view.line_of(&id))
            {
                return Ok(Some(MessagePlace { log: None, seq }));
            }
            for SealedLog { name, .. } in self.sealed_logs(before, usize::MAX).await? {
                let view = self.sealed_view_if_left(&name).await?;
                if let Some(seq) = view.and_then(|view| view.line_of(&id)) {
                    return Ok(Some(MessagePlace { log: Some(name), seq }));
                }
            }
            Ok(None)
        })
    }

    /// Reads a sealed log as the context it was. One that was purged is an error that says so.
    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError>;

    /// Reads a sealed log; `None` if it was purged or nothing can be read of it, and only what is left matters.
    fn sealed_view_if_left(&self, name: &SealedName) -> StoreFuture<'_, Option<View>, ReadError> {
        let name = name.clone();
        Box::pin(async move {
            match self.sealed_view(&name).await {
                Ok(view) => Ok(Some(view)),
                Err(ReadError::NoSealedLog { .. } | ReadError::Purged { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}

/// What a context log can do beyond holding messages.
///
/// The log of a chat can do all of it. A conversation is a file for other programs, whose lines leave some of it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFeatures {
    /// It holds events between the messages, such as which outputs are not shown any more.
    pub holds_events: bool,
    /// It holds the metadata of a message as it was given: the run and the request that it belongs to, and whether
    /// it is only a part of an answer.
    pub holds_metadata: bool,
    /// A rotation makes it shorter.
    pub shrinks: bool,
}

impl LogFeatures {
    /// All that a log can do.
    pub const ALL: Self = Self { holds_events: true, holds_metadata: true, shrinks: true };
}
