//! Making the next request fit: by its own count, and by the provider's word when it counts otherwise.

use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ProviderError;

use crate::compact::{CompactionOutcome, CompactionReason, make_room, prepared};
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::request::{PreparedRequest, last_request, not_recorded};
use crate::run_log::RunLogEntry;

/// How often the provider may say that there is no room while nothing new is said.
const OVERFLOWS_MAX: usize = 2;
/// How often room is made while nothing new is said: the second time at the size that the provider's refusal of
/// the first result names.
const COMPACTIONS_MAX: usize = 2;
/// A shorter answer is no answer.
const ANSWER_MIN: u64 = 256;

/// What a run knows of the sizes of its requests.
pub(crate) struct RequestFit {
    /// How often the provider has said that a request was too large, and what it said last.
    overflows: usize,
    overflow: Option<ProviderError>,
    /// Whether the last request was counted.
    is_counted: bool,
    /// How long the next answer may be.
    answer_max: u64,
    /// Whether room was made for the last request.
    was_compacted: bool,
    /// How often room was made since something was said.
    made: usize,
    /// What the run had said at the last request: its message, and how many parts that had.
    said: (String, usize),
}

/// Why no request can be made that fits.
pub(crate) enum DoesNotFit {
    /// The run itself takes too much: so many parts of its message are to be settled first.
    Settle(usize),
    /// This is what the person reads.
    Sentence(String),
    /// The provider has said so, and nothing can be left out.
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
            made: 0,
            said: (String::new(), 0),
        }
    }

    pub(crate) fn answer_max(&self) -> u64 {
        self.answer_max
    }

    pub(crate) fn was_compacted(&self) -> bool {
        self.was_compacted
    }

    /// Whether the last request was counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    pub(crate) fn may_try_again(&self) -> bool {
        self.overflows < OVERFLOWS_MAX
    }

    /// The provider takes no request of that size: room is made before it is asked again. Nothing else of the
    /// run is done again.
    pub(crate) fn overflowed(&mut self, work: &ActiveRun, error: ProviderError) {
        if let ProviderError::Overflow { observed, limit } = &error {
            let number = |tokens: &Option<u64>| tokens.map_or(Json::Null, Json::from);
            let fields = vec![("observedTokens", number(observed)), ("limitTokens", number(limit))];
            work.note(RunLogEntry { kind: "overflow", fields, ..RunLogEntry::default() });
            if let Some(limit) = limit {
                work.locked.engine.scales.learn_limit(*limit);
            }
        }
        // Some count the answer that is asked for as well.
        self.answer_max = (self.answer_max / 4).max(ANSWER_MIN);
        self.overflows += 1;
        self.overflow = Some(error);
    }

    /// What the model is sent, after room was made for it if it needed any.
    pub(crate) async fn request(
        &mut self,
        work: &Arc<ActiveRun>,
        so_far: &UiMessage,
    ) -> Result<Result<PreparedRequest, DoesNotFit>, RunError> {
        self.notice_growth(so_far);
        let request = prepared(work, Some(so_far)).await;
        let overflow = self.overflow.take();
        self.was_compacted = false;
        let why = match &overflow {
            Some(ProviderError::Overflow { observed, limit }) => {
                // What was refused is this very request, since nothing was said after it.
                if let Some(observed) = observed {
                    let scales = &work.locked.engine.scales;
                    scales.learn(scales.counted(request.pieces()).total(), *observed);
                }
                CompactionReason::Overflow { limit: *limit }
            }
            _ => CompactionReason::Trigger,
        };
        self.is_counted = false;
        // Also how much is little depends on how the provider counts.
        if work.locked.engine.scales.wants_records()
            && let Err(error) = last_request(work).await
        {
            not_recorded(work, &error);
        }
        let is_small = || request.is_small(&work.locked.engine);
        if overflow.is_none() && (self.made > 0 || is_small() && !work.log_is_full().await) {
            return Ok(Ok(request));
        }
        if let Some(error) = overflow.clone().filter(|_| self.made >= COMPACTIONS_MAX) {
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
                // The provider's word still holds when it is asked again.
                self.overflow = overflow;
                Err(DoesNotFit::Settle(count))
            }
            (CompactionOutcome::None(sentence), _) => Err(DoesNotFit::Sentence(format!(
                "I could not answer: {sentence} What you wrote is kept."
            ))),
            (CompactionOutcome::Made(_), _) => {
                self.is_counted = true;
                self.was_compacted = true;
                self.made += 1;
                Ok(request)
            }
        })
    }

    /// Something was said since the last request, so room may be made again.
    fn notice_growth(&mut self, so_far: &UiMessage) {
        let said = (so_far.id().unwrap_or_default().to_owned(), so_far.parts().len());
        if self.said != said {
            self.said = said;
            self.made = 0;
            self.overflows = 0;
        }
    }
}
