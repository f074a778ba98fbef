//! Compaction: making a context smaller without losing the thread.
//!
//! Everything here is pure: what must go is planned from sizes alone, and what the older part said is told
//! by a model or, when none can, by a deterministic extract. Who calls it asks the model and rotates the log.
//!
//! - [`CompactionGoal`] says when a request is too large and how large it may be afterwards. The floor is what cannot
//!   shrink; the target lies halfway between the floor and the trigger, so that the next compaction is half
//!   of that way off, and none follows at once.
//! - [`prunable`] names the tool outputs that nobody needs any more.
//! - [`cut`] says which messages stay as they are: the open request, and the newest ones as far as they fit.
//! - [`transcript`] is the older part as text, for whoever sums it up; [`accept`] is the gate that such a
//!   summary must pass; [`extract`] sums up without a model, and cannot fail.

mod cut;
mod extract;
mod goal;
mod identifiers;
mod prune;
mod summary;
mod transcript;

pub use cut::{Cut, cut};
pub use extract::extract;
pub use goal::{CompactionGoal, FloorTooBig, SUMMARY_TOKENS_MIN, TokenLimits};
pub use prune::{PrunedOutputs, prunable};
pub use summary::{
    Summary, SummaryRejection, accept, instructions, is_summary, open_request, previous_summary,
    summary_message, unbroken,
};
pub use transcript::{TranscriptChunks, chunks, transcript};

/// How a compaction was done; each is tried when the one before it was not enough or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactionMethod {
    /// Superseded and old tool output is left out.
    Prune,
    /// The older part is summarised, and the newest messages stay as many as the settings say.
    Summary,
    /// Fewer of the newest messages stay.
    SmallerTail,
    /// The older part is too long for one summary, and is summarised piece by piece.
    Chunks,
    /// No model could sum all of it up: what none did is extracted.
    Extract,
}

impl CompactionMethod {
    /// The rung's name in events and on screens.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::Summary => "summary",
            Self::SmallerTail => "smaller-tail",
            Self::Chunks => "chunks",
            Self::Extract => "extract",
        }
    }

    /// The rung of a name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Prune, Self::Summary, Self::SmallerTail, Self::Chunks, Self::Extract];
        all.into_iter().find(|rung| rung.name() == name)
    }
}

/// A message and what it takes of a request.
#[derive(Clone, Copy, Debug)]
pub struct WeighedMessage<'a> {
    /// The message.
    pub message: &'a ship_message::UiMessage,
    /// Its tokens as it is shown.
    pub tokens: u64,
    /// Whether it is of the open request, and stays as it is.
    pub is_open: bool,
}
