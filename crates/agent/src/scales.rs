//! What a request weighs: everything that is sent, in the tokens that the provider will count.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ship_context::{Calibration, TokenCache, Tokenizer};
use ship_message::json::{Array, Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_provider::{Offline, Provider as _, ToolSpec};

use crate::request::Prepared;

/// A smaller limit is not believed for longer than one request.
const LIMIT_MIN: u64 = 1_000;
/// Of how many messages the tokens are remembered.
const MESSAGES_MAX: usize = 4_096;

/// Counts what a model is sent, and learns from what its provider says it was.
#[derive(Debug)]
pub(crate) struct Scales {
    model: String,
    /// None for the offline model, which has no vocabulary; reading another one costs a tenth of a second.
    tokenizer: Option<Tokenizer>,
    cache: Mutex<TokenCache>,
    calibration: Mutex<Calibration>,
    has_learnt: AtomicBool,
    /// What the provider says that it takes, having refused more; none as zero.
    limit: AtomicU64,
}

/// What the pieces of a request weigh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// System blocks and tools.
    pub(crate) fixed: u64,
    /// Each message as it is shown, what the run has said so far included.
    pub(crate) messages: Vec<u64>,
}

/// What the pieces of a request take, for its record.
pub(crate) struct Weights {
    pub(crate) system: Vec<u64>,
    pub(crate) tools: u64,
    pub(crate) messages: u64,
}

impl Load {
    pub(crate) fn total(&self) -> u64 {
        self.fixed + self.messages.iter().sum::<u64>()
    }
}

impl Scales {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            tokenizer: (model != Offline.model()).then(|| Tokenizer::for_model(model)),
            cache: Mutex::new(TokenCache::new(MESSAGES_MAX)),
            calibration: Mutex::default(),
            has_learnt: AtomicBool::new(false),
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
            None => message.parts().iter().map(rough_part).sum(),
        }
    }

    pub(crate) fn load(&self, request: &Prepared) -> Load {
        let tools: Array = request.tools.iter().map(ToolSpec::to_json).collect();
        let tools = Json::from(tools);
        let system: Vec<String> = request.blocks.iter().map(|block| block.text.clone()).collect();
        let fixed = match &self.tokenizer {
            Some(tokenizer) => {
                self.estimate(tokenizer.system_tokens(&system) + tokenizer.tools_tokens(&tools))
            }
            None => system.iter().map(|text| rough(text)).sum::<u64>() + rough(&tools.to_string()),
        };
        let messages = request.shown.iter().map(|message| self.message(message)).collect();
        Load { fixed, messages }
    }

    /// What each system block, the tools and the messages take. Those that nobody counted are guessed, because
    /// counting takes a vocabulary.
    pub(crate) fn weights(&self, request: &Prepared, is_counted: bool) -> Weights {
        let text = |text: &str| if is_counted { self.count(text) } else { rough(text) };
        let message = |message: &UiMessage| match is_counted {
            true => self.message(message),
            false => message.parts().iter().map(rough_part).sum(),
        };
        Weights {
            system: request.blocks.iter().map(|block| text(&block.text)).collect(),
            tools: text(&request.tools_text()),
            messages: request.shown.iter().map(message).sum(),
        }
    }

    /// Learns from what the provider counted for a request that we had estimated.
    pub(crate) fn learn(&self, estimated: u64, reported: u64) {
        let mut calibration = lock(&self.calibration);
        let factor = calibration.estimate(&self.model, FACTOR_OF).max(1);
        let counted = u128::from(estimated) * u128::from(FACTOR_OF) / u128::from(factor);
        calibration.learn(&self.model, u64::try_from(counted).unwrap_or(u64::MAX), reported);
        self.has_learnt.store(true, Ordering::Relaxed);
    }

    /// What a text may take at most, as far as we know: providers that we know nothing of may count half as
    /// many again.
    pub(crate) fn count_at_most(&self, text: &str) -> u64 {
        let tokens = self.count(text);
        match self.has_learnt.load(Ordering::Relaxed) {
            true => tokens + tokens / 16,
            false => tokens + tokens / 2,
        }
    }

    /// What outlives the process, in the head of a log.
    pub(crate) fn to_object(&self) -> Object {
        lock(&self.calibration).to_object()
    }

    /// Takes over what a log's head carries, unless more is known already.
    pub(crate) fn carry_over(&self, carried: &Object) {
        let mut calibration = lock(&self.calibration);
        if *calibration == Calibration::default() {
            *calibration = Calibration::from_object(carried);
            self.has_learnt.store(*calibration != Calibration::default(), Ordering::Relaxed);
        }
    }

    fn estimate(&self, counted: u64) -> u64 {
        lock(&self.calibration).estimate(&self.model, counted)
    }
}

/// What a model without a vocabulary is said to take: a token for four letters of English, and one for each
/// character of other scripts.
fn rough(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    (ascii / 4 + others + 1) as u64
}

fn rough_part(part: &UiPart) -> u64 {
    match part {
        UiPart::Text(text) => rough(text.text()),
        UiPart::StepStart(_) => 0,
        other => rough(&other.clone().into_json().to_string()),
    }
}

/// Enough digits to read a factor off an estimate.
const FACTOR_OF: u64 = 1_000_000;

/// Counts are whole whatever panicked while they were held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_provider_counts_is_learnt_from_our_own_estimates() {
        let scales = Scales::new("test-model");
        let counted =
            scales.tokenizer.as_ref().unwrap().count(&"the ship sails at dawn ".repeat(200));
        for _ in 0..3 {
            let estimated = scales.estimate(counted);
            scales.learn(estimated, counted * 14 / 10);
        }
        let estimated = scales.estimate(counted);
        let wanted = counted * 14 / 10;
        assert!(estimated.abs_diff(wanted) * 20 <= wanted, "{estimated} for {wanted}");
        let next = Scales::new("test-model");
        next.carry_over(&scales.to_object());
        assert_eq!(next.estimate(counted), estimated, "it outlives the process");
    }
}
