//! What an index knows of a message besides its terms: its id, its place, and what the ranker needs of it.

use std::collections::HashMap;
use std::sync::Arc;

use ship_message::Role;
use ship_record::{Seq, Timestamp};

use super::message_text::{Participant, SearchableMessage};

/// One version of a message. A message that was replaced has several, and is found by the newest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MessageRow {
    pub(super) id: Arc<str>,
    /// The chat in which it was said, as a number of [`Names`].
    pub(super) origin: u32,
    /// Where it stands first.
    pub(super) place: RowPlace,
    /// The ledger entry that it was promoted from.
    pub(super) promoted_from: Option<u64>,
    pub(super) ts: Option<Timestamp>,
    /// Its author, as a number of [`Names`].
    pub(super) author: u32,
    pub(super) asks: bool,
    /// Whether it has something that counts. A version without anything only hides those before it.
    pub(super) is_hit: bool,
    /// The number of its words.
    pub(super) length: f32,
    /// Tells versions apart.
    pub(super) digest: u32,
    /// The row of the message's first version.
    pub(super) first_version: u32,
}

/// A place where a version of a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowPlace {
    /// A line of a context log, and the context as a number of [`Names`].
    Line(Seq, u32),
    /// An entry of the ledger that is in no context.
    Entry(u64),
}

/// Another line with the same version of a message, as rotations make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowCopy {
    pub(super) seq: Seq,
    pub(super) context: u32,
    pub(super) row: u32,
}

/// The texts that many rows share, each with a number.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Names {
    /// Returns the number of a text, which may be new.
    pub(super) fn number_of(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (text, number) = (Arc::<str>::from(text), self.texts.len() as u32);
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// Returns the text with a number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }
}

/// Writes an author as one text.
pub(super) fn author_text(author: &Participant) -> String {
    let role = author.role.name().unwrap_or_default();
    author.name.as_ref().map_or_else(|| role.to_owned(), |name| format!("{role}\n{name}"))
}

/// Reads an author from its text.
pub(super) fn author_of(text: &str) -> Participant {
    let (role, name) =
        text.split_once('\n').map_or((text, None), |(role, name)| (role, Some(name)));
    Participant { name: name.map(str::to_owned), role: Role::named(role) }
}

/// Returns a number that tells the versions of one message apart.
pub(super) fn version_digest(message: &SearchableMessage) -> u32 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |word: u64| {
        digest = (digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    };
    for text in &message.texts {
        for piece in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(piece).for_each(|(to, byte)| *to = *byte);
            mix(u64::from_le_bytes(word));
        }
        mix(text.len() as u64);
    }
    mix(message.ts.map_or(0, |ts| ts.millis() as u64));
    (digest ^ (digest >> 32)) as u32
}
