//! What a request weighs: everything that is sent, in the tokens that the provider will count.
//!
//! There are two numbers for everything. Our own count is what the vocabulary gives, and what the provider's
//! report is compared with; the estimate is what we expect it to count, and what people are told. Each piece
//! of a request is estimated in the same proportion, so that pieces add up wherever they are shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ship_context::{Calibration, SystemBlock, TokenCache, Tokenizer};
use ship_message::UiMessage;
use ship_message::json::Object;
use ship_provider::{Offline, Provider as _, ToolSpec};

use super::piece_tokens::{PieceTokens, RequestLoad, RequestPieces};
use super::rough::{rough, rough_message};
use crate::records::{RecordedRequest, RequestAnswer};

/// A smaller limit is not believed for longer than one request.
const LIMIT_MIN: u64 = 1_000;
/// Of how many messages the tokens are remembered: as many as a log has before it is compacted for its length.
const MESSAGES_MAX: usize = 20_000;
/// A smaller request is not worth a vocabulary: what a provider adds to it tells nothing of larger ones.
const TEACHES_FROM: u64 = 500;

/// Counts what a model is sent, and learns from what its provider says it was.
#[derive(Debug)]
pub(crate) struct TokenMeter {
    model: String,
    /// None for the offline model, which has no vocabulary; reading another one costs a tenth of a second.
    tokenizer: Option<Tokenizer>,
    cache: Mutex<TokenCache>,
    calibration: Mutex<Calibration>,
    /// What the provider says that it takes, having refused more; none as zero.
    limit: AtomicU64,
}

