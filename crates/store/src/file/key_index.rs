//! Indexes the keys of the live ledger in little memory: a ledger of another program or an older version may have
//! a million of them.

use super::log::Span;

/// The number of unsorted places that a search may visit one by one.
const UNSORTED_MAX: usize = 256;

/// The places of keys, by their digests.
#[derive(Default)]
pub(crate) struct KeyIndex {
    /// The first `sorted` places are in order; the rest are in the order of their arrival.
    places: Vec<KeyPlace>,
    sorted: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyPlace {
    digest: u64,
    offset: u64,
    len: u32,
}

impl KeyIndex {
    /// Adds the place of a key.
    pub(crate) fn add(&mut self, digest: u64, span: Span) {
        let len = u32::try_from(span.len).unwrap_or(u32::MAX);
        self.places.push(KeyPlace { digest, offset: span.offset, len });
        // The limit grows with the sorted part, so that sorting costs no more than adding.
        if self.places.len() - self.sorted > UNSORTED_MAX.max(self.sorted / 16) {
            // A stable sort merges the part that is already in order.
            self.places.sort();
            self.sorted = self.places.len();
        }
    }

    /// Returns the places of the keys that have this digest, in any order.
    pub(crate) fn spans_of(&self, digest: u64) -> Vec<Span> {
        let (sorted, new) = self.places.split_at(self.sorted);
        let from = sorted.partition_point(|place| place.digest < digest);
        let known = sorted[from..].iter().take_while(|place| place.digest == digest);
        let new = new.iter().filter(|place| place.digest == digest);
        let span = |place: &KeyPlace| Span { offset: place.offset, len: u64::from(place.len) };
        known.chain(new).map(span).collect()
    }

    /// Returns each digest with the offset of its line.
    pub(crate) fn pairs(&self) -> Vec<(u64, u64)> {
        self.places.iter().map(|place| (place.digest, place.offset)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_digest_is_found_sorted_or_not() {
        let mut index = KeyIndex::default();
        // Each digest twice, in an order that is none.
        for number in 0..4_000u64 {
            let digest = number.wrapping_mul(2_654_435_761) % 2_000;
            index.add(digest, Span { offset: number * 10, len: 9 });
            assert!(!index.spans_of(digest).is_empty(), "{number}");
        }
        let mut found: Vec<u64> =
            (0..2_000).flat_map(|digest| index.spans_of(digest)).map(|span| span.offset).collect();
        found.sort_unstable();
        assert_eq!(found, (0..4_000).map(|number| number * 10).collect::<Vec<_>>());
        assert_eq!(index.pairs().len(), 4_000);
        assert!(index.spans_of(2_001).is_empty());
    }
}
