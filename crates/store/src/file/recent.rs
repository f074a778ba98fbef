//! Where the last lines of a ledger are, so that what is new behind one of them is read and nothing else.

use std::collections::VecDeque;

/// How many lines are remembered: more than come in while one run goes on.
const LINES_MAX: usize = 64;

/// The places of the last lines.
#[derive(Default)]
pub(crate) struct Recent {
    /// Number and offset, the oldest first.
    places: VecDeque<(u64, u64)>,
}

/// Where the lines behind another one begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The file as it was known.
    pub(crate) file: (u64, u64),
    pub(crate) offset: u64,
    /// The number of the first line there.
    pub(crate) seq: u64,
}

impl Recent {
    pub(crate) fn push(&mut self, seq: u64, offset: u64) {
        self.places.push_back((seq, offset));
        if self.places.len() > LINES_MAX {
            self.places.pop_front();
        }
    }

    /// The number and the place of the first line behind `seq`, which is the next one to come if the newest
    /// is not behind it; `None` if that is longer ago than is remembered.
    pub(crate) fn behind(&self, seq: u64, next: (u64, u64)) -> Option<(u64, u64)> {
        let known = self.places.iter().position(|(known, _)| *known > seq);
        match known {
            Some(0) => None,
            Some(at) => self.places.get(at).copied(),
            None => self.places.back().map(|_| next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certainly_all_that_is_behind_a_line_is_told() {
        let mut recent = Recent::default();
        assert_eq!(recent.behind(0, (1, 0)), None, "nothing is known");
        (10..12).for_each(|seq| recent.push(seq, seq * 100));
        assert_eq!(recent.behind(8, (12, 1200)), None, "line 9 may be there");
        assert_eq!(recent.behind(9, (12, 1200)), None, "and it may not");
        assert_eq!(recent.behind(10, (12, 1200)), Some((11, 1100)));
        assert_eq!(recent.behind(11, (12, 1200)), Some((12, 1200)), "the next one to come");
        (12..100).for_each(|seq| recent.push(seq, seq * 100));
        assert_eq!(recent.behind(11, (100, 10_000)), None, "too long ago");
    }
}
