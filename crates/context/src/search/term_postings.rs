//! The postings of all terms of some messages, in memory. They grow at their end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::postings::{Posting, PostingList};

/// The terms of some messages, each with its postings.
#[derive(Debug, Default)]
pub(super) struct TermPostings {
    /// The place of each term's postings, for looking terms up, and once more in the order of the terms.
    places: HashMap<Arc<str>, usize>,
    ordered: BTreeMap<Arc<str>, usize>,
    postings: Vec<PostingList>,
}

impl TermPostings {
    /// Notes that a message has a term so many times more. Messages come in their order.
    pub(super) fn add(&mut self, term: &str, message: u32, times: u32) {
        let place = match self.places.get(term) {
            Some(place) => *place,
            None => self.add_term(term),
        };
        if let Some(postings) = self.postings.get_mut(place) {
            for _ in 0..times {
                postings.add(message);
            }
        }
    }

    fn add_term(&mut self, term: &str) -> usize {
        let (term, place) = (Arc::<str>::from(term), self.postings.len());
        self.places.insert(Arc::clone(&term), place);
        self.ordered.insert(term, place);
        self.postings.push(PostingList::default());
        place
    }

    /// Returns the terms with their postings, in the order of the terms.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &PostingList)> {
        self.ordered.iter().filter_map(|(term, place)| Some((&**term, self.postings.get(*place)?)))
    }

    /// Calls with each posting of a term.
    pub(super) fn postings(&self, term: &str, call: impl FnMut(Posting)) {
        if let Some(postings) = self.places.get(term).and_then(|place| self.postings.get(*place)) {
            postings.for_each(call);
        }
    }

    /// Calls with each term that begins so, in their order, with the number of messages that have it.
    pub(super) fn with_prefix(&self, prefix: &str, mut call: impl FnMut(&str, u32)) {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let range = self.ordered.range::<str, _>(from);
        for (term, place) in range.take_while(|(term, _)| term.starts_with(prefix)) {
            call(term, self.postings.get(*place).map_or(0, PostingList::messages));
        }
    }
}
