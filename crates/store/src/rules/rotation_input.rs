//! Prepares a rotation: makes its new lines, and takes the lines that it copies from other logs.

use std::collections::{HashMap, HashSet};

use super::blob_texts::TextBlob;
use super::content::prepare_line;
use super::log_head::CopiedRange;
use super::rotation::{PreparedPiece, PreparedRotation, check_range};
use super::view_building::newest_revisions;
use crate::line::RawLine;
use crate::{ChatKey, LogPiece, RefusedInput, Rotation, SealedName, Seq};

/// The name of a log that a rotation copies lines from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceName {
    /// The chat of the log.
    pub chat: ChatKey,
    /// The sealed log; `None` for the live log of another chat.
    pub log: Option<SealedName>,
}

/// A log that lines are copied from.
#[derive(Debug, Clone, Default)]
pub struct SourceLog {
    range: Option<(Seq, Seq)>,
    /// The lines after the head, each id once, in the order of their numbers.
    lines: Vec<RawLine>,
}

impl SourceLog {
    /// Takes the lines of a log after its head, and the range of the log's numbers; `None` if there is no such log.
    pub fn new(lines: impl Iterator<Item = RawLine>, range: Option<(Seq, Seq)>) -> Self {
        Self { range, lines: newest_revisions(lines) }
    }

    /// Returns the lines from the first to the last number. Refuses lines that the log does not have.
    pub fn lines_between(&self, first: Seq, last: Seq) -> Result<&[RawLine], RefusedInput> {
        check_range(self.range, first, last)?;
        let from = self.lines.partition_point(|line| line.seq < first.get());
        let to = self.lines.partition_point(|line| line.seq <= last.get());
        Ok(&self.lines[from..to])
    }
}

/// Returns the logs that a rotation of a chat copies lines from, each once.
pub fn source_logs(rotation: &Rotation, chat: &ChatKey) -> Vec<SourceName> {
    let name = |piece: &LogPiece| match own_piece(piece.clone(), chat) {
        LogPiece::Sealed { log, .. } => Some(SourceName { chat: chat.clone(), log: Some(log) }),
        LogPiece::Of { chat, log, .. } => Some(SourceName { chat, log }),
        LogPiece::Keep(..) | LogPiece::KeepFrom(_) | LogPiece::New(_) => None,
    };
    let mut seen = HashSet::new();
    let names = rotation.pieces.iter().filter_map(name);
    names.filter(|name| seen.insert(name.clone())).collect()
}

impl PreparedRotation {
    /// Prepares a rotation of a chat. `sources` has its [`source_logs`], and a new line has at most `bytes_max` bytes.
    /// Returns the texts that must be stored before the new log.
    pub fn prepare(
        rotation: Rotation,
        chat: &ChatKey,
        sources: &HashMap<SourceName, SourceLog>,
        bytes_max: usize,
    ) -> Result<(Self, Vec<TextBlob>), RefusedInput> {
        let copy = |name: SourceName, first, last| match sources.get(&name) {
            Some(source) => source.lines_between(first, last).map(<[RawLine]>::to_vec),
            None => Err(RefusedInput::NoLines { first, last }),
        };
        let (mut pieces, mut texts) = (Vec::with_capacity(rotation.pieces.len()), Vec::new());
        for piece in rotation.pieces {
            pieces.push(match own_piece(piece, chat) {
                LogPiece::Keep(first, last) => PreparedPiece::Keep(first, Some(last)),
                LogPiece::KeepFrom(first) => PreparedPiece::Keep(first, None),
                LogPiece::Sealed { log, first, last } => {
                    let name = SourceName { chat: chat.clone(), log: Some(log.clone()) };
                    let range = CopiedRange { log: Some(log), first, last };
                    PreparedPiece::Copied(Some(range), copy(name, first, last)?)
                }
                LogPiece::Of { chat, log, first, last } => {
                    let mut lines = copy(SourceName { chat, log }, first, last)?;
                    // A ledger position of another chat means nothing here: this chat has a ledger of its own.
                    lines.iter_mut().for_each(|line| line.inbox = None);
                    PreparedPiece::Copied(None, lines)
                }
                LogPiece::New(new) => {
                    let (line, own) = prepare_line(new, bytes_max)?;
                    texts.extend(own);
                    PreparedPiece::New(line)
                }
            });
        }
        Ok((Self { expected: rotation.expected, head: rotation.head, pieces }, texts))
    }
}

