//! The messages that have a term, as few bytes.
//!
//! A posting is the distance to the message before and how often the term stands there, as variable-length integers.
//! A term that stands once in a message, as most do, needs no count; a zero announces a distance with a count.

use super::numbers::{read_number, write_number};

/// A message that has a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The number of the message.
    pub message: u32,
    /// How often the term stands in it.
    pub count: u32,
}

/// The postings of one term, in the order of their messages. Grows at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostingList {
    bytes: Vec<u8>,
    messages: u32,
    /// The newest posting, which may still be counted up.
    newest: Option<Posting>,
    /// The message before the newest.
    before: u32,
}

/// Bytes that are no postings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are no postings")]
pub struct DamagedPostings;

impl PostingList {
    /// Notes that a message has the term once more. An older message than the newest one is not noted.
    pub fn add(&mut self, message: u32) {
        self.add_times(message, 1);
    }

    pub(super) fn add_times(&mut self, message: u32, count: u32) {
        match &mut self.newest {
            Some(newest) if newest.message == message => {
                newest.count = newest.count.saturating_add(count);
            }
            Some(newest) if newest.message > message => {}
            newest => {
                let finished = newest.replace(Posting { message, count });
                self.messages += 1;
                if let Some(posting) = finished {
                    write_posting(&mut self.bytes, posting, self.before);
                    self.before = posting.message + 1;
                }
            }
        }
    }

    /// Returns the number of messages that have the term.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// Calls with each posting.
    pub fn for_each(&self, mut call: impl FnMut(Posting)) {
        // The list has written its own bytes, so they are not damaged.
        let _ = read_postings(&self.bytes, &mut call);
        if let Some(newest) = self.newest {
            call(newest);
        }
    }

    /// Returns the bytes of the whole list.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        if let Some(newest) = self.newest {
            write_posting(&mut bytes, newest, self.before);
        }
        bytes
    }

    /// Reads the bytes that [`encode`](Self::encode) wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, DamagedPostings> {
        let mut list = Self::default();
        read_postings(bytes, &mut |posting| list.add_times(posting.message, posting.count))?;
        Ok(list)
    }
}

fn write_posting(bytes: &mut Vec<u8>, posting: Posting, before: u32) {
    let distance = u64::from(posting.message - before);
    if posting.count == 1 {
        write_number(bytes, distance + 1);
        return;
    }
    bytes.push(0);
    write_number(bytes, distance);
    write_number(bytes, u64::from(posting.count));
}

/// Calls with each posting in encoded bytes.
pub fn read_postings(
    mut bytes: &[u8],
    call: &mut impl FnMut(Posting),
) -> Result<(), DamagedPostings> {
    let mut before = 0u32;
    while !bytes.is_empty() {
        let first = read_number(&mut bytes)?;
        let (distance, count) = match first {
            0 => (read_number(&mut bytes)?, read_number(&mut bytes)?),
            next => (next - 1, 1),
        };
        let distance = u32::try_from(distance).map_err(|_| DamagedPostings)?;
        let message = before.checked_add(distance).ok_or(DamagedPostings)?;
        let count = u32::try_from(count).map_err(|_| DamagedPostings)?;
        if count == 0 || first == 0 && count == 1 {
            return Err(DamagedPostings);
        }
        call(Posting { message, count });
        before = message.checked_add(1).ok_or(DamagedPostings)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(postings: &[(u32, u32)]) -> PostingList {
        let mut list = PostingList::default();
        for (message, count) in postings {
            list.add_times(*message, *count);
        }
        list
    }

    fn postings(list: &PostingList) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        list.for_each(|posting| all.push((posting.message, posting.count)));
        all
    }

    #[test]
    fn a_term_that_stands_once_in_a_near_message_takes_one_byte() {
        assert_eq!(list(&[(0, 1), (1, 1), (128, 1), (129, 3)]).encode(), [1, 1, 127, 0, 0, 3]);
    }

    #[test]
    fn bytes_that_no_list_has_written_are_refused() {
        for damaged in
            [&[0x80][..], &[0], &[0, 0], &[0, 0, 0], &[0, 0, 1], &[0x81, 0], &[0xff; 9], &[3, 0x80]]
        {
            assert_eq!(PostingList::decode(damaged), Err(DamagedPostings), "{damaged:?}");
        }
    }

    proptest! {
        #[test]
        fn a_list_reads_back_as_it_was_written(
            distances in prop::collection::vec((1u32..100_000, prop_oneof![Just(1u32), 1u32..1000]), 0..60),
            first in 0u32..u32::MAX / 2,
        ) {
            let mut message = first;
            let mut expected = Vec::new();
            for (distance, count) in distances {
                message += distance;
                expected.push((message, count));
            }
            let list = list(&expected);
            prop_assert_eq!(postings(&list), expected.clone());
            prop_assert_eq!(list.messages() as usize, expected.len());
            let read = PostingList::decode(&list.encode()).unwrap();
            prop_assert_eq!(&read, &list);
        }

        #[test]
        fn any_bytes_are_postings_that_write_the_same_bytes_or_are_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Ok(list) = PostingList::decode(&bytes) {
                prop_assert_eq!(list.encode(), bytes);
            }
        }
    }
}
