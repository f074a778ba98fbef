//! Counts everything that is sent in a request, in the tokens that the provider will count.
//!
//! There are two numbers for everything. Our own count comes from the vocabulary, and is compared with the
//! provider's report. The estimate is the count that we expect from the provider, and that people see. Each piece
//! of a request is estimated with the same factor, so that pieces add up wherever they are shown.

use parking_lot::Mutex;
use ship_context::{Calibration, CountProgress, KnownCounts, SystemBlock, Tokenizer};
use ship_message::UiMessage;
use ship_message::json::Object;
use ship_provider::{Offline, Provider as _, ToolSpec};

use super::host_limits::HostLimits;
use super::offered_tools::OfferedTools;
use super::piece_tokens::{PieceTokens, RequestLoad, RequestPieces};
use super::rough::{rough_message_tokens, rough_tokens};
use super::text_counts::TextCounts;
use crate::blocking_work::in_place;
use crate::records::{RecordedRequest, RequestAnswer};

/// The number of tokens from which a request is worth a count: smaller ones say nothing about larger ones.
const TEACHES_FROM: u64 = 500;

/// The bytes that are counted in a millisecond or two.
const SHORT_BYTES: usize = 8 * 1024;

/// Counts the tokens that a model is sent, and learns from the provider's reports.
#[derive(Debug)]
pub(crate) struct TokenMeter {
    model: String,
    /// The tokenizer; none for the offline model. Loading a vocabulary costs a tenth of a second.
    tokenizer: Option<Tokenizer>,
    /// The counts of system blocks and tools.
    texts: TextCounts,
    calibration: Mutex<Calibration>,
    limits: Mutex<HostLimits>,
}