/// Returns the piece as the chat reads it. A piece of the chat's own logs is taken from there, like any kept
/// or sealed line.
fn own_piece(piece: LogPiece, chat: &ChatKey) -> LogPiece {
    match piece {
        LogPiece::Of { chat: of, log, first, last } if of == *chat => match log {
            Some(log) => LogPiece::Sealed { log, first, last },
            None => LogPiece::Keep(first, last),
        },
        piece => piece,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::test_lines::{chat, log, prepared, promoted, revised};
    use crate::{ContextId, Head, Timestamp};

    const NOW: Timestamp = Timestamp::from_millis(1_770_286_500_000);

    fn sealed() -> SealedName {
        SealedName::new(NOW, Seq::FIRST, Seq::new(4))
    }

    /// A log with the head 1 and three messages.
    fn source() -> SourceLog {
        let lines = log(&[promoted("m2", 7), prepared("m3", "a"), revised("m2", "b", 1)]);
        SourceLog::new(lines.into_iter().skip(1), Some((Seq::FIRST, Seq::new(4))))
    }

    fn of(chat: &str, log: Option<SealedName>) -> LogPiece {
        let chat = chat.parse().expect("a key");
        LogPiece::Of { chat, log, first: Seq::new(2), last: Seq::new(2) }
    }

    fn rotation(pieces: Vec<LogPiece>) -> Rotation {
        Rotation { expected: None, head: Head::new(ContextId::new(NOW, 1)), pieces }
    }

    #[test]
    fn pieces_of_the_own_chat_are_kept_or_sealed_and_others_lose_their_entries() {
        let pieces = vec![of("a", None), of("a", Some(sealed())), of("b", None), of("b", None)];
        let rotation = rotation(pieces);
        let names = source_logs(&rotation, &chat());
        let own = SourceName { chat: chat(), log: Some(sealed()) };
        let other = SourceName { chat: "b".parse().expect("a key"), log: None };
        assert_eq!(names, [own, other]);
        let source = SourceLog {
            lines: source()
                .lines
                .into_iter()
                .map(|line| RawLine { inbox: Some(7), ..line })
                .collect(),
            ..source()
        };
        let sources = names.into_iter().map(|name| (name, source.clone())).collect();
        let prepared = PreparedRotation::prepare(rotation, &chat(), &sources, 1000);
        let pieces = prepared.expect("prepared").0.pieces;
        let [PreparedPiece::Keep(..), own, other, _] = &pieces[..] else { panic!("{pieces:?}") };
        let content = |piece: &PreparedPiece| match piece {
            PreparedPiece::Copied(range, lines) => {
                (range.is_some(), lines.iter().map(|line| (line.rev, line.inbox)).collect())
            }
            PreparedPiece::Keep(..) | PreparedPiece::New(_) => (false, Vec::new()),
        };
        assert_eq!(content(own), (true, vec![(1, Some(7))]));
        assert_eq!(content(other), (false, vec![(1, None)]));
    }

    #[test]
    fn lines_that_a_source_does_not_have_are_refused() {
        let source = source();
        for (first, last) in [(0, 2), (3, 2), (4, 5)] {
            assert!(source.lines_between(Seq::new(first), Seq::new(last)).is_err());
        }
        assert_eq!(source.lines_between(Seq::FIRST, Seq::new(4)).expect("lines").len(), 2);
        let unread =
            PreparedRotation::prepare(rotation(vec![of("b", None)]), &chat(), &HashMap::new(), 9);
        assert!(matches!(unread, Err(RefusedInput::NoLines { .. })), "{unread:?}");
    }
}
