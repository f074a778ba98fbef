//! Remembers the places of the last lines of a ledger, so that only the lines after one of them are read.

use std::collections::VecDeque;

/// The number of lines that are remembered: more than arrive during one run.
const LINES_MAX: usize = 64;

/// The places of the last lines.
#[derive(Default)]
pub(crate) struct Recent {
    /// The number and the offset of each line, the oldest first.
    places: VecDeque<(u64, u64)>,
}

/// The place where the lines after another one begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// The identity of the file when it was read.
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

    /// Returns the number and the offset of the first line after `seq`; `next` if no line comes after it yet.
    /// Returns `None` if the line is older than those remembered.
    pub(crate) fn first_after(&self, seq: u64, next: (u64, u64)) -> Option<(u64, u64)> {
        let known = self.places.iter().position(|(known, _)| *known > seq);
        match known {
            // An older line that was forgotten may also come after `seq`.
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
        assert_eq!(recent.first_after(0, (1, 0)), None, "nothing is known");
        (10..12).for_each(|seq| recent.push(seq, seq * 100));
        assert_eq!(recent.first_after(8, (12, 1200)), None, "line 9 may be there");
        assert_eq!(recent.first_after(9, (12, 1200)), None, "and it may not");
        assert_eq!(recent.first_after(10, (12, 1200)), Some((11, 1100)));
        assert_eq!(recent.first_after(11, (12, 1200)), Some((12, 1200)), "the next one to come");
        (12..100).for_each(|seq| recent.push(seq, seq * 100));
        assert_eq!(recent.first_after(11, (100, 10_000)), None, "too long ago");
    }
}
