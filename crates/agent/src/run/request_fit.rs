//! Makes the next request fit, by our own count of tokens, and by the provider's if it refuses the request.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ProviderError;
use ship_store::Explanation;

use crate::compact::{CompactionOutcome, CompactionReason, make_room, prepare_current};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::{PreparedRequest, count_request, last_request, log_not_recorded};
use crate::run_log::{RunLogEntry, RunLogKind};

/// The number of overflow errors after which a run gives up if its message does not grow in between.
const OVERFLOWS_MAX: usize = 2;
/// The number of compactions while the message does not grow. The second one uses the size in the provider's refusal
/// of the first result.
const COMPACTIONS_MAX: usize = 2;
/// The part of the known sizes, in percent, above which a refusal without a reason may be for the size.
const SUSPECT_PERCENT: u64 = 80;
/// The smallest useful limit for an answer, in tokens.
const ANSWER_MIN: u64 = 256;

/// Knows the sizes of a run's requests, and how often they did not fit.
pub(crate) struct RequestFit {
    /// The number of overflow errors, and the last one of them with the size of its request.
    overflows: usize,
    refused: Option<RefusedRequest>,
    /// Whether a shorter answer alone was tried since the message has grown.
    is_answer_shortened: bool,
    /// The tokens of the last request since then that was refused without a number, with its answer.
    refused_tokens: Option<u64>,
    /// Whether a smaller request was tried since then after a refusal without any reason.
    is_suspected: bool,
    /// Whether the tokens of the last request were counted.
    is_counted: bool,
    /// The maximum length of the next answer, in tokens.
    answer_max: u64,
    /// Whether the context was compacted for the last request.
    was_compacted: bool,
    /// The number of compactions since the message has grown.
    compactions: usize,
    /// The state of the message at the last request: its id, and the number of its parts.
    last_message: (String, usize),
}

/// A request that the provider refused for its size.
struct RefusedRequest {
    error: ProviderError,
    /// The tokens that its answer might have.
    answer: u64,
}

/// The reason why no request fits.
pub(crate) enum DoesNotFit {
    /// The message of the run is too large: this number of its parts must be settled first.
    Settle(usize),
    /// Nothing can be left out; the explanation says what is too large.
    TooLarge(Explanation),
    /// The provider has refused the request, and nothing can be left out.
    Error(ProviderError),
}

impl RequestFit {
    pub(crate) fn new(work: &ActiveRun) -> Self {
        Self {
            overflows: 0,
            refused: None,
            is_answer_shortened: false,
            refused_tokens: None,
            is_suspected: false,
            is_counted: false,
            answer_max: work.locked.engine.rules.max_tokens,
            was_compacted: false,
            compactions: 0,
            last_message: (String::new(), 0),
        }
    }

    pub(crate) fn answer_max(&self) -> u64 {
        self.answer_max
    }

    pub(crate) fn was_compacted(&self) -> bool {
        self.was_compacted
    }

