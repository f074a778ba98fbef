//! The sizes that a host has shown by refusing and accepting requests.

use ship_message::json::{Json, Object};

/// The limit below which a provider's number is used for one request only: it is assumed to be a mistake.
const LIMIT_MIN: u64 = 1_000;

/// The sizes that a host has shown, in its own tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostLimits {
    /// The limit that it named when it refused a request.
    pub(crate) named: Option<u64>,
    /// The size of the smallest request, with its answer, that it refused without a number and accepted when it
    /// was made smaller.
    pub(crate) refused: Option<u64>,
    /// The size of a request, with its answer, that it refused once without any reason and accepted when it
    /// was made smaller.
    pub(crate) suspected: Option<u64>,
    /// The longest answer that may be asked for, if it has refused a longer one.
    pub(crate) answer: Option<u64>,
    /// The size of the largest request that it accepted.
    pub(crate) accepted: u64,
}

impl HostLimits {
    /// Returns the number of tokens that the host takes at most, as far as it has shown.
    pub(crate) fn window(&self) -> Option<u64> {
        let assumed = self.refused.map(|refused| self.assume_window(refused));
        self.named.into_iter().chain(assumed).min()
    }

    /// Returns the window that a host is assumed to have which has `refused` so many tokens: 1,000 tokens doubled as
    /// often as there is room, because most windows are of such a size or a little more. It has at least what the
    /// host has accepted.
    fn assume_window(&self, refused: u64) -> u64 {
        let below = refused.saturating_sub(1);
        let doublings = (below / LIMIT_MIN).checked_ilog2().unwrap_or_default();
        let usual = below.min(LIMIT_MIN << doublings);
        Some(self.accepted).filter(|accepted| *accepted < refused).map_or(usual, |it| it.max(usual))
    }

    /// Learns the limit that a refusal named. It is better than any assumption.
    pub(super) fn learn_named(&mut self, limit: u64) {
        if limit >= LIMIT_MIN {
            (self.named, self.refused) = (Some(limit), None);
        }
    }

    /// Learns from a request of `tokens`, with its answer, that was refused without a number, and accepted when
    /// it was smaller.
    pub(super) fn learn_refused(&mut self, tokens: u64) {
        if tokens >= LIMIT_MIN {
            self.refused = Some(self.refused.map_or(tokens, |known| known.min(tokens)));
        }
    }

    /// Learns from a request of `tokens`, with its answer, that was refused without any reason, and accepted when it was
    /// smaller. One such refusal may be an accident; a second one, with none as large accepted in between, is not.
    pub(super) fn learn_suspected(&mut self, tokens: u64) {
        match self.suspected.take() {
            Some(known) => self.learn_refused(known.min(tokens)),
            None => self.suspected = Some(tokens).filter(|tokens| *tokens >= LIMIT_MIN),
        }
    }

    /// Learns from a request that was accepted, by our own estimate of its prompt.
    pub(super) fn learn_estimated(&mut self, prompt: u64, answer: u64) {
        self.accepted = self.accepted.max(prompt);
        self.answer = self.answer.filter(|limit| answer <= *limit);
        let sum = prompt.saturating_add(answer);
        // Both sizes are estimates. A request that is larger by less than their error, a sixteenth, proves nothing.
        self.suspected = self.suspected.filter(|suspected| sum - sum / 16 <= *suspected);
    }

    /// Learns from a request that was accepted, and whose prompt the host has counted. A limit below it is not true any
    /// more: the host takes more than before.
    pub(super) fn learn_accepted(&mut self, prompt: u64, answer: u64) {
        self.learn_estimated(prompt, answer);
        self.named = self.named.filter(|limit| prompt <= *limit);
        self.refused = self.refused.filter(|refused| prompt <= *refused);
    }

    /// Takes over what another process has learned. `known` is what both had learned before; a limit that this process
    /// has learned or given up since then stays so.
    pub(super) fn merge(&mut self, known: Self, theirs: Self) {
        let newer = |ours: Option<u64>, known: Option<u64>, their: Option<u64>| match their {
            _ if ours != known => ours,
            Some(_) => their,
            // It may be missing because two processes wrote at the same moment.
            None => ours.filter(|limit| theirs.accepted <= *limit),
        };
        let is_named_anew = theirs.named.is_some() && theirs.named != known.named;
        self.refused = match is_named_anew {
            true => theirs.refused,
            false => newer(self.refused, known.refused, theirs.refused),
        };
        self.named = newer(self.named, known.named, theirs.named);
        if self.suspected == known.suspected {
            self.suspected = theirs.suspected;
        }
        if self.answer == known.answer {
            self.answer = theirs.answer.or(self.answer);
        }
        self.accepted = self.accepted.max(theirs.accepted);
    }

    /// Writes the sizes to the facts of a host.
    pub(crate) fn write_to(&self, facts: &mut Object) {
        facts.set_or_remove("limit", self.named.map(Json::from));
        facts.set_or_remove("refused", self.refused.map(Json::from));
        facts.set_or_remove("suspected", self.suspected.map(Json::from));
        facts.set_or_remove("answerLimit", self.answer.map(Json::from));
        facts.set_or_remove("accepted", Some(self.accepted).filter(|it| *it > 0).map(Json::from));
    }