impl TokenMeter {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            tokenizer: (model != Offline.model()).then(|| Tokenizer::for_model(model)),
            texts: TextCounts::default(),
            calibration: Mutex::default(),
            limits: Mutex::default(),
        }
    }

    /// Returns the sizes that the host has shown.
    pub(crate) fn limits(&self) -> HostLimits {
        *self.limits.lock()
    }

    /// Takes over the sizes that the host has shown to another process. `known` are those that were known of it before.
    pub(crate) fn merge_limits(&self, known: HostLimits, theirs: HostLimits) {
        self.limits.lock().merge(known, theirs);
    }

    /// Learns the limit that the provider has named in a refusal.
    pub(crate) fn learn_limit(&self, limit: u64) {
        self.limits.lock().learn_named(limit);
    }

    /// Learns the longest answer that may be asked for, which the provider has named in a refusal.
    pub(crate) fn learn_answer_limit(&self, limit: u64) {
        self.limits.lock().answer = Some(limit);
    }

    /// Learns from a request of `tokens`, with its answer, that was refused without a number, and accepted when
    /// it was smaller.
    pub(crate) fn learn_refused(&self, tokens: u64) {
        self.limits.lock().learn_refused(tokens);
    }

    /// Learns from a request of `tokens`, with its answer, that was refused without any reason, and accepted when
    /// it was smaller.
    pub(crate) fn learn_suspected(&self, tokens: u64) {
        self.limits.lock().learn_suspected(tokens);
    }

    /// Learns from a request that the provider has accepted: from its own count of the prompt, or else from our estimate.
    pub(crate) fn learn_accepted(&self, reported: Option<u64>, estimated: u64, answer: u64) {
        let mut limits = self.limits.lock();
        match reported {
            Some(prompt) => limits.learn_accepted(prompt, answer),
            None => limits.learn_estimated(estimated, answer),
        }
    }

    /// Returns the tokens of a text, as the provider will count them.
    pub(crate) fn count(&self, text: &str) -> u64 {
        match &self.tokenizer {
            Some(tokenizer) => self.estimate(self.counted(text.len(), || tokenizer.count(text))),
            None => rough_tokens(text),
        }
    }

    /// Counts so many bytes: a short text where it is, and a long one, or the first, where other chats do not wait.
    fn counted<T>(&self, bytes: usize, count: impl FnOnce() -> T) -> T {
        let is_loaded = self.tokenizer.as_ref().is_none_or(Tokenizer::has_vocabulary);
        match is_loaded && bytes <= SHORT_BYTES {
            true => count(),
            false => in_place(count),
        }
    }

    /// Returns the tokens of a message that is shown.
    pub(crate) fn message_tokens(&self, message: &UiMessage) -> u64 {
        match &self.tokenizer {
            Some(tokenizer) if tokenizer.has_counted(message) => {
                self.estimate(tokenizer.kept_message_tokens(message))
            }
            Some(tokenizer) => {
                let bytes = usize::try_from(rough_message_tokens(message)).unwrap_or(usize::MAX);
                let count = || tokenizer.kept_message_tokens(message);
                self.estimate(self.counted(bytes.saturating_mul(4), count))
            }
            None => rough_message_tokens(message),
        }
    }

    /// Returns how far these messages are counted; all are for a model whose requests are not counted.
    pub(crate) fn count_progress(&self, messages: &[UiMessage]) -> CountProgress {
        let tokenizer = self.tokenizer.as_ref();
        tokenizer.map(|tokenizer| tokenizer.count_progress(messages)).unwrap_or_default()
    }

    /// Returns the thread that has loaded the vocabulary.
    #[cfg(test)]
    pub(crate) fn vocabulary_loader(&self) -> Option<std::thread::ThreadId> {
        self.tokenizer.as_ref().and_then(Tokenizer::loader)
    }

    /// Whether the system blocks and the tools of a request are counted.
    pub(crate) fn has_counted_fixed(&self, blocks: &[SystemBlock], tools: &OfferedTools) -> bool {
        let texts = blocks.iter().map(|block| &block.text).chain(tools.texts());
        self.tokenizer.is_none() || texts.into_iter().all(|text| self.texts.has(text))
    }

    /// Takes over the counts of an earlier process for these messages. Counts the others, and returns their number.
    pub(crate) fn count_messages(&self, messages: &[UiMessage], known: Option<&Object>) -> usize {
        let Some(tokenizer) = &self.tokenizer else { return 0 };
        let known = known.map(|known| KnownCounts::read(tokenizer, known)).unwrap_or_default();
        let new = known.adopt(tokenizer, messages);
        for message in messages {
            tokenizer.kept_message_tokens(message);
        }
        new
    }

    /// Returns the counts of these messages for later processes.
    pub(crate) fn counts_of(&self, messages: &[UiMessage]) -> Option<Object> {
        self.tokenizer.as_ref().map(|tokenizer| KnownCounts::write(tokenizer, messages))
    }

    /// Returns our own count of each piece of a request.
    pub(crate) fn count_pieces(&self, pieces: RequestPieces<'_>) -> PieceTokens {
        match self.has_counted_fixed(pieces.blocks, pieces.tools) {
            true => self.count_each(pieces),
            false => in_place(|| self.count_each(pieces)),
        }
    }

    fn count_each(&self, pieces: RequestPieces<'_>) -> PieceTokens {
        let Some(tokenizer) = &self.tokenizer else { return pieces.rough_tokens() };
        let block = |block: &SystemBlock| {
            let count = || tokenizer.system_tokens(std::slice::from_ref(&block.text));
            self.texts.count(&block.text, count)
        };
        let tool = |(tool, text): (&ToolSpec, &String)| {
            self.texts.count(text, || tokenizer.tools_tokens(&tool.to_json()))
        };
        let message = |message| tokenizer.kept_message_tokens(message);
        PieceTokens {
            system: pieces.blocks.iter().map(block).collect(),
            messages: pieces.messages.iter().map(message).collect(),
            tools: pieces.tools.specs().iter().zip(pieces.tools.texts()).map(tool).collect(),
        }
    }

    /// Returns the provider's expected count for pieces that we have counted.
    pub(crate) fn estimate_pieces(&self, counted: &PieceTokens) -> PieceTokens {
        let each = |counted: &[u64]| self.calibration.lock().shares(&self.model, counted);
        PieceTokens {
            system: each(&counted.system),
            messages: each(&counted.messages),
            tools: each(&counted.tools),
        }
    }

    /// Returns the tokens of the fixed part of a request and of each message.
    pub(crate) fn load_of(&self, pieces: RequestPieces<'_>) -> RequestLoad {
        let PieceTokens { system, messages, tools } =
            self.estimate_pieces(&self.count_pieces(pieces));
        RequestLoad { fixed: system.iter().chain(&tools).sum(), messages }
    }

    /// Learns from a request for which the provider reports `reported` tokens and we have `counted`.
    pub(crate) fn learn(&self, counted: u64, reported: u64) {
        if self.tokenizer.is_some() {
            self.calibration.lock().learn(&self.model, counted, reported);
        }
    }

    /// Learns from recorded requests, the oldest first, unless something is already known.
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

    /// Whether there was a report of the provider to learn from.
    pub(crate) fn has_learnt(&self) -> bool {
        self.calibration.lock().has_report(&self.model)
    }

    /// Whether the recorded requests could teach anything new.
    pub(crate) fn wants_records(&self) -> bool {
        self.tokenizer.is_some() && !self.has_learnt()
    }

    /// Whether an uncounted request should be counted, because its report would be the first to learn from.
    pub(crate) fn wants_to_learn_from(&self, rough_tokens: u64) -> bool {
        rough_tokens >= TEACHES_FROM && self.wants_records()
    }

    /// Returns the ratio of the provider's tokens to ours.
    pub(crate) fn rate(&self) -> f64 {
        match self.tokenizer {
            Some(_) => self.calibration.lock().rate(&self.model),
            None => 1.0,
        }
    }

    /// Returns the ratio of the provider's tokens to ours, or one if it is lower.
    pub(crate) fn rate_at_least_one(&self) -> f64 {
        self.rate().max(1.0)
    }

    /// Returns the most tokens that a text may take, as far as we know: a sixteenth more than we count. An unknown
    /// provider may count half as many again, and at least a twentieth and 64 tokens more. That it counted less before
    /// may be due to what was in that request, so it does not count here.
    pub(crate) fn count_at_most(&self, text: &str) -> u64 {
        match &self.tokenizer {
            Some(tokenizer) => self.at_most(self.counted(text.len(), || tokenizer.count(text))),
            None => self.with_margin(rough_tokens(text)),
        }
    }

    /// Returns the most tokens that something may take of which we count so many.
    pub(crate) fn at_most(&self, counted: u64) -> u64 {
        self.with_margin(self.estimate(counted).max(counted))
    }

    fn with_margin(&self, tokens: u64) -> u64 {
        match self.has_learnt() {
            true => tokens + tokens / 16,
            false => tokens + (tokens / 2).max(tokens / 20 + 64),
        }
    }

    /// Returns the provider's expected count of a whole request.
    pub(crate) fn estimate_request(&self, pieces: RequestPieces<'_>) -> u64 {
        self.estimate_pieces(&self.count_pieces(pieces)).total()
    }

    /// Returns the data that survives the process, in the head of a log.
    pub(crate) fn to_object(&self) -> Object {
        self.calibration.lock().to_object()
    }

    /// Takes over the data that a log's head carries, for models without newer data.
    pub(crate) fn merge_calibration(&self, carried: &Object) {
        self.calibration.lock().merge_older(Calibration::from_object(carried));
    }

    fn estimate(&self, counted: u64) -> u64 {
        self.calibration.lock().piece_tokens(&self.model, counted)
    }
}

