//! Finds messages of a chat by words: pure, without a model and without files.
//!
//! - [`searchable_message`] returns what counts of a message, and its author.
//! - [`TermReader`] cuts texts of any script into terms.
//! - [`ChatIndex`] holds the terms of a chat in memory; a store that keeps them elsewhere is a [`PostingSource`] too.
//! - [`SearchQuestion`] is a question, and [`rank`] finds the messages that answer it best.
//! - [`snippet`] shows why a message was found.
//!
//! ```
//! use ship_context::search::*;
//! use ship_message::{Role, UiMessage, UiPart};
//!
//! let mut reader = TermReader::new();
//! let mut index = ChatIndex::new();
//! for text in ["Shall we sail on Sunday?", "I would rather paint the boat.", "数据库在周五迁移"] {
//!     let message = UiMessage::new("m", Role::User, vec![UiPart::text(text)]);
//!     index.add_message(&searchable_message(&message).unwrap(), false, &mut reader);
//! }
//! let question = SearchQuestion::read("什么时候迁移？", index.participants(), &mut reader);
//! let hits = rank(&question, &index, SearchSignals::default(), 10, |_| true).unwrap();
//! assert_eq!(hits[0].message, 2);
//! ```

mod accents;
mod arrangement;
mod chars;
mod dates;
mod index;
mod irregular;
mod languages;
mod merged_segments;
mod message_index;
mod message_row;
mod message_text;
mod numbers;
mod packed_postings;
mod pairs;
mod postings;
mod question;
mod question_words;
mod runs;
mod score;
mod snippet;
mod stems;
mod stored_segment;
mod term_postings;
mod terms;

pub use index::{ChatIndex, MessageToIndex, MessageValues, PostingSource};
pub use message_index::{IndexedMessage, MessageIndex};
pub use message_text::{Participant, SearchableMessage, searchable_message};
pub use postings::{DamagedPostings, Posting, PostingList, read_postings};
pub use question::SearchQuestion;
pub use score::{SearchHit, SearchSignals, rank};
pub use snippet::{SearchSnippet, snippet};
pub use terms::TermReader;

#[cfg(test)]
mod tests;