    /// Reads the sizes from the facts of a host. What cannot be read is learned again.
    pub(crate) fn read_from(facts: &Object) -> Self {
        let size = |key: &str| facts.get(key).and_then(Json::as_u64);
        let limit = |key: &str| size(key).filter(|limit| *limit >= LIMIT_MIN);
        Self {
            named: limit("limit"),
            refused: limit("refused"),
            suspected: limit("suspected"),
            answer: size("answerLimit").filter(|answer| *answer > 0),
            accepted: size("accepted").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_until_the_host_accepts_more() {
        let mut limits = HostLimits::default();
        limits.learn_named(12);
        assert_eq!(limits.window(), None, "nothing takes so little");
        limits.learn_named(8_000);
        limits.learn_accepted(8_000, 500);
        assert_eq!((limits.window(), limits.accepted), (Some(8_000), 8_000));
        limits.learn_accepted(8_001, 500);
        assert_eq!((limits.window(), limits.accepted), (None, 8_001));
    }

    #[test]
    fn what_another_process_learns_is_taken_over_unless_we_have_learned_otherwise_since() {
        let [none, small, large] = [None, Some(4_000), Some(8_000)];
        let limits = |named, refused, accepted| HostLimits {
            named,
            refused,
            accepted,
            ..HostLimits::default()
        };
        for (ours, known, theirs, merged) in [
            ((none, none, 900), (none, none, 900), (large, none, 700), (large, none, 900)),
            ((none, none, 900), (none, none, 900), (none, large, 1_000), (none, large, 1_000)),
            ((small, none, 900), (none, none, 900), (large, none, 900), (small, none, 900)),
            ((large, none, 900), (large, none, 900), (small, none, 900), (small, none, 900)),
            // One was given up, by them and by us.
            ((large, none, 900), (large, none, 900), (none, none, 9_000), (none, none, 9_000)),
            ((none, none, 9_000), (large, none, 900), (large, none, 900), (none, none, 9_000)),
            // One was lost, because both wrote at the same moment.
            ((large, none, 900), (large, none, 900), (none, none, 700), (large, none, 900)),
            // A number is better than an assumption.
            ((none, small, 900), (none, small, 900), (large, none, 900), (large, none, 900)),
        ] {
            let [mut ours, known, theirs, merged] =
                [ours, known, theirs, merged].map(|it| limits(it.0, it.1, it.2));
            ours.merge(known, theirs);
            assert_eq!(ours, merged, "{known:?} {theirs:?}");
        }
    }

    #[test]
    fn a_host_that_refuses_without_a_number_is_assumed_to_have_the_next_usual_window() {
        for (refused, accepted, window) in [
            (10_492, 2_300, 8_000),
            (10_492, 9_000, 9_000),
            (8_001, 0, 8_000),
            (8_000, 8_000, 4_000),
            (40_000, 0, 32_000),
            (1_000, 0, 999),
            (u64::MAX, 0, 1_000 << 54),
        ] {
            let mut limits = HostLimits { accepted, ..HostLimits::default() };
            limits.learn_refused(refused);
            assert_eq!(limits.window(), Some(window), "{refused} refused, {accepted} accepted");
        }
    }

    #[test]
    fn a_refusal_without_a_reason_counts_when_it_comes_again_and_none_as_large_was_accepted() {
        let mut limits = HostLimits::default();
        limits.learn_suspected(14_200);
        assert_eq!(limits.window(), None, "it may have been an accident");
        let mut facts = Object::new();
        limits.write_to(&mut facts);
        assert_eq!(HostLimits::read_from(&facts), limits);
        let mut proven = limits;
        limits.learn_accepted(5_900, 8_192);
        limits.learn_suspected(14_300);
        assert_eq!((limits.refused, limits.window()), (Some(14_200), Some(8_000)));
        proven.learn_estimated(8_000, 8_192);
        proven.learn_suspected(14_300);
        assert_eq!(proven.window(), None, "the first was an accident");
    }

    #[test]
    fn an_estimate_makes_no_limit_void() {
        let mut limits = HostLimits::default();
        limits.learn_named(8_000);
        limits.learn_estimated(8_100, 500);
        assert_eq!((limits.window(), limits.accepted), (Some(8_000), 8_100));
    }

    #[test]
    fn the_smallest_refusal_counts_until_a_limit_is_named_or_more_is_accepted() {
        let mut limits = HostLimits::default();
        limits.learn_refused(7_512);
        limits.learn_refused(10_492);
        assert_eq!(limits.refused, Some(7_512));
        let mut facts = Object::new();
        limits.write_to(&mut facts);
        assert_eq!(HostLimits::read_from(&facts), limits);
        let mut named = limits;
        named.learn_named(6_000);
        assert_eq!(named.window(), Some(6_000));
        limits.learn_accepted(8_000, 500);
        assert_eq!(limits, HostLimits { accepted: 8_000, ..HostLimits::default() });
    }
}