#[cfg(test)]
mod tests {
    use ship_message::{Role, UiPart};
    use ship_testkit::texts;

    use super::*;

    /// A chat in one language that grows by one message for each reply.
    fn chat(kind: &str) -> Vec<UiMessage> {
        let (_, text) = texts::ordinary(60_000).into_iter().find(|text| text.0 == kind).unwrap();
        let chars: Vec<char> = text.chars().collect();
        let said = chars.chunks(chars.len() / 20).map(|said| said.iter().collect::<String>());
        let message = |text| UiMessage::new("m", Role::User, vec![UiPart::text(text)]);
        said.take(20).map(message).collect()
    }

    /// Returns our count of a chat, and the count that we expect from the provider.
    fn weighed(meter: &TokenMeter, messages: &[UiMessage]) -> (u64, u64) {
        let counted = meter.count_pieces(RequestPieces {
            blocks: &[],
            messages,
            tools: &OfferedTools::default(),
        });
        (counted.total(), meter.estimate_pieces(&counted).total())
    }

    #[test]
    fn a_provider_that_begins_to_count_otherwise_is_followed_within_three_replies() {
        for kind in ["English", "Chinese", "Rust"] {
            let meter = TokenMeter::new("test-model");
            let chat = chat(kind);
            for reply in 0..20 {
                let (counted, estimated) = weighed(&meter, &chat[..=reply]);
                let reported = if reply < 10 { counted } else { counted * 14 / 10 };
                let is_near = estimated.abs_diff(reported) * 20 <= reported;
                assert!(
                    is_near || reply < 3 || (10..13).contains(&reply),
                    "{kind}, reply {reply}: {estimated} for {reported}"
                );
                meter.learn(counted, reported);
            }
        }
    }

    #[test]
    fn an_estimate_leaves_room_for_its_error_most_of_all_before_the_first_report() {
        let (meter, text) = (TokenMeter::new("test-model"), "The ship sails at dawn. ".repeat(50));
        for text in [&text[..24], &text] {
            let tokens = meter.count(text);
            assert!(meter.count_at_most(text) >= tokens + tokens / 20 + 64, "{tokens}");
        }
        let before = meter.count_at_most(&text);
        meter.learn(2_000, 1_200);
        let counted = Tokenizer::for_model("test-model").count(&text);
        assert!((counted..before).contains(&meter.count_at_most(&text)), "less is not believed");
    }

    #[test]
    fn what_was_learnt_outlives_the_process() {
        let (meter, next) = (TokenMeter::new("test-model"), TokenMeter::new("test-model"));
        let chat = chat("English");
        let (counted, _) = weighed(&meter, &chat);
        meter.learn(counted, counted * 14 / 10);
        next.merge_calibration(&meter.to_object());
        assert_eq!(weighed(&next, &chat), weighed(&meter, &chat));
        assert!(next.has_learnt());
    }

    #[test]
    fn only_what_is_new_in_a_window_is_counted() {
        let meter = TokenMeter::new("test-model");
        let mut messages = chat("English");
        let uncounted =
            |meter: &TokenMeter, messages: &[UiMessage]| meter.count_progress(messages).uncounted;
        assert_eq!(uncounted(&meter, &messages), messages);
        weighed(&meter, &messages);
        messages.push(UiMessage::new("m", Role::User, vec![UiPart::text("This is new.")]));
        assert_eq!(uncounted(&meter, &messages), messages[20..]);
        // A later process reads the same messages, and knows nothing of them but the counts.
        let (later, again) = (TokenMeter::new("test-model"), chat("English"));
        let known = meter.counts_of(&messages);
        assert_eq!(later.count_messages(&again, known.as_ref()), 0);
        assert!(uncounted(&later, &again).is_empty());
        assert_eq!(weighed(&later, &again), weighed(&meter, &messages[..20]));
    }
}