impl TokenMeter {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            tokenizer: (model != Offline.model()).then(|| Tokenizer::for_model(model)),
            cache: Mutex::new(TokenCache::new(MESSAGES_MAX)),
            calibration: Mutex::default(),
            limit: AtomicU64::new(0),
        }
    }

    /// What the provider says that it takes.
    pub(crate) fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    /// Remembers what the provider says that it takes. No model takes so little that it is not a slip.
    pub(crate) fn learn_limit(&self, limit: u64) {
        if limit >= LIMIT_MIN {
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// The tokens of a text, as the provider will count them.
    pub(crate) fn count(&self, text: &str) -> u64 {
        match &self.tokenizer {
            Some(tokenizer) => self.estimate(tokenizer.count(text)),
            None => rough(text),
        }
    }

    /// The tokens of a message that is shown.
    pub(crate) fn message(&self, message: &UiMessage) -> u64 {
        match &self.tokenizer {
            Some(tokenizer) => {
                let counted = lock(&self.cache).message_tokens(tokenizer, message);
                self.estimate(counted)
            }
            None => rough_message(message),
        }
    }

    /// Our own count of each piece of a request.
    pub(crate) fn counted(&self, pieces: RequestPieces<'_>) -> PieceTokens {
        let Some(tokenizer) = &self.tokenizer else { return pieces.rough() };
        let block =
            |block: &SystemBlock| tokenizer.system_tokens(std::slice::from_ref(&block.text));
        let tool = |tool: &ToolSpec| tokenizer.tools_tokens(&tool.to_json());
        let mut cache = lock(&self.cache);
        let message = |message| cache.message_tokens(tokenizer, message);
        PieceTokens {
            system: pieces.blocks.iter().map(block).collect(),
            messages: pieces.messages.iter().map(message).collect(),
            tools: pieces.tools.iter().map(tool).collect(),
        }
    }

    /// What the provider will count for pieces that we have counted.
    pub(crate) fn estimated(&self, counted: &PieceTokens) -> PieceTokens {
        let each =
            |counted: &[u64]| counted.iter().map(|counted| self.estimate(*counted)).collect();
        PieceTokens {
            system: each(&counted.system),
            messages: each(&counted.messages),
            tools: each(&counted.tools),
        }
    }

    /// What a request takes as a whole, and each of its messages.
    pub(crate) fn load(&self, pieces: RequestPieces<'_>) -> RequestLoad {
        let PieceTokens { system, messages, tools } = self.estimated(&self.counted(pieces));
        RequestLoad { fixed: system.iter().chain(&tools).sum(), messages }
    }

    /// Learns from what the provider counted for a request of which we count so many tokens.
    pub(crate) fn learn(&self, counted: u64, reported: u64) {
        if self.tokenizer.is_some() {
            lock(&self.calibration).learn(&self.model, counted, reported);
        }
    }

    /// Learns from requests that are on record, the oldest first, unless something is known already.
    pub(crate) fn learn_from(&self, calls: &[RecordedRequest]) {
        if !self.wants_records() {
            return;
        }
        for call in calls.iter().filter(|call| call.record.recipe.model == self.model) {
            if let Some(RequestAnswer::Answered { usage: Some(usage), counted, .. }) = &call.answer
                && let Some(counted) = counted
            {
                self.learn(*counted, usage.input);
            }
        }
    }

    /// Whether the provider has taught anything of how it counts.
    pub(crate) fn has_learnt(&self) -> bool {
        lock(&self.calibration).knows(&self.model)
    }

    /// Whether the requests on record could teach anything that is not known yet.
    pub(crate) fn wants_records(&self) -> bool {
        self.tokenizer.is_some() && !self.has_learnt()
    }

    /// Whether a request that nobody has counted should be, because its report would be the first that teaches
    /// anything.
    pub(crate) fn wants_to_learn_from(&self, rough_tokens: u64) -> bool {
        rough_tokens >= TEACHES_FROM && self.wants_records()
    }

    /// How many tokens the provider counts for one of ours, or one if it counts less.
    pub(crate) fn rate_at_least_one(&self) -> f64 {
        match self.tokenizer {
            Some(_) => lock(&self.calibration).rate(&self.model).max(1.0),
            None => 1.0,
        }
    }

    /// What a text may take at most, as far as we know: providers that we know nothing of may count half as
    /// many again.
    pub(crate) fn count_at_most(&self, text: &str) -> u64 {
        let tokens = self.count(text);
        match self.has_learnt() {
            true => tokens + tokens / 16,
            false => tokens + tokens / 2,
        }
    }

    /// What outlives the process, in the head of a log.
    pub(crate) fn to_object(&self) -> Object {
        lock(&self.calibration).to_object()
    }

    /// Takes over what a log's head carries, as far as no more is known already.
    pub(crate) fn carry_over(&self, carried: &Object) {
        lock(&self.calibration).carry_over(Calibration::from_object(carried));
    }

    fn estimate(&self, counted: u64) -> u64 {
        lock(&self.calibration).share(&self.model, counted)
    }
}

/// Counts are whole whatever panicked while they were held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use ship_message::{Role, UiPart};
    use ship_testkit::texts;

    use super::*;

    /// A chat in a language that grows by one message for each reply.
    fn chat(kind: &str) -> Vec<UiMessage> {
        let (_, text) = texts::ordinary(60_000).into_iter().find(|text| text.0 == kind).unwrap();
        let chars: Vec<char> = text.chars().collect();
        let said = chars.chunks(chars.len() / 20).map(|said| said.iter().collect::<String>());
        let message = |text| UiMessage::new("m", Role::User, vec![UiPart::text(text)]);
        said.take(20).map(message).collect()
    }

    /// What we count of a chat, and what we expect the provider to.
    fn weighed(scales: &TokenMeter, messages: &[UiMessage]) -> (u64, u64) {
        let counted = scales.counted(RequestPieces { blocks: &[], messages, tools: &[] });
        (counted.total(), scales.estimated(&counted).total())
    }

    #[test]
    fn a_provider_that_begins_to_count_otherwise_is_followed_within_three_replies() {
        for kind in ["English", "Chinese", "Rust"] {
            let scales = TokenMeter::new("test-model");
            let chat = chat(kind);
            for reply in 0..20 {
                let (counted, estimated) = weighed(&scales, &chat[..=reply]);
                let reported = if reply < 10 { counted } else { counted * 14 / 10 };
                let is_near = estimated.abs_diff(reported) * 20 <= reported;
                assert!(
                    is_near || reply < 3 || (10..13).contains(&reply),
                    "{kind}, reply {reply}: {estimated} for {reported}"
                );
                scales.learn(counted, reported);
            }
        }
    }

    #[test]
    fn what_was_learnt_outlives_the_process() {
        let (scales, next) = (TokenMeter::new("test-model"), TokenMeter::new("test-model"));
        let chat = chat("English");
        let (counted, _) = weighed(&scales, &chat);
        scales.learn(counted, counted * 14 / 10);
        next.carry_over(&scales.to_object());
        assert_eq!(weighed(&next, &chat), weighed(&scales, &chat));
        assert!(next.has_learnt());
    }

    #[test]
    fn a_log_as_long_as_it_may_be_is_counted_once() {
        let scales = TokenMeter::new("test-model");
        let message =
            |nth| UiMessage::new("m", Role::User, vec![UiPart::text(format!("This is {nth}."))]);
        let messages: Vec<UiMessage> =
            (0..crate::rules::Rules::default().log_lines_max).map(message).collect();
        weighed(&scales, &messages);
        weighed(&scales, &messages);
        assert_eq!(lock(&scales.cache).counted(), messages.len() as u64);
    }
}
