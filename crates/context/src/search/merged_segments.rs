//! Merges segments into one, without the rows that are gone.

use super::postings::{DamagedPostings, Posting, PostingList};
use super::stored_segment::{SegmentWriter, StoredSegment};
use super::term_postings::TermPostings;

/// The terms of a segment in their order, each with the postings of its rows, counted from the first row of all.
type SortedTerms = std::iter::Peekable<std::vec::IntoIter<(String, PostingList)>>;

/// A segment, or the terms that are not in one yet, with the number of its first row.
#[derive(Clone, Copy)]
pub(super) enum TermSource<'s> {
    Stored(&'s StoredSegment),
    Tail(&'s TermPostings, u32),
}

/// Writes the terms of some sources as one segment. `number_of` gives the place of a row in the segment; `None` if it is
/// gone. The places are in the order of the rows.
pub(super) fn merged_terms(
    sources: &[TermSource<'_>],
    number_of: impl Fn(u32) -> Option<u32>,
) -> Result<SegmentWriter, DamagedPostings> {
    let mut sorted: Vec<SortedTerms> = Vec::new();
    for source in sources {
        let mut terms = Vec::new();
        let mut add = |term: &str, list: &PostingList, begin: u32| {
            let mut kept = PostingList::default();
            list.for_each(|Posting { message, count }| {
                if let Some(number) = number_of(begin + message) {
                    kept.add_times(number, count);
                }
            });
            if kept.messages() > 0 {
                terms.push((term.to_owned(), kept));
            }
        };
        match source {
            TermSource::Stored(stored) => {
                stored.for_each(|term, list| add(term, &list, stored.begin))?;
            }
            TermSource::Tail(tail, begin) => {
                tail.iter().for_each(|(term, list)| add(term, list, *begin));
            }
        }
        sorted.push(terms.into_iter().peekable());
    }
    let mut writer = SegmentWriter::default();
    while let Some(term) = least_term(&mut sorted) {
        let mut all = PostingList::default();
        // The rows of a source follow those of the one before, so the postings stay in their order.
        for terms in &mut sorted {
            if let Some((_, list)) = terms.next_if(|(next, _)| *next == term) {
                list.for_each(|Posting { message, count }| all.add_times(message, count));
            }
        }
        writer.add(&term, &all);
    }
    Ok(writer)
}

fn least_term(sorted: &mut [SortedTerms]) -> Option<String> {
    let next = sorted.iter_mut().filter_map(|terms| terms.peek().map(|(term, _)| term));
    next.min().cloned()
}
