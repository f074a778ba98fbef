//! The input and the result of a rotation.

use ship_record::{ChatKey, Gen, Head, NewLine, Position, SealedName, Seq, StorageProblem};

/// A change of a context that is no append: the whole live log is sealed, and a new one takes its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Rotation {
    /// The generation that the caller has read; `None` to begin a chat's first context.
    pub expected: Option<Gen>,
    /// The head of the new log.
    pub head: Head,
    /// The pieces of the new log behind its head, in order.
    pub pieces: Vec<LogPiece>,
}

/// A part of the log that a rotation publishes.
///
/// A message in several pieces is in the new log once: at the place of the first piece, in its newest revision.
/// A new message is refused if its id was there before.
#[derive(Debug, Clone, PartialEq)]
pub enum LogPiece {
    /// The lines of the old log from the first to the last number, both included. A message counts at the place of
    /// its first line, and is kept in its newest revision.
    Keep(Seq, Seq),
    /// All lines of the old log from this one on, including those that are appended meanwhile.
    KeepFrom(Seq),
    /// Lines of a sealed log of this chat, chosen like those of `Keep`. No other log is read, and blobs are shared.
    /// A copied message keeps its place in the ledger, and never moves the inbox cursor.
    Sealed {
        /// The sealed log.
        log: SealedName,
        /// The first line.
        first: Seq,
        /// The last line.
        last: Seq,
    },
    /// Lines of another chat, chosen like those of `Keep`. They are copied even if another process holds that
    /// chat's lane. Blobs are shared, and the copies belong to no entry of this chat's ledger.
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
    /// A new message or event.
    New(NewLine),
}

/// The result of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotated {
    /// The end of the new log.
    pub position: Position,
    /// The name under which the old log is sealed; `None` if there was none.
    pub sealed: Option<SealedName>,
    /// The checksum of the old log's last line, as its view has it; 0 if there was no log.
    pub sealed_crc: u32,
    /// The unreadable places in the logs that lines were copied from, apart from the live log.
    pub damage: Vec<StorageProblem>,
}
