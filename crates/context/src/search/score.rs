//! Ranks the messages of a chat by a question: a pure function of an index.
//!
//! A message counts for a term by itself, by its neighbours in the same session, and by the whole session. Of one
//! term only the best of these neighbours counts, so that a message is not raised by a crowd around it. The constants
//! are flat optima: halving or doubling one of them changes little.

use std::collections::BTreeMap;

use ship_message::Role;

use super::index::PostingSource;
use super::message_text::Participant;
use super::postings::Posting;
use super::question::{
    QuestionTerm, SearchQuestion, are_related, is_longer_identifier, related_prefix,
};

/// The words of a message that is as long as is paid for nothing.
const FREE_LENGTH: f32 = 30.0;

/// How far a message counts for its neighbours.
const SPREAD: usize = 4;

/// What a message counts for the next one, for the one before, and with each step less.
const FORWARD: f32 = 0.5;
const BACKWARD: f32 = 0.3;
const FADING: f32 = 0.7;

/// What a question counts for its answer.
const ANSWER: f32 = 0.9;

/// The weight of a relative at most.
const RELATIVE: f64 = 0.5;

/// The number of relatives of a term that count.
const RELATIVES_MAX: usize = 512;

/// The weight of each character of a pair that the chat does not have.
const HALF: f64 = 0.5;

/// The weight of a session.
const SESSION: f64 = 0.75;

/// The reward of words of the meant authors.
const AUTHOR: f64 = 1.25;

/// The days behind a date on which people still talk about it.
const DAYS_AFTER: i64 = 3;

/// The weight of a date.
const DATE: f64 = 2.0;

/// The signals that count. All do, except in measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchSignals {
    /// What is said before and behind a message.
    pub neighbours: bool,
    /// The answers to questions.
    pub answers: bool,
    /// The sessions of matching messages.
    pub sessions: bool,
    /// The authors that a question names.
    pub authors: bool,
    /// The dates that a question names.
    pub dates: bool,
    /// Words that begin alike.
    pub relatives: bool,
}

impl Default for SearchSignals {
    fn default() -> Self {
        Self {
            neighbours: true,
            answers: true,
            sessions: true,
            authors: true,
            dates: true,
            relatives: true,
        }
    }
}

/// A message that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The number of the message.
    pub message: u32,
    /// The score, above zero.
    pub score: f64,
}

/// Returns the best messages, the best first; of equals, the older one first. `keep` leaves messages out.
pub fn rank<S: PostingSource>(
    question: &SearchQuestion,
    source: &S,
    signals: SearchSignals,
    limit: usize,
    keep: impl Fn(u32) -> bool,
) -> Result<Vec<SearchHit>, S::Error> {
    let mut scoring = Scoring::new(source, signals);
    for term in &question.terms {
        scoring.add_term(term)?;
    }
    scoring.add_sessions();
    if signals.authors {
        scoring.reward_authors(&question.authors);
    }
    if signals.dates && !question.dates.is_empty() {
        scoring.add_dates(question);
    }
    Ok(best(&scoring.scores, limit, keep))
}

