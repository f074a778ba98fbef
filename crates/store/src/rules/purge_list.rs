//! Decides which purges a reader has not seen yet.
//!
//! The tombstones are the truth, but a reader that catches up does not open all sealed logs to find new ones. So a back
//! end keeps a list of the last purges, each with a number that grows. A purge is in the list before its log is gone; as
//! long as the log is there, the purge has not happened. Only the last one can be in that state, because the next purge
//! takes it out again.

use ship_message::json::{Array, Json, Object};

use crate::line::{LineKind, RawLine, UnnumberedLine};
use crate::{SealedName, Timestamp};

/// The number of purges that a list has at most. A reader that lacks more than these looks at all logs.
const PURGES_MAX: usize = 64;
const EVENT: &str = "purges";

/// The last purges of a chat, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeList {
    /// The list has all purges with higher numbers.
    since: u64,
    purges: Vec<(u64, SealedName)>,
}

impl PurgeList {
    /// Begins a list in a chat that has none: it never had a purge, or the list was lost.
    pub fn begin(now: Timestamp) -> Self {
        Self { since: millis(now), purges: Vec::new() }
    }

    /// Returns the purges after the one with this number; `None` if the list does not have all of them.
    pub fn after(&self, number: u64) -> Option<&[(u64, SealedName)]> {
        if number < self.since || number > self.last() {
            return None;
        }
        let from = self.purges.partition_point(|(known, _)| *known <= number);
        Some(&self.purges[from..])
    }

    /// Returns the number of the last purge.
    pub fn last(&self) -> u64 {
        self.purges.last().map_or(self.since, |(number, _)| *number)
    }

    /// Returns the log of the last purge, which may not have happened.
    pub fn last_log(&self) -> Option<&SealedName> {
        self.purges.last().map(|(_, log)| log)
    }

    /// Takes the last purge out again, because it did not happen.
    pub fn remove_last(&mut self) {
        self.purges.pop();
    }

    /// Adds the purge of a log. A log with only a head is not listed, because nothing of it goes.
    pub fn add(&mut self, log: SealedName, now: Timestamp) {
        if log.range().0 == log.range().1 {
            return;
        }
        // The time keeps the numbers growing if the list is lost and begun again.
        let number = millis(now).max(self.last() + 1);
        if self.purges.len() >= PURGES_MAX {
            self.since = self.purges.remove(0).0;
        }
        self.purges.push((number, log));
    }

    /// Writes the list as a line, whose number is that of the last purge.
    pub fn to_line(&self, now: Timestamp) -> (u64, UnnumberedLine) {
        let purge = |(number, log): &(u64, SealedName)| {
            let purge = [("number", Json::from(*number)), ("log", log.as_str().into())];
            Json::from(Object::from(purge))
        };
        let purges: Array = self.purges.iter().map(purge).collect();
        let data = Object::from([("since", Json::from(self.since)), ("purges", purges.into())]);
        let mut body = Object::from([("id", format!("p{}", self.last()))]);
        body.set("ts", now.to_string());
        body.set("event", EVENT);
        body.set("data", data);
        (self.last(), UnnumberedLine::new(LineKind::Event, body))
    }

    /// Reads the list; `None` if the line is another.
    pub fn read(line: &RawLine) -> Option<Self> {
        let data = line.body.get("data").filter(|_| line.event() == Some(EVENT))?;
        let purge = |json: &Json| {
            let number = json.get("number")?.as_u64()?;
            Some((number, SealedName::parse(json.get("log")?.as_str()?)?))
        };
        let purges =
            data.get("purges")?.as_array()?.iter().map(purge).collect::<Option<Vec<_>>>()?;
        let since = data.get("since")?.as_u64()?;
        let grows = purges.is_sorted_by(|one, next| one.0 < next.0);
        let is_behind = purges.first().is_none_or(|(first, _)| *first > since);
        (grows && is_behind).then_some(Self { since, purges })
    }
}

fn millis(now: Timestamp) -> u64 {
    u64::try_from(now.millis()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seq;
    use crate::rules::test_lines::numbered;

    const NOW: Timestamp = Timestamp::from_millis(1000);

    fn log(first: u64) -> SealedName {
        SealedName::new(NOW, Seq::new(first), Seq::new(first + 1))
    }

    fn list(count: u64) -> PurgeList {
        let mut list = PurgeList::begin(NOW);
        (1..=count).for_each(|first| list.add(log(first), NOW));
        list
    }

    fn firsts(purges: Option<&[(u64, SealedName)]>) -> Option<Vec<u64>> {
        Some(purges?.iter().map(|(_, log)| log.range().0.get()).collect())
    }

    #[test]
    fn a_reader_gets_the_purges_that_it_has_not_seen() {
        let list = list(3);
        assert_eq!(firsts(list.after(1000)), Some(vec![1, 2, 3]));
        assert_eq!(firsts(list.after(1002)), Some(vec![3]));
        assert_eq!((firsts(list.after(list.last())), list.last()), (Some(Vec::new()), 1003));
    }

    #[test]
    fn a_reader_that_the_list_does_not_reach_looks_everywhere() {
        let mut list = list(PURGES_MAX as u64 + 1);
        assert_eq!((list.after(1000), list.purges.len()), (None, PURGES_MAX));
        assert!(list.after(1001).is_some());
        assert_eq!(list.after(5000), None, "the list that it has seen was lost");
        while list.last_log().is_some() {
            list.remove_last();
        }
        assert_eq!(list.after(1001), Some(&[][..]));
    }

    #[test]
    fn a_log_with_only_a_head_is_not_listed() {
        let mut list = list(1);
        list.add(SealedName::new(NOW, Seq::new(7), Seq::new(7)), NOW);
        assert_eq!(firsts(list.after(1000)), Some(vec![1]));
    }

    #[test]
    fn a_list_reads_back() {
        let list = list(2);
        let (number, line) = list.to_line(NOW);
        assert_eq!(PurgeList::read(&numbered(&line, number)), Some(list));
    }
}
