//! The postings of a term as bits, for a segment that never changes.
//!
//! The distance to the message before is a Rice code: most terms stand at much the same distance everywhere, and the
//! number of its low bits is chosen for each term. A term that stands once in a message costs one more bit; other counts
//! are Elias gamma codes. This takes half of the bytes of whole numbers.

use super::postings::{DamagedPostings, Posting, PostingList};

/// The longest run of ones in front of the low bits. A distance that needs more follows as it is.
const ONES_MAX: u32 = 24;

/// The bits of a distance that follows as it is.
const WHOLE_BITS: u32 = 32;

/// Returns the postings as bits: a byte with the number of low bits, and the codes.
pub(super) fn pack(list: &PostingList) -> Vec<u8> {
    let mut last = 0;
    list.for_each(|posting| last = posting.message);
    let low_bits = low_bits_of(last, list.messages());
    let mut writer = BitWriter { bytes: vec![low_bits as u8], bits: 0, len: 0 };
    let mut next = 0;
    list.for_each(|Posting { message, count }| {
        let distance = message - next;
        next = message.saturating_add(1);
        let ones = distance >> low_bits;
        if ones < ONES_MAX {
            writer.push_ones(ones);
            writer.push(u64::from(distance) & ((1 << low_bits) - 1), low_bits);
        } else {
            writer.push((1 << ONES_MAX) - 1, ONES_MAX);
            writer.push(u64::from(distance), WHOLE_BITS);
        }
        let more = count.saturating_sub(1);
        writer.push(u64::from(more > 0), 1);
        if more > 0 {
            let width = more.ilog2();
            writer.push_ones(width);
            writer.push(u64::from(more) & ((1 << width) - 1), width);
        }
    });
    writer.finish()
}

/// Chooses the number of low bits by the mean distance.
fn low_bits_of(last: u32, messages: u32) -> u32 {
    let mean = u64::from(last - messages.min(last)) / u64::from(messages.max(1));
    // The best number is that of 0.69 of the mean, the logarithm of two.
    (mean * 69 / 100).checked_ilog2().unwrap_or(0)
}

/// Calls with each of so many postings.
pub(super) fn unpack(
    bytes: &[u8],
    messages: u32,
    call: &mut impl FnMut(Posting),
) -> Result<(), DamagedPostings> {
    let (low_bits, rest) = bytes.split_first().ok_or(DamagedPostings)?;
    let low_bits = u32::from(*low_bits);
    if low_bits > WHOLE_BITS {
        return Err(DamagedPostings);
    }
    let mut reader = BitReader { bytes: rest, bits: 0, len: 0 };
    let mut next = 0u64;
    for _ in 0..messages {
        let ones = reader.ones(ONES_MAX)?;
        let distance = match ones {
            ONES_MAX => reader.take(WHOLE_BITS)?,
            ones => (u64::from(ones) << low_bits) | reader.take(low_bits)?,
        };
        let message = u32::try_from(next + distance).map_err(|_| DamagedPostings)?;
        let mut count = 1;
        if reader.take(1)? == 1 {
            let width = reader.ones(WHOLE_BITS)?;
            let more = (1u64 << width) | reader.take(width)?;
            count = u32::try_from(more + 1).map_err(|_| DamagedPostings)?;
        }
        call(Posting { message, count });
        next = u64::from(message) + 1;
    }
    Ok(())
}

/// Writes bits, the lowest of a byte first.
struct BitWriter {
    bytes: Vec<u8>,
    bits: u64,
    len: u32,
}

impl BitWriter {
    /// Writes the low bits of a value, at most 32.
    fn push(&mut self, value: u64, width: u32) {
        self.bits |= value << self.len;
        self.len += width;
        while self.len >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.len -= 8;
        }
    }

    /// Writes so many ones and a zero; at most 31.
    fn push_ones(&mut self, ones: u32) {
        self.push((1 << ones) - 1, ones + 1);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.len > 0 {
            self.bytes.push(self.bits as u8);
        }
        self.bytes
    }
}

/// Reads bits in the order in which they were written.
struct BitReader<'b> {
    bytes: &'b [u8],
    bits: u64,
    len: u32,
}

impl BitReader<'_> {
    /// Reads so many bits, at most 32.
    fn take(&mut self, width: u32) -> Result<u64, DamagedPostings> {
        while self.len < width {
            let (byte, rest) = self.bytes.split_first().ok_or(DamagedPostings)?;
            self.bytes = rest;
            self.bits |= u64::from(*byte) << self.len;
            self.len += 8;
        }
        let value = self.bits & ((1u64 << width) - 1);
        self.bits >>= width;
        self.len -= width;
        Ok(value)
    }

    /// Counts ones up to a zero, which is read, or up to `most`.
    fn ones(&mut self, most: u32) -> Result<u32, DamagedPostings> {
        let mut ones = 0;
        while ones < most && self.take(1)? == 1 {
            ones += 1;
        }
        Ok(ones)
    }
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

    #[test]
    fn a_term_of_every_third_message_takes_four_bits_in_each() {
        let postings: Vec<(u32, u32)> = (0..800).map(|nth| (nth * 3, 1)).collect();
        assert_eq!(pack(&list(&postings)).len(), 1 + 400);
    }

    proptest! {
        #[test]
        fn packed_postings_read_back(
            distances in prop::collection::vec((prop_oneof![1u32..5, 1u32..100_000], prop_oneof![Just(1u32), 1u32..5000]), 1..60),
            first in prop_oneof![0u32..9, 0u32..u32::MAX / 2],
        ) {
            let mut message = first;
            let mut expected = Vec::new();
            for (distance, count) in distances {
                message += distance;
                expected.push((message, count));
            }
            let packed = pack(&list(&expected));
            let mut read = Vec::new();
            let mut add = |posting: Posting| read.push((posting.message, posting.count));
            unpack(&packed, expected.len() as u32, &mut add).unwrap();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn any_bytes_are_postings_or_are_refused(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            messages in any::<u32>(),
        ) {
            let mut read = 0u32;
            let unpacked = unpack(&bytes, messages, &mut |_| read += 1);
            prop_assert!(unpacked.is_err() || read == messages);
        }
    }
}