fn best(scores: &[f64], limit: usize, keep: impl Fn(u32) -> bool) -> Vec<SearchHit> {
    let numbered =
        (0u32..).zip(scores).map(|(message, score)| SearchHit { message, score: *score });
    let mut hits: Vec<SearchHit> =
        numbered.filter(|hit| hit.score > 0.0 && keep(hit.message)).collect();
    let order =
        |a: &SearchHit, b: &SearchHit| b.score.total_cmp(&a.score).then(a.message.cmp(&b.message));
    if limit < hits.len() {
        hits.select_nth_unstable_by(limit, order);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(order);
    hits
}

/// The rarity of something that `having` of `all` have.
fn idf(having: usize, all: usize) -> f64 {
    let (having, all) = (having as f64, all as f64);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// The messages of a chat while their scores are summed up.
struct Scoring<'s, S> {
    source: &'s S,
    signals: SearchSignals,
    scores: Vec<f64>,
    session_scores: Vec<f64>,
    mean_length: f64,
    /// What a message counts for the present term by itself, and the count of the term in it.
    own: Vec<f32>,
    counts: Vec<f32>,
    /// The messages with `own` above zero.
    having: Vec<u32>,
    /// The best of `own` and what the neighbours give.
    spread: Vec<f32>,
    reached: Vec<u32>,
}

impl<'s, S: PostingSource> Scoring<'s, S> {
    fn new(source: &'s S, signals: SearchSignals) -> Self {
        let messages = source.messages().len();
        let sessions = source.session_lengths();
        let mean_length = sessions.iter().sum::<f64>() / sessions.len().max(1) as f64;
        Self {
            source,
            signals,
            scores: vec![0.0; messages],
            session_scores: vec![0.0; sessions.len()],
            mean_length: mean_length.max(1.0),
            own: vec![0.0; messages],
            counts: vec![0.0; messages],
            having: Vec::new(),
            spread: vec![0.0; messages],
            reached: Vec::new(),
        }
    }

    fn add_term(&mut self, term: &QuestionTerm) -> Result<(), S::Error> {
        match term {
            QuestionTerm::Word(forms) => self.add_word(forms),
            QuestionTerm::Whole(whole) => self.add_whole(whole),
            QuestionTerm::Pair(pair) => self.add_pair(pair),
            QuestionTerm::Character(character) => self.add_character(character, 1.0),
        }
    }

    /// Adds a word: its forms count fully, its relatives less.
    fn add_word(&mut self, forms: &[String]) -> Result<(), S::Error> {
        let postings = self.postings_of(forms)?;
        let mut relatives = BTreeMap::new();
        for form in forms.iter().filter(|_| self.signals.relatives) {
            let Some(prefix) = related_prefix(form) else { continue };
            self.source.terms_with_prefix(prefix, &mut |other, having| {
                let is_other = !forms.iter().any(|form| form == other);
                if relatives.len() < RELATIVES_MAX && is_other && are_related(form, other) {
                    relatives.insert(other.to_owned(), having);
                }
            })?;
        }
        self.add_with_relatives(&postings, &relatives)
    }

    /// Adds an identifier, and those that begin with it as with a name of their own.
    fn add_whole(&mut self, whole: &str) -> Result<(), S::Error> {
        let postings = self.postings_of(&[whole.to_owned()])?;
        let mut longer = BTreeMap::new();
        if self.signals.relatives {
            self.source.terms_with_prefix(whole, &mut |other, having| {
                if longer.len() < RELATIVES_MAX && is_longer_identifier(whole, other) {
                    longer.insert(other.to_owned(), having);
                }
            })?;
        }
        self.add_with_relatives(&postings, &longer)
    }

    fn add_with_relatives(
        &mut self,
        postings: &[Posting],
        relatives: &BTreeMap<String, u32>,
    ) -> Result<(), S::Error> {
        let rarity = |having: u32| idf(having as usize, self.source.messages().len());
        let of_relatives = relatives.values().map(|having| rarity(*having)).reduce(f64::max);
        let rareness = match (postings.len(), of_relatives) {
            (0, None) => return Ok(()),
            (0, Some(rareness)) => rareness,
            (having, _) => idf(having, self.source.messages().len()),
        };
        for posting in postings {
            self.count(*posting, 1.0);
        }
        let source = self.source;
        for (relative, having) in relatives {
            let weight =
                RELATIVE * (idf(*having as usize, source.messages().len()) / rareness).min(1.0);
            source.postings(relative, &mut |posting| self.count(posting, weight as f32))?;
        }
        self.finish_term(rareness, 1.0);
        Ok(())
    }

    /// Adds a pair of characters; one that the chat does not have by its characters.
    fn add_pair(&mut self, pair: &str) -> Result<(), S::Error> {
        let postings = self.postings_of(&[pair.to_owned()])?;
        if !postings.is_empty() {
            return self.add_with_relatives(&postings, &BTreeMap::new());
        }
        for character in pair.chars() {
            self.add_character(character.encode_utf8(&mut [0; 4]), HALF)?;
        }
        Ok(())
    }

    /// Adds a character: all terms that begin with it, as if they were one.
    fn add_character(&mut self, character: &str, weight: f64) -> Result<(), S::Error> {
        let mut terms = Vec::new();
        self.source.terms_with_prefix(character, &mut |term, _| terms.push(term.to_owned()))?;
        let postings = self.postings_of(&terms)?;
        for posting in &postings {
            self.count(*posting, 1.0);
        }
        if !postings.is_empty() {
            self.finish_term(idf(postings.len(), self.source.messages().len()), weight);
        }
        Ok(())
    }

    /// Returns the postings of terms that count as one, in the order of their messages.
    fn postings_of(&self, terms: &[String]) -> Result<Vec<Posting>, S::Error> {
        let mut all: Vec<Posting> = Vec::new();
        for term in terms {
            self.source.postings(term, &mut |posting| all.push(posting))?;
        }
        if terms.len() > 1 {
            all.sort_unstable_by_key(|posting| posting.message);
            all.dedup_by(|later, first| {
                let is_same = later.message == first.message;
                first.count += if is_same { later.count } else { 0 };
                is_same
            });
        }
        Ok(all)
    }

    /// Counts a posting for the present term. A posting of a message that the source does not have counts nothing.
    fn count(&mut self, posting: Posting, weight: f32) {
        let at = posting.message as usize;
        let Some(message) = self.source.messages().get(at) else { return };
        let count = posting.count as f32;
        let by_itself = weight * 2.0 * count / (count + (message.length / FREE_LENGTH).max(1.0));
        let (Some(own), Some(counted)) = (self.own.get_mut(at), self.counts.get_mut(at)) else {
            return;
        };
        if *own == 0.0 {
            self.having.push(posting.message);
        }
        *own = own.max(by_itself);
        *counted = counted.max(weight * count);
    }

    /// Adds the present term to the scores, and forgets it.
    fn finish_term(&mut self, rareness: f64, weight: f64) {
        let mut having = std::mem::take(&mut self.having);
        having.sort_unstable();
        self.score_sessions(&having, weight);
        for message in &having {
            self.reach(*message as usize);
        }
        for message in having.drain(..) {
            let at = message as usize;
            self.own[at] = 0.0;
            self.counts[at] = 0.0;
        }
        for message in self.reached.drain(..) {
            let at = message as usize;
            self.scores[at] += weight * rareness * f64::from(self.spread[at]);
            self.spread[at] = 0.0;
        }
        self.having = having;
    }

    /// Lets a message count for itself and its neighbours in the session.
    fn reach(&mut self, at: usize) {
        let own = self.own[at];
        self.raise(at, own);
        let messages = self.source.messages();
        let (session, asks) = (messages[at].session, messages[at].asks);
        if asks && self.signals.answers && is_answer(self.source, at + 1, session) {
            self.raise(at + 1, ANSWER * own);
        }
        if !self.signals.neighbours {
            return;
        }
        let mut fading = own;
        for step in 1..=SPREAD {
            let in_session = |at: &usize| messages.get(*at).is_some_and(|it| it.session == session);
            if let Some(after) = Some(at + step).filter(in_session) {
                self.raise(after, FORWARD * fading);
            }
            if let Some(before) = at.checked_sub(step).filter(in_session) {
                self.raise(before, BACKWARD * fading);
            }
            fading *= FADING;
        }
    }

    fn raise(&mut self, at: usize, value: f32) {
        let spread = &mut self.spread[at];
        if *spread == 0.0 {
            self.reached.push(at as u32);
        }
        *spread = spread.max(value);
    }

    /// Adds the present term to the scores of the sessions that have it.
    fn score_sessions(&mut self, having: &[u32], weight: f64) {
        if !self.signals.sessions {
            return;
        }
        let messages = self.source.messages();
        let mut sums: Vec<(u32, f64)> = Vec::new();
        for message in having {
            let at = *message as usize;
            let (session, count) = (messages[at].session, f64::from(self.counts[at]));
            match sums.last_mut() {
                Some((last, sum)) if *last == session => *sum += count,
                _ => sums.push((session, count)),
            }
        }
        let weight = weight * SESSION * idf(sums.len(), self.session_scores.len());
        for (session, sum) in sums {
            let at = session as usize;
            let length = self.source.session_lengths().get(at).copied().unwrap_or_default();
            let slack = 1.2 * (0.25 + 0.75 * length / self.mean_length);
            if let Some(score) = self.session_scores.get_mut(at) {
                *score += weight * 2.2 * sum / (sum + slack);
            }
        }
    }

    /// Gives each message the score of its session.
    fn add_sessions(&mut self) {
        for (score, message) in self.scores.iter_mut().zip(self.source.messages()) {
            *score +=
                self.session_scores.get(message.session as usize).copied().unwrap_or_default();
        }
    }

    fn reward_authors(&mut self, authors: &[usize]) {
        if authors.is_empty() {
            return;
        }
        for (score, message) in self.scores.iter_mut().zip(self.source.messages()) {
            if authors.contains(&usize::from(message.participant)) {
                *score *= AUTHOR;
            }
        }
    }

    fn add_dates(&mut self, question: &SearchQuestion) {
        let days = || self.source.messages().iter().filter_map(|message| message.day);
        let (Some(first), Some(last)) = (days().min(), days().max()) else { return };
        let chat = i64::from(first)..=i64::from(last);
        let ranges: Vec<_> = question.dates.iter().flat_map(|date| date.ranges(&chat)).collect();
        let is_meant = |day: Option<i32>| {
            let day = day.map(i64::from);
            day.is_some_and(|day| {
                ranges.iter().any(|it| (*it.start()..=*it.end() + DAYS_AFTER).contains(&day))
            })
        };
        let meant: Vec<bool> = self.source.messages().iter().map(|it| is_meant(it.day)).collect();
        let count = meant.iter().filter(|meant| **meant).count();
        let reward = DATE * idf(count, meant.len());
        for (score, _) in self.scores.iter_mut().zip(&meant).filter(|(_, meant)| **meant) {
            *score += reward;
        }
    }
}

/// Whether a message answers the one before it. An assistant answers everything, so that its replies say nothing about
/// what a question asks for; among people with names, the next speaker mostly answers.
fn is_answer<S: PostingSource>(source: &S, at: usize, session: u32) -> bool {
    let Some(message) = source.messages().get(at).filter(|it| it.session == session) else {
        return false;
    };
    let author = source.participants().get(usize::from(message.participant));
    !matches!(author, Some(Participant { name: None, role: Role::Assistant }))
}
