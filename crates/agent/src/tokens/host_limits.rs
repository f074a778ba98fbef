//! The sizes that a host has shown by refusing and accepting requests.

use ship_message::json::{Json, Object};

/// The limit below which a provider's number is used for one request only: it is assumed to be a mistake.
const LIMIT_MIN: u64 = 1_000;

/// The sizes that a host has shown, in its own tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostLimits {
    /// The limit that it named when it refused a request.
    pub(crate) named: Option<u64>,
    /// The size of the smallest request, with its answer, that it refused without a number and accepted when it was
    /// made smaller.
    pub(crate) refused: Option<u64>,
    /// The longest answer that it lets be asked for, if it has refused more without a number.
    pub(crate) answer: Option<u64>,
    /// The size of the largest request that it accepted.
    pub(crate) accepted: u64,
}

impl HostLimits {
    /// Returns the number of tokens that the host takes at most, as far as it has shown.
    pub(crate) fn window(&self) -> Option<u64> {
        self.named.into_iter().chain(self.refused).min()
    }

    /// Learns the limit that a refusal named.
    pub(super) fn learn_named(&mut self, limit: u64) {
        if limit >= LIMIT_MIN {
            self.named = Some(limit);
        }
    }

    /// Learns from a request that was refused without a number, and accepted when it was smaller.
    pub(super) fn learn_refused(&mut self, refused: RequestSize, accepted: RequestSize) {
        let total = refused.prompt.saturating_add(refused.answer);
        if total >= LIMIT_MIN {
            self.refused = Some(self.refused.map_or(total, |known| known.min(total)));
        }
        if accepted.answer < refused.answer {
            self.answer = Some(self.answer.map_or(accepted.answer, |it| it.min(accepted.answer)));
        }
    }

    /// Learns from a request that was accepted. A limit below it is not true any more: the host takes more than before.
    pub(super) fn learn_accepted(&mut self, prompt: u64) {
        self.accepted = self.accepted.max(prompt);
        self.named = self.named.filter(|limit| prompt <= *limit);
        if self.refused.is_some_and(|refused| prompt > refused) {
            (self.refused, self.answer) = (None, None);
        }
    }

    /// Writes the sizes to the facts of a host.
    pub(crate) fn write_to(&self, facts: &mut Object) {
        facts.set_or_remove("limit", self.named.map(Json::from));
        facts.set_or_remove("refused", self.refused.map(Json::from));
        facts.set_or_remove("answer", self.answer.map(Json::from));
        facts.set_or_remove("accepted", Some(self.accepted).filter(|it| *it > 0).map(Json::from));
    }

    /// Reads the sizes from the facts of a host. What cannot be read is learned again.
    pub(crate) fn read_from(facts: &Object) -> Self {
        let size = |key: &str| facts.get(key).and_then(Json::as_u64);
        let limit = |key: &str| size(key).filter(|limit| *limit >= LIMIT_MIN);
        Self {
            named: limit("limit"),
            refused: limit("refused"),
            answer: size("answer").filter(|answer| *answer > 0),
            accepted: size("accepted").unwrap_or_default(),
        }
    }
}

/// The size of a request: what it shows, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestSize {
    /// The estimated tokens of the prompt.
    pub(crate) prompt: u64,
    /// The tokens that the answer may have.
    pub(crate) answer: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(prompt: u64, answer: u64) -> RequestSize {
        RequestSize { prompt, answer }
    }

    #[test]
    fn a_limit_holds_until_the_host_accepts_more() {
        let mut limits = HostLimits::default();
        limits.learn_named(12);
        assert_eq!(limits.window(), None, "nothing takes so little");
        limits.learn_named(8_000);
        limits.learn_accepted(8_000);
        assert_eq!((limits.window(), limits.accepted), (Some(8_000), 8_000));
        limits.learn_accepted(8_001);
        assert_eq!((limits.window(), limits.accepted), (None, 8_001));
    }

    #[test]
    fn a_refusal_without_a_number_bounds_the_request_and_its_answer() {
        let mut limits = HostLimits::default();
        limits.learn_refused(size(2_300, 8_192), size(2_300, 512));
        assert_eq!((limits.window(), limits.answer), (Some(10_492), Some(512)));
        limits.learn_refused(size(7_000, 512), size(4_000, 512));
        assert_eq!((limits.window(), limits.answer), (Some(7_512), Some(512)));
        limits.learn_named(6_000);
        assert_eq!(limits.window(), Some(6_000));
        let mut facts = Object::new();
        limits.write_to(&mut facts);
        assert_eq!(HostLimits::read_from(&facts), limits);
        limits.learn_accepted(8_000);
        assert_eq!(limits, HostLimits { accepted: 8_000, ..HostLimits::default() });
    }
}