    /// Whether the tokens of the last request were counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    pub(crate) fn may_try_again(&self) -> bool {
        self.overflows < OVERFLOWS_MAX
    }

    /// Remembers that the provider refused a request for its size, so that the next one is smaller. `answer` is the
    /// number of tokens that its answer might have. No other part of the run is repeated.
    pub(crate) fn note_overflow(&mut self, work: &ActiveRun, error: ProviderError, answer: u64) {
        if let ProviderError::Overflow { prompt, completion, limit } = &error {
            let number = |tokens: &Option<u64>| tokens.map_or(Json::Null, Json::from);
            let fields = vec![
                ("promptTokens", number(prompt)),
                ("completionTokens", number(completion)),
                ("limitTokens", number(limit)),
            ];
            work.log(RunLogEntry { kind: RunLogKind::Overflow, fields, ..RunLogEntry::default() });
            if let Some(limit) = limit {
                work.locked.engine.token_meter.learn_limit(*limit);
            }
        }
        self.overflows += 1;
        self.refused = Some(RefusedRequest { error, answer });
    }

    /// Whether a refused request should be tried again, because it was refused for its size, or may have been.
    pub(crate) async fn may_be_too_large(
        &mut self,
        work: &ActiveRun,
        request: &PreparedRequest,
        error: &ProviderError,
    ) -> bool {
        if matches!(error, ProviderError::Overflow { .. }) {
            return self.may_try_again();
        }
        if !error.is_unexplained() || self.is_suspected {
            return false;
        }
        count_request(work, request).await;
        let engine = &work.locked.engine;
        let largest = engine.token_meter.limits().accepted;
        let tokens = engine.token_meter.estimate_request(request.pieces());
        let is_over = |size: u64| tokens > size / 100 * SUSPECT_PERCENT;
        let is_suspect = match engine.window_tokens() {
            Some(window) if is_over(window) => true,
            // An outage looks the same. It is no reason to compact a chat that the model has room for. A host that
            // refuses for the size mostly answers with one of the other statuses, or says so.
            Some(_) if matches!(error, ProviderError::Unavailable { .. }) => false,
            _ => largest > 0 && is_over(largest),
        };
        self.is_suspected |= is_suspect;
        is_suspect
    }

    /// Learns from the size of an accepted request, if a larger one was refused without a number.
    pub(crate) async fn note_accepted(&mut self, work: &ActiveRun) {
        let Some(refused) = self.refused_tokens.take() else { return };
        let engine = &work.locked.engine;
        match self.is_suspected {
            true => engine.token_meter.learn_suspected(refused),
            false => {
                engine.token_meter.learn_refused(refused);
                // From now on the window that is assumed limits the answers.
                self.answer_max = engine.rules.max_tokens;
            }
        }
        engine.keep_host_facts(work.locked.chat.key()).await;
    }

    /// Prepares the next request, and compacts the context first if the request is too large.
    pub(crate) async fn prepare_request(
        &mut self,
        work: &Arc<ActiveRun>,
        so_far: &UiMessage,
    ) -> Result<Result<PreparedRequest, DoesNotFit>, RunError> {
        self.notice_growth(so_far);
        let request = prepare_current(work, Some(so_far)).await;
        let refused = self.refused.take();
        self.was_compacted = false;
        if refused.is_some() {
            count_request(work, &request).await;
        }
        // The refused request was this one, because the message has not grown since.
        let why = match &refused {
            Some(refused) => self.learn_from_refusal(work, &request, refused),
            None => CompactionReason::Trigger,
        };
        let is_overflow = why != CompactionReason::Trigger;
        self.is_counted = false;
        // Whether a request is small depends on the provider's count too, so the records are read first.
        if work.locked.engine.token_meter.wants_records()
            && let Err(error) = last_request(work).await
        {
            log_not_recorded(work, &error);
        }
        let is_small = || request.surely_fits(&work.locked.engine);
        if !is_overflow && (self.compactions > 0 || is_small() && !work.log_is_full().await) {
            return Ok(Ok(request));
        }
        let error = refused.filter(|_| is_overflow);
        if let Some(refused) = &error
            && self.compactions >= COMPACTIONS_MAX
        {
            return Ok(Err(DoesNotFit::Error(refused.error.clone())));
        }
        let (room, request) = make_room(work, Some(so_far), request, &why).await?;
        Ok(match (room, error) {
            (CompactionOutcome::Enough(_), Some(refused)) if !self.may_try_again() => {
                Err(DoesNotFit::Error(refused.error))
            }
            (CompactionOutcome::Enough(_), _) => {
                self.is_counted = true;
                Ok(request)
            }
            (CompactionOutcome::Settle(count), refused) => {
                // The provider's limit still holds for the request after settling.
                self.refused = refused;
                Err(DoesNotFit::Settle(count))
            }
            (CompactionOutcome::None(why), _) => Err(DoesNotFit::TooLarge(why)),
            (CompactionOutcome::Made(_), _) => {
                self.is_counted = true;
                self.was_compacted = true;
                self.compactions += 1;
                Ok(request)
            }
        })
    }

    /// Learns from a refusal, and decides what becomes smaller: the answer, if the prompt fits beside a shorter one,
    /// or else the context.
    fn learn_from_refusal(
        &mut self,
        work: &ActiveRun,
        request: &PreparedRequest,
        refused: &RefusedRequest,
    ) -> CompactionReason {
        let meter = &work.locked.engine.token_meter;
        let ProviderError::Overflow { prompt, limit, .. } = refused.error else {
            let prompt = meter.estimate_request(request.pieces());
            self.refused_tokens = Some(prompt.saturating_add(refused.answer));
            self.shorten_answer();
            return CompactionReason::Overflow { limit: None };
        };
        if let Some(prompt) = prompt {
            meter.learn(meter.count_pieces(request.pieces()).total(), prompt);
        }
        let Some(limit) = limit else {
            return self.shrink_unexplained(work, request, refused.answer);
        };
        let prompt = prompt.unwrap_or_else(|| meter.estimate_request(request.pieces()));
        // The prompt may be our estimate. Without a margin for its error, the next attempt would be refused too.
        let room = limit.saturating_sub(prompt + prompt / 20 + 64);
        if room >= ANSWER_MIN && room < refused.answer && self.may_shorten_answer() {
            self.answer_max = self.answer_max.min(room);
            return CompactionReason::Trigger;
        }
        self.shorten_answer();
        CompactionReason::Overflow { limit: Some(limit) }
    }

    /// Decides what becomes smaller after a refusal without numbers. The answer may be what is too long, and it is
    /// cheaper to shorten than the context, so it is tried first, once.
    fn shrink_unexplained(
        &mut self,
        work: &ActiveRun,
        request: &PreparedRequest,
        answer: u64,
    ) -> CompactionReason {
        let prompt = work.locked.engine.token_meter.estimate_request(request.pieces());
        self.refused_tokens = Some(prompt.saturating_add(answer));
        let is_answer_large = answer > prompt && answer > 4 * ANSWER_MIN;
        self.shorten_answer();
        if is_answer_large && self.may_shorten_answer() {
            // The window is unknown. Beside an answer of a quarter of the prompt, a second refusal is the prompt's.
            self.answer_max = self.answer_max.min(prompt / 4).max(ANSWER_MIN);
            return CompactionReason::Trigger;
        }
        CompactionReason::Overflow { limit: None }
    }

    /// Whether a shorter answer may be enough. It is tried once, and is no reason to give up earlier.
    fn may_shorten_answer(&mut self) -> bool {
        let may = !std::mem::replace(&mut self.is_answer_shortened, true);
        self.overflows -= usize::from(may);
        may
    }

    /// Shortens the next answer, because some providers count its maximum length as well.
    fn shorten_answer(&mut self) {
        // There are few attempts, so the steps are large: two of them make 512 tokens of 8,192.
        self.answer_max = (self.answer_max / 4).max(ANSWER_MIN);
    }

    /// Allows new compactions if the message has grown since the last request.
    fn notice_growth(&mut self, so_far: &UiMessage) {
        let last_message = (so_far.id().unwrap_or_default().to_owned(), so_far.parts().len());
        if self.last_message != last_message {
            self.last_message = last_message;
            self.compactions = 0;
            self.overflows = 0;
            self.is_answer_shortened = false;
            self.is_suspected = false;
        }
    }
}
