//! Makes the next request fit, by our own count of tokens, and by the provider's if it refuses the request.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ProviderError;

use crate::compact::{CompactionOutcome, CompactionReason, make_room, prepare_current};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::{PreparedRequest, last_request, log_not_recorded};
use crate::run_log::{RunLogEntry, RunLogKind};

/// The number of overflow errors after which a run gives up if its message does not grow in between.
const OVERFLOWS_MAX: usize = 2;
/// The number of compactions while the message does not grow. The second one uses the size in the provider's refusal
/// of the first result.
const COMPACTIONS_MAX: usize = 2;
/// The smallest useful limit for an answer, in tokens.
const ANSWER_MIN: u64 = 256;

/// Knows the sizes of a run's requests, and how often they did not fit.
pub(crate) struct RequestFit {
    /// The number of overflow errors, and the last one of them.
    overflows: usize,
    overflow: Option<ProviderError>,
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

/// The reason why no request fits.
pub(crate) enum DoesNotFit {
    /// The message of the run is too large: this number of its parts must be settled first.
    Settle(usize),
    /// Nothing can be left out; the sentence tells what is too large.
    Sentence(String),
    /// The provider has refused the request, and nothing can be left out.
    Error(ProviderError),
}

impl RequestFit {
    pub(crate) fn new(work: &ActiveRun) -> Self {
        Self {
            overflows: 0,
            overflow: None,
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

    /// Remembers that the provider refused a request for its size, so that the context is compacted before the next
    /// one. No other part of the run is repeated.
    pub(crate) fn note_overflow(&mut self, work: &ActiveRun, error: ProviderError) {
        if let ProviderError::Overflow { observed, limit } = &error {
            let number = |tokens: &Option<u64>| tokens.map_or(Json::Null, Json::from);
            let fields = vec![("observedTokens", number(observed)), ("limitTokens", number(limit))];
            work.log(RunLogEntry { kind: RunLogKind::Overflow, fields, ..RunLogEntry::default() });
            if let Some(limit) = limit {
                work.locked.engine.token_meter.learn_limit(*limit);
            }
        }
        // Some providers count the maximum length of the answer as well.
        self.answer_max = (self.answer_max / 4).max(ANSWER_MIN);
        self.overflows += 1;
        self.overflow = Some(error);
    }

    /// Prepares the next request, and compacts the context first if the request is too large.
    pub(crate) async fn prepare_request(
        &mut self,
        work: &Arc<ActiveRun>,
        so_far: &UiMessage,
    ) -> Result<Result<PreparedRequest, DoesNotFit>, RunError> {
        self.notice_growth(so_far);
        let request = prepare_current(work, Some(so_far)).await;
        let overflow = self.overflow.take();
        self.was_compacted = false;
        let why = match &overflow {
            Some(ProviderError::Overflow { observed, limit }) => {
                // The refused request was this one, because the message has not grown since.
                if let Some(observed) = observed {
                    let scales = &work.locked.engine.token_meter;
                    scales.learn(scales.count_pieces(request.pieces()).total(), *observed);
                }
                CompactionReason::Overflow { limit: *limit }
            }
            _ => CompactionReason::Trigger,
        };
        self.is_counted = false;
        // Whether a request is small depends on the provider's count too, so the records are read first.
        if work.locked.engine.token_meter.wants_records()
            && let Err(error) = last_request(work).await
        {
            log_not_recorded(work, &error);
        }
        let is_small = || request.surely_fits(&work.locked.engine);
        if overflow.is_none() && (self.compactions > 0 || is_small() && !work.log_is_full().await) {
            return Ok(Ok(request));
        }
        if let Some(error) = overflow.clone().filter(|_| self.compactions >= COMPACTIONS_MAX) {
            return Ok(Err(DoesNotFit::Error(error)));
        }
        let (room, request) = make_room(work, Some(so_far), request, &why).await?;
        Ok(match (room, overflow) {
            (CompactionOutcome::Enough(_), Some(error)) if !self.may_try_again() => {
                Err(DoesNotFit::Error(error))
            }
            (CompactionOutcome::Enough(_), _) => {
                self.is_counted = true;
                Ok(request)
            }
            (CompactionOutcome::Settle(count), overflow) => {
                // The provider's limit still holds for the request after settling.
                self.overflow = overflow;
                Err(DoesNotFit::Settle(count))
            }
            (CompactionOutcome::None(sentence), _) => Err(DoesNotFit::Sentence(sentence)),
            (CompactionOutcome::Made(_), _) => {
                self.is_counted = true;
                self.was_compacted = true;
                self.compactions += 1;
                Ok(request)
            }
        })
    }

    /// Allows new compactions if the message has grown since the last request.
    fn notice_growth(&mut self, so_far: &UiMessage) {
        let last_message = (so_far.id().unwrap_or_default().to_owned(), so_far.parts().len());
        if self.last_message != last_message {
            self.last_message = last_message;
            self.compactions = 0;
            self.overflows = 0;
        }
    }
}
