//! Compaction: makes a context smaller without losing the thread.
//!
//! Everything here is pure. Sizes alone decide what is left out. The older part is summarised by a model or, if
//! none can, by a deterministic extract. The caller asks the model and rotates the log.
//!
//! - [`CompactionGoal`] says when a request is too large and how large it may be afterwards. The floor cannot
//!   shrink; the target lies halfway between the floor and the trigger, so that the next
//!   compaction is not due at once.
//! - [`prunable_outputs`] names the tool outputs that are no longer needed.
//! - [`cut`] chooses the messages that stay: the open request, and the newest ones as far as they fit.
//! - [`transcript_entry`] is the older part as text for the model that summarises; [`SummaryCheck`] checks the summary;
//!   [`extract`] makes one without a model, and cannot fail.

mod cut;
mod extract;
mod goal;
mod identifiers;
mod prune;
mod source_text;
mod summary;
mod summary_check;
mod transcript;

pub use cut::{Cut, cut};
pub use extract::extract;
pub use goal::{CompactionGoal, FloorTooBig, SUMMARY_TOKENS_MIN, TokenLimits};
pub use identifiers::identifiers;
pub use prune::{PrunedOutputs, prunable_outputs};
pub use source_text::SourceText;
pub use summary::{
    Summary, continuation_instruction, is_summary, previous_summary, split_off_summary,
    summary_instructions, summary_message,
};
pub use summary_check::{SummaryCheck, SummaryRejection, usable_summary};
pub use transcript::{TranscriptChunks, transcript_chunks, transcript_entry};

/// The method of a compaction; each is tried if the one before it failed or was not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactionMethod {
    /// Superseded and old tool output is left out.
    Prune,
    /// The older part is summarised, and as many of the newest messages stay as the settings say.
    Summary,
    /// Fewer of the newest messages stay.
    SmallerTail,
    /// The older part is too long for one summary, and is summarised piece by piece.
    Chunks,
    /// No model could summarise all of it, and the rest is extracted.
    Extract,
}

ship_message::names!(CompactionMethod {
    Prune = "prune",
    Summary = "summary",
    SmallerTail = "smaller-tail",
    Chunks = "chunks",
    Extract = "extract",
});

/// A message and its share of a request.
#[derive(Clone, Copy, Debug)]
pub struct WeighedMessage<'a> {
    /// The message itself.
    pub message: &'a ship_message::UiMessage,
    /// The tokens of the message as it is shown.
    pub tokens: u64,
    /// Whether it belongs to the open request, and so stays.
    pub is_open: bool,
}
