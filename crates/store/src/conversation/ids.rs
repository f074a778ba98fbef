//! Counts ids: `m001`, `m002`, … for messages and `e001`, `e002`, … for events.

/// The highest numbers given so far. A number is never given twice, not even when a line replaces another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryIds {
    messages: u64,
    events: u64,
}

/// Higher numbers belong to ids of another program; counting on from them could overflow.
const NUMBER_MAX: u64 = 1 << 53;

impl EntryIds {
    /// Notes an id, so that it is never given again.
    pub(super) fn observe(&mut self, id: &str) {
        let counter = match id.as_bytes().first() {
            Some(b'm') => &mut self.messages,
            Some(b'e') => &mut self.events,
            _ => return,
        };
        let digits = &id[1..];
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        if let Ok(number) = digits.parse::<u64>()
            && number < NUMBER_MAX
        {
            *counter = number.max(*counter);
        }
    }

    /// Returns the next id of a message.
    pub(super) fn next_message(&mut self) -> String {
        self.messages += 1;
        format!("m{:03}", self.messages)
    }

    /// Returns the next id of an event.
    pub(super) fn next_event(&mut self) -> String {
        self.events += 1;
        format!("e{:03}", self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_on_after_the_highest_seen_and_beyond_999() {
        let mut ids = EntryIds::default();
        assert_eq!((ids.next_message(), ids.next_event()), ("m001".into(), "e001".into()));
        for id in ["m0007", "m3", "e999", "message", "m", "", "é1", "m99999999999999999999", "x12"]
        {
            ids.observe(id);
        }
        assert_eq!((ids.next_message(), ids.next_event()), ("m008".into(), "e1000".into()));
    }
}
