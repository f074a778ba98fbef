//! Makes digests of texts and bodies, as records and blobs name them.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of bytes in hex.
pub(crate) fn digest(bytes: &[u8]) -> String {
    in_hex(&Sha256::digest(bytes))
}

/// The distance between two states, in bytes: so much is read again at most, and the states take a fortieth of it.
const STEP: usize = 4096;

/// States of the digest of some bytes. From them, the digest of any beginning follows, and those of other bytes that
/// begin in the same way.
#[derive(Clone, Debug)]
pub(crate) struct DigestStates {
    /// The state before each step.
    states: Vec<Sha256>,
}

impl DigestStates {
    /// Digests bytes. Of `before`, other bytes with their states, the part is used that both have at the beginning.
    pub(crate) fn of(bytes: &[u8], before: Option<(&[u8], &Self)>) -> Self {
        let mut states = vec![Sha256::new()];
        let (steps, _) = bytes.as_chunks::<STEP>();
        if let Some((other, known)) = before {
            let pairs = steps.iter().zip(other.as_chunks::<STEP>().0);
            let same = pairs.take_while(|(one, other)| one == other).count();
            states.extend_from_slice(&known.states[1..=same]);
        }
        for step in &steps[states.len() - 1..] {
            let mut state = states[states.len() - 1].clone();
            state.update(step);
            states.push(state);
        }
        Self { states }
    }

    /// Returns the digest of the first `end` of the same bytes.
    pub(crate) fn digest_of(&self, bytes: &[u8], end: usize) -> String {
        let at = end / STEP;
        let mut state = self.states[at].clone();
        state.update(&bytes[at * STEP..end]);
        in_hex(&state.finalize())
    }
}

fn in_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_beginning_has_the_digest_that_it_has_alone() {
        let bytes: Vec<u8> = (0..3 * STEP + 7).map(|at| (at % 251) as u8).collect();
        let states = DigestStates::of(&bytes, None);
        for end in [0, 1, STEP - 1, STEP, STEP + 1, 3 * STEP, bytes.len()] {
            assert_eq!(states.digest_of(&bytes, end), digest(&bytes[..end]), "{end}");
        }
        assert!(states.digest_of(&bytes, 0).starts_with("e3b0c44298fc1c14"));
    }

    #[test]
    fn what_begins_like_other_bytes_is_digested_from_there() {
        let bytes = vec![7; 3 * STEP + 7];
        let states = DigestStates::of(&bytes, None);
        let mut changed = bytes.clone();
        changed[STEP + 1] = 8;
        let longer = [bytes.as_slice(), &[9; 2 * STEP]].concat();
        for other in [changed, longer, bytes[..STEP + 1].to_vec(), Vec::new(), bytes.clone()] {
            let from_there = DigestStates::of(&other, Some((&bytes, &states)));
            for end in [other.len(), other.len() / 2] {
                assert_eq!(from_there.digest_of(&other, end), digest(&other[..end]));
            }
        }
    }

    #[test]
    fn the_same_beginning_is_not_read_again() {
        // States of other bytes show that they were taken, and not made again.
        let (bytes, other) = (vec![7; 2 * STEP], vec![8; 2 * STEP]);
        let foreign = DigestStates::of(&other, None);
        let taken = DigestStates::of(&bytes, Some((&bytes, &foreign)));
        assert_eq!(taken.digest_of(&bytes, bytes.len()), digest(&other));
    }
}
