//! Reads the context log of a chat, for which no lane is needed.

use crate::{
    LinesCursor, LinesPage, LoggedLine, MessageId, MessagePlace, ReadError, SealedLog, SealedName,
    StoreFuture, View,
};

/// The logs with the messages that the model works with: the live log and the sealed ones before it.
pub trait ContextLog: Send + Sync {
    /// Returns the features of the log beyond holding messages.
    fn features(&self) -> LogFeatures {
        LogFeatures::ALL
    }

    /// Reads the active context; `None` before the first.
    fn view(&self) -> StoreFuture<'_, Option<View>, ReadError>;

    /// Whether there is an active context, which need not be readable.
    fn is_begun(&self) -> StoreFuture<'_, bool, ReadError> {
        Box::pin(async { Ok(self.view().await?.is_some()) })
    }

    /// Lists the sealed logs before the live one, the newest first.
    ///
    /// To read everything while other processes write, read the view first and this list after it: a log that is
    /// sealed in between is then in both, and none is missed.
    fn sealed(&self) -> StoreFuture<'_, Vec<SealedLog>, ReadError>;

    /// Lists up to `limit` sealed logs before `before` (or before the live log), the newest first. The cost depends
    /// on the listed logs alone.
    fn sealed_logs(
        &self,
        before: Option<SealedName>,
        limit: usize,
    ) -> StoreFuture<'_, Vec<SealedLog>, ReadError> {
        Box::pin(async move {
            let sealed = self.sealed().await?;
            let from = before.map_or(0, |before| {
                sealed.iter().position(|log| log.name == before).map_or(sealed.len(), |at| at + 1)
            });
            Ok(sealed.into_iter().skip(from).take(limit).collect())
        })
    }

    /// Describes one sealed log; `None` if there is none with this name, or its head cannot be read.
    fn sealed_log(&self, name: &SealedName) -> StoreFuture<'_, Option<SealedLog>, ReadError> {
        let name = name.clone();
        Box::pin(async move { Ok(self.sealed().await?.into_iter().find(|log| log.name == name)) })
    }

    /// Finds the newest log that has a message with this id. It searches the live log and then the sealed logs of all
    /// contexts, the newest first; with `before`, only the sealed logs before that one.
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
                let view = self.sealed_view_if_readable(&name).await?;
                if let Some(seq) = view.and_then(|view| view.line_of(&id)) {
                    return Ok(Some(MessagePlace { log: Some(name), seq }));
                }
            }
            Ok(None)
        })
    }

    /// Reads up to `limit` lines behind a cursor, or from the first line on, in the order of their numbers: through all
    /// sealed logs, the oldest first, to the end of the live one. The cost is that of the new lines, however old the chat
    /// is. So derived data catches up with its logs.
    ///
    /// Lines that are sealed between two pages keep their numbers: none is missed, and none comes twice. Every line comes
    /// as it was written, also one that a later line replaces. A page may end early if its lines are long. It also names
    /// the logs that were purged since the last page. A place that cannot be read is told with the lines around it.
    ///
    /// Without sealed logs, the lines are those of the view.
    fn lines_after(
        &self,
        cursor: Option<LinesCursor>,
        limit: usize,
    ) -> StoreFuture<'_, LinesPage, ReadError> {
        Box::pin(async move {
            let view = self.view().await?;
            Ok(page_of_view(view, cursor.unwrap_or(LinesCursor::START), limit))
        })
    }

    /// Reads a sealed log as the context that it was. A purged log is an error of its own.
    fn sealed_view(&self, name: &SealedName) -> StoreFuture<'_, View, ReadError>;

    /// Reads a sealed log; `None` if it was purged, or if nothing of it can be read.
    fn sealed_view_if_readable(
        &self,
        name: &SealedName,
    ) -> StoreFuture<'_, Option<View>, ReadError> {
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

/// Returns a page of the lines of a view.
fn page_of_view(view: Option<View>, cursor: LinesCursor, limit: usize) -> LinesPage {
    let new = view.iter().flat_map(|view| {
        let lines = view.lines.iter().filter(|line| line.seq > cursor.seq);
        lines.map(|line| LoggedLine {
            line: (**line).clone(),
            log: None,
            context: view.head.context.clone(),
            is_published: false,
        })
    });
    let mut lines: Vec<LoggedLine> = new.collect();
    let is_last = lines.len() <= limit;
    lines.truncate(limit);
    let seq = lines.last().map_or(cursor.seq, |last| last.line.seq);
    LinesPage {
        begins_anew: false,
        lines,
        purged: Vec::new(),
        problems: Vec::new(),
        cursor: LinesCursor { seq, ..cursor },
        is_last,
    }
}

/// The features of a context log beyond holding messages.
///
/// The log of a chat has all of them. A conversation is a file for other programs, and its lines have no place for
/// some of this data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFeatures {
    /// The log holds events between the messages, such as the list of outputs that are not shown any more.
    pub holds_events: bool,
    /// The log holds the metadata of a message unchanged: its run, its request, and whether it is a partial answer.
    pub holds_metadata: bool,
    /// A rotation makes the log shorter.
    pub shrinks: bool,
}

impl LogFeatures {
    /// The features of a log that has all of them.
    pub const ALL: Self = Self { holds_events: true, holds_metadata: true, shrinks: true };
}
