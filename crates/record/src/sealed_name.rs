//! The names of sealed logs.

use crate::{Seq, Timestamp};

/// The name of a sealed log, such as `20260205T101500123Z-1-42`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealedName(String);

impl SealedName {
    /// Makes the name of a log with the lines `first` to `last`, sealed `now`.
    pub fn new(now: Timestamp, first: Seq, last: Seq) -> Self {
        Self(format!("{}-{first}-{last}", now.file_name()))
    }

    /// Reads a name; `None` unless it has the form of one, so that it is always a plain file name.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let stamp = parts.next()?;
        // At least a day and a second, `20260205T101500Z`; ours have milliseconds, too.
        let stamped = stamp.len() >= 16
            && stamp.bytes().all(|b| b.is_ascii_digit() || b == b'T' || b == b'Z');
        let first: u64 = parts.next()?.parse().ok()?;
        let last: u64 = parts.next()?.parse().ok()?;
        let in_range = first <= last && last <= Seq::MAX.get();
        (stamped && in_range && parts.next().is_none()).then(|| Self(text.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first and the last line of the log.
    pub fn range(&self) -> (Seq, Seq) {
        // No name is made without the two numbers, so the default is never used.
        let number = |part: Option<&str>| Seq::new(part.and_then(|p| p.parse().ok()).unwrap_or(0));
        let mut parts = self.0.split('-').skip(1);
        (number(parts.next()), number(parts.next()))
    }

    /// Returns the time at which the log was sealed. For a name with digits that are no time, which only a person can
    /// make, this is the beginning of 1970.
    pub fn sealed_at(&self) -> Timestamp {
        let stamp = self.0.split('-').next().and_then(Timestamp::from_file_name);
        stamp.unwrap_or(Timestamp::from_millis(0))
    }
}

impl std::fmt::Display for SealedName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_time_that_it_was_made_with() {
        let now = Timestamp::from_millis(1_770_286_500_123);
        let made = SealedName::new(now, Seq::FIRST, Seq::new(42));
        assert_eq!((made.as_str(), made.sealed_at()), ("20260205T101500123Z-1-42", now));
        for (text, millis) in [
            ("20260205T101500Z-1-42", now.millis() - 123),
            ("20260205T1015001Z-1-42", 0),
            ("TTTTTTTTTTTTTTTTTTT-1-42", 0),
        ] {
            assert_eq!(SealedName::parse(text).unwrap().sealed_at().millis(), millis, "{text}");
        }
    }
}
