//! Counts a single character.
//!
//! The tokens of a rare character depend on which of its bytes the vocabulary knows together. Those tokens are few,
//! and merging at most four bytes takes only some lookups. So the count is exact for the character, and ignores
//! only that its neighbours might have shared a token with it. Among characters in random order, few do.

use std::collections::HashMap;

use tiktoken::CoreBpe;

/// The tokens that can be part of one character outside of ASCII, with their ranks.
#[derive(Debug)]
pub(super) struct CharTokens {
    ranks: HashMap<u32, u32>,
}

/// Some vocabularies skip numbers, so that their last number is beyond their size.
const GAPS_MAX: usize = 4096;

impl CharTokens {
    /// Searches a vocabulary, which takes some milliseconds.
    pub(super) fn of_vocabulary(encoding: &CoreBpe) -> Self {
        let ids = 0..(encoding.vocab_size() + GAPS_MAX) as u32;
        let ranks = ids.filter_map(|id| Some((pack_bytes(&encoding.decode(&[id]))?, id))).collect();
        Self { ranks }
    }

    /// Counts the tokens of a character outside of ASCII: as long as two neighbours make a token, the pair with the
    /// lowest rank is joined.
    pub(super) fn count(&self, c: char) -> u64 {
        let mut buffer = [0; 4];
        let bytes = c.encode_utf8(&mut buffer).as_bytes();
        let mut bounds = [0, 1, 2, 3, 4];
        let mut tokens = bytes.len();
        loop {
            let joined = |at: usize| {
                let rank = self.ranks.get(&pack_bytes(&bytes[bounds[at]..bounds[at + 2]])?)?;
                Some((*rank, at))
            };
            let Some((_, at)) = (0..tokens - 1).filter_map(joined).min() else {
                return tokens as u64;
            };
            bounds.copy_within(at + 2..=tokens, at + 1);
            tokens -= 1;
        }
    }
}

/// Returns the bytes as a number, if they can be part of one character.
fn pack_bytes(bytes: &[u8]) -> Option<u32> {
    let inside = (2..=4).contains(&bytes.len()) && bytes.iter().all(|byte| !byte.is_ascii());
    inside.then(|| bytes.iter().fold(0, |key, byte| key << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::super::family::Family;
    use super::*;

    #[test]
    fn a_character_takes_what_the_tokenizer_gives_it_alone() {
        for family in [Family::OpenAi, Family::DeepSeek] {
            let encoding = family.encoding().unwrap();
            let tokens = CharTokens::of_vocabulary(encoding);
            for c in ('\u{80}'..=char::MAX).step_by(397) {
                let alone = encoding.count(c.encode_utf8(&mut [0; 4])) as u64;
                assert_eq!(tokens.count(c), alone, "{family:?} {:x}", u32::from(c));
            }
        }
    }
}
