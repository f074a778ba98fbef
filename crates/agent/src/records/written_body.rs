//! A body with its digests. They are made from those of the body before it, because a body mostly only adds to that.

use std::sync::Arc;

use ship_provider::CachedSequence;

use crate::digest::DigestStates;
use crate::memory_budget::Weighed;

/// A body with the part that a cache sees, and with the digests of both.
#[derive(Debug)]
pub(crate) struct WrittenBody {
    pub(crate) text: String,
    pub(crate) sequence: CachedSequence,
    text_states: DigestStates,
    sequence_states: DigestStates,
}

impl WrittenBody {
    /// Digests a body. `before` is one that it probably begins with.
    pub(crate) fn of(text: String, before: Option<&Self>) -> Self {
        let sequence = CachedSequence::of(&text);
        let known = before.map(|body| (body.text.as_bytes(), &body.text_states));
        let text_states = DigestStates::of(text.as_bytes(), known);
        let known = before.map(|body| (body.sequence.text().as_bytes(), &body.sequence_states));
        let sequence_states = DigestStates::of(sequence.text().as_bytes(), known);
        Self { text, sequence, text_states, sequence_states }
    }

    /// Returns the digest of the body.
    pub(crate) fn sha256(&self) -> String {
        self.text_states.digest_of(self.text.as_bytes(), self.text.len())
    }

    /// Returns the length and the short digest of the part of the sequence with which every extended request begins.
    pub(crate) fn stem(&self) -> (u64, String) {
        let bytes = self.sequence.stem().len();
        (bytes as u64, self.short_digest(bytes))
    }

    /// Whether the sequence begins with a stem.
    pub(crate) fn begins_with(&self, (bytes, sha256): &(u64, String)) -> bool {
        let bytes = usize::try_from(*bytes).ok().filter(|it| *it <= self.sequence.text().len());
        bytes.is_some_and(|bytes| self.short_digest(bytes) == *sha256)
    }

    /// Returns a digest that suffices to tell two beginnings of requests apart.
    fn short_digest(&self, bytes: usize) -> String {
        let mut digest = self.sequence_states.digest_of(self.sequence.text().as_bytes(), bytes);
        digest.truncate(16);
        digest
    }
}

impl Weighed for Arc<WrittenBody> {
    fn bytes(&self) -> usize {
        let texts = self.text.len() + self.sequence.text().len();
        size_of::<WrittenBody>() + texts + texts / 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(messages: &str) -> String {
        format!(r#"{{"model":"m","messages":[{messages}],"tools":[]}}"#)
    }

    #[test]
    fn a_body_has_the_same_digests_whatever_was_before_it() {
        let long = format!(r#"{{"role":"user","content":"{}"}}"#, "a".repeat(10_000));
        let first = WrittenBody::of(body(&long), None);
        let extended = body(&format!(r#"{long},{{"role":"assistant"}}"#));
        for text in [extended.clone(), extended.replacen('a', "b", 20), body("")] {
            let (alone, after) =
                (WrittenBody::of(text.clone(), None), WrittenBody::of(text, Some(&first)));
            assert_eq!((alone.sha256(), alone.stem()), (after.sha256(), after.stem()));
        }
        assert!(WrittenBody::of(extended.clone(), Some(&first)).begins_with(&first.stem()));
        let changed = WrittenBody::of(extended.replace("aaaa", "aaab"), Some(&first));
        assert!(!changed.begins_with(&first.stem()));
        assert!(!first.begins_with(&changed.stem()), "it is longer");
    }
}
