//! What an index holds of a chat, and where the ranker gets it from.
//!
//! An index has the postings of each term, a few values of each message, and a sum for each session. A store keeps
//! these however it likes and hands them to the ranker as a [`PostingSource`]; [`ChatIndex`] keeps them in memory. The
//! ranker sees nothing else, so every store gives the same hits in the same order.

use std::collections::HashMap;
use std::convert::Infallible;

use ship_record::Timestamp;

use super::dates::day_of;
use super::message_text::{Participant, SearchableMessage};
use super::postings::{Posting, PostingList};
use super::question::SearchQuestion;
use super::term_postings::TermPostings;
use super::terms::TermReader;

/// A gap after which a new session begins. A pause for a meal is shorter, a night is longer.
pub(super) const SESSION_GAP_MILLIS: i64 = 6 * 60 * 60 * 1000;

/// The values of one message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageValues {
    /// The length in words; pairs of characters count half.
    pub length: f32,
    /// The number of the session. Sessions follow one another.
    pub session: u32,
    /// The number of the author in [`PostingSource::participants`].
    pub participant: u16,
    /// Whether the message ends with a question.
    pub asks: bool,
    /// The day, counted from 1970.
    pub day: Option<i32>,
}

/// Supplies what the ranker needs to know of a chat. The messages are numbered in the order in which they were said.
pub trait PostingSource {
    /// The failure of a look-up.
    type Error;

    /// Returns the values of all messages.
    fn messages(&self) -> &[MessageValues];

    /// Returns the sum of the lengths of each session's messages.
    fn session_lengths(&self) -> &[f64];

    /// Returns the authors of the messages.
    fn participants(&self) -> &[Participant];

    /// Calls with each posting of a term, in the order of the messages.
    fn postings(&self, term: &str, call: &mut dyn FnMut(Posting)) -> Result<(), Self::Error>;

    /// Calls with each term that begins so, in their order, with the number of messages that have it.
    fn terms_with_prefix(
        &self,
        prefix: &str,
        call: &mut dyn FnMut(&str, u32),
    ) -> Result<(), Self::Error>;
}

/// A message as an index takes it in.
#[derive(Clone, Debug)]
pub struct MessageToIndex<'m> {
    /// The texts that count, each with the number of times that it counts.
    pub texts: &'m [(&'m str, u32)],
    /// The author of the message.
    pub participant: &'m Participant,
    /// The time of the message.
    pub ts: Option<Timestamp>,
    /// Whether the message ends with a question.
    pub asks: bool,
    /// Whether another context begins with this message.
    pub begins_context: bool,
}

/// The index of a chat in memory.
#[derive(Debug, Default)]
pub struct ChatIndex {
    terms: TermPostings,
    messages: Vec<MessageValues>,
    session_lengths: Vec<f64>,
    participants: Vec<Participant>,
    numbers: HashMap<(Option<String>, Option<&'static str>), u16>,
    last_ts: Option<Timestamp>,
}

impl ChatIndex {
    /// Makes an index without messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next message.
    pub fn add(&mut self, message: &MessageToIndex<'_>, reader: &mut TermReader) {
        self.add_wanted(message, reader, |_| true);
    }

    /// Adds the next message, with those terms alone that a question can ask for. Such an index answers this question
    /// like a whole one, and is made in a fraction of the time: it is a scan.
    pub fn add_for(
        &mut self,
        question: &SearchQuestion,
        message: &MessageToIndex<'_>,
        reader: &mut TermReader,
    ) {
        self.add_wanted(message, reader, |term| question.may_use(term));
    }

    /// Adds the next message as it was read from a log.
    pub fn add_message(
        &mut self,
        message: &SearchableMessage,
        begins_context: bool,
        reader: &mut TermReader,
    ) {
        let texts: Vec<(&str, u32)> = message.texts.iter().map(|text| (text.as_str(), 1)).collect();
        let SearchableMessage { participant, ts, asks, .. } = message;
        let (ts, asks) = (*ts, *asks);
        self.add(&MessageToIndex { texts: &texts, participant, ts, asks, begins_context }, reader);
    }

    fn add_wanted(
        &mut self,
        message: &MessageToIndex<'_>,
        reader: &mut TermReader,
        wanted: impl Fn(&str) -> bool,
    ) {
        let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
        let mut length = 0.0;
        for (text, times) in message.texts {
            length += reader.read(text, |term| {
                if wanted(term) {
                    self.terms.add(term, number, *times);
                }
            });
        }
        let session = self.session_of(message);
        self.last_ts = message.ts.or(self.last_ts);
        let participant = self.number_of(message.participant);
        let day = message.ts.and_then(|ts| i32::try_from(day_of(ts)).ok());
        let asks = message.asks;
        self.messages.push(MessageValues { length, session, participant, asks, day });
        if let Some(sum) = self.session_lengths.last_mut() {
            *sum += f64::from(length);
        }
    }

    /// Returns the session of the next message, which may be a new one.
    fn session_of(&mut self, message: &MessageToIndex<'_>) -> u32 {
        let gap = message.ts.zip(self.last_ts).map(|(now, last)| now.millis() - last.millis());
        let is_long = gap.is_some_and(|gap| gap.abs() > SESSION_GAP_MILLIS);
        if self.messages.is_empty() || message.begins_context || is_long {
            self.session_lengths.push(0.0);
        }
        u32::try_from(self.session_lengths.len() - 1).unwrap_or(u32::MAX)
    }

    fn number_of(&mut self, participant: &Participant) -> u16 {
        let key = (participant.name.clone(), participant.role.name());
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        // More authors than numbers: the others share the last one, which costs only the reward of their own words.
        let number = u16::try_from(self.participants.len()).unwrap_or(u16::MAX);
        if number < u16::MAX || self.participants.len() == usize::from(u16::MAX) {
            self.participants.push(participant.clone());
        }
        self.numbers.insert(key, number);
        number
    }

    /// Returns the terms with their postings, in the order of the terms.
    pub fn terms(&self) -> impl Iterator<Item = (&str, &PostingList)> {
        self.terms.iter()
    }
}

impl PostingSource for ChatIndex {
    type Error = Infallible;

    fn messages(&self) -> &[MessageValues] {
        &self.messages
    }

    fn session_lengths(&self) -> &[f64] {
        &self.session_lengths
    }

    fn participants(&self) -> &[Participant] {
        &self.participants
    }

    fn postings(&self, term: &str, call: &mut dyn FnMut(Posting)) -> Result<(), Infallible> {
        self.terms.postings(term, call);
        Ok(())
    }

    fn terms_with_prefix(
        &self,
        prefix: &str,
        call: &mut dyn FnMut(&str, u32),
    ) -> Result<(), Infallible> {
        self.terms.with_prefix(prefix, call);
        Ok(())
    }
}
