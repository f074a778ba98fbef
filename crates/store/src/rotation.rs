//! What a rotation is asked for and what it has done.

use ship_record::{ChatKey, Gen, Head, NewLine, Position, SealedName, Seq, StorageProblem};

/// Everything else that happens to a context: the live log is sealed whole and replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// The generation that the caller has read; `None` to begin a chat's first context.
    pub expected: Option<Gen>,
    /// What the new log begins with.
    pub head: Head,
    /// What it then holds, in this order.
    pub pieces: Vec<LogPiece>,
}

/// A part of the log that a rotation publishes.
///
/// A message that is in several of them is once in the new log: where the first of them has it, in its newest
/// revision. Something new counts as it is, and is refused where its id was there before.
#[derive(Debug, Clone, PartialEq)]
pub enum LogPiece {
    /// Lines of the old log, first and last included. A message is at the place of its first line and
    /// is kept in its newest revision.
    Keep(Seq, Seq),
    /// All lines of the old log from this one on, what is appended meanwhile included.
    KeepFrom(Seq),
    /// Lines of a sealed log of this chat, as `Keep` takes them. Nothing else is read, and blobs are shared.
    /// A copied message tells where in the ledger it came from, and never moves the inbox cursor.
    Sealed {
        /// The sealed log.
        log: SealedName,
        /// The first line.
        first: Seq,
        /// The last line.
        last: Seq,
    },
    /// Lines of another chat, as `Keep` takes them, whoever holds its lane. Blobs are shared. What is copied is
    /// from no entry of this chat's ledger.
    Of {
        /// The other chat.
        chat: ChatKey,
        /// Its sealed log; `None` for its live one.
        log: Option<SealedName>,
        /// The first line.
        first: Seq,
        /// The last line.
        last: Seq,
    },
    /// Something new.
    New(NewLine),
}

/// What a rotation has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// Where the new log ends.
    pub position: Position,
    /// The name under which the old log is sealed; `None` if there was none.
    pub sealed: Option<SealedName>,
    /// What cannot be read of the logs that lines were copied from, apart from the live one.
    pub damage: Vec<StorageProblem>,
}
