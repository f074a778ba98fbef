//! Calls a model for a summary, once for each piece of the history that it can read at once.

use std::time::Duration;

use ship_context::SystemBlock;
use ship_context::compact::{
    CompactionGoal, CompactionMethod, SourceText, SummaryCheck, SummaryRejection, TranscriptChunks,
    extract, summary_instructions, transcript_chunks, transcript_entry, usable_summary,
};
use ship_message::{Chunk, Role, UiMessage, UiPart};
use ship_provider::ProviderError;

use super::continuation::ChatRequest;
use crate::blocking_work::in_place;
use crate::engine::{ActiveRun, SummaryCost};
use crate::error::RunError;
use crate::events::RunEvent;
use crate::request::{ModelCall, PreparedRequest};
use crate::run_notice::notice;

/// The number of calls for one compaction, besides one that continues the chat and one that is repeated.
const CALLS_MAX: usize = 8;
/// The number of times that a provider may refuse a call for a summary as too large.
const OVERFLOWS_MAX: usize = 2;
/// The number of tokens from which a piece is worth a call.
const PIECE_TOKENS_MIN: u64 = 500;

/// The tokens of a request for a summary besides the transcript: the instructions, and a margin.
const OVERHEAD: u64 = 1_000;
/// The time that one summary may take.
const DEADLINE: Duration = Duration::from_secs(180);

/// The reason why a call gave no summary.
#[derive(Debug, thiserror::Error)]
pub(super) enum SummaryFailure {
    #[error(transparent)]
    Rejected(#[from] SummaryRejection),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Record(#[from] RunError),
    #[error("the summary took too long")]
    Late,
}

impl SummaryFailure {
    pub(super) fn is_for_length(&self) -> bool {
        matches!(self, Self::Rejected(SummaryRejection::LongerThanSource))
    }

    /// Whether a transcript may help where a continuation of the chat did not.
    fn leads_to_transcript(&self) -> bool {
        matches!(self, Self::Rejected(_) | Self::Provider(ProviderError::Overflow { .. }))
    }

    /// Returns why the model is asked once more, if it only missed the form.
    fn missed_form(&self) -> Option<SummaryRejection> {
        match self {
            Self::Rejected(rejection) => Some(*rejection).filter(|it| it.is_of_form()),
            Self::Provider(_) | Self::Record(_) | Self::Late => None,
        }
    }
}

/// The progress of the models.
pub(super) struct SummaryProgress {
    /// The summary of the first `messages`; `None` if there was no answer.
    pub(super) prose: Option<String>,
    pub(super) messages: usize,
    pub(super) method: CompactionMethod,
    /// The reason why the other messages are not in it.
    pub(super) failed: Option<SummaryFailure>,
}

pub(super) struct Summariser<'a> {
    pub(super) work: &'a ActiveRun,
    pub(super) goal: &'a CompactionGoal,
    pub(super) wishes: Option<&'a str>,
    pub(super) source: &'a SourceText,
    pub(super) count: &'a (dyn Fn(&str) -> u64 + Sync),
}

impl Summariser<'_> {
    /// Asks for a summary of `messages`: as a continuation of the chat if that is possible, and else of a transcript.
    pub(super) async fn summarise(
        &self,
        chat: Option<ChatRequest<'_>>,
        messages: &[&UiMessage],
        previous: Option<&str>,
        cost: &mut SummaryCost,
    ) -> SummaryProgress {
        let mut progress = SummaryProgress {
            prose: None,
            messages: 0,
            method: CompactionMethod::Summary,
            failed: None,
        };
        let summed = match chat {
            Some(chat) => self.continue_chat(chat, cost).await,
            None => None,
        };
        match summed {
            Some(Ok(prose)) => {
                (progress.prose, progress.messages) = (Some(prose), messages.len());
                progress
            }
            Some(Err(failed)) if !failed.leads_to_transcript() => {
                progress.failed = Some(failed);
                progress
            }
            Some(Err(failed)) => {
                let missed = failed.missed_form();
                self.summarise_in_parts(messages, previous, missed, cost).await
            }
            None => self.summarise_in_parts(messages, previous, None, cost).await,
        }
    }

    /// Asks for one summary of everything, or piece by piece, each of which updates the one before. Messages that
    /// are older than the calls can read are extracted, and the first call gets that extract as its summary so far.
    /// If a piece is larger than the provider takes, the rest is divided again.
    /// `missed` is the reason why an earlier text was not used.
    async fn summarise_in_parts(
        &self,
        messages: &[&UiMessage],
        previous: Option<&str>,
        mut missed: Option<SummaryRejection>,
        cost: &mut SummaryCost,
    ) -> SummaryProgress {
        let summary_room = self.goal.summary_room();
        let is_long = |text: &str| (self.count)(text) > summary_room;
        let mut room = self.piece_room(self.goal.reading);
        let mut read = SummaryProgress {
            prose: None,
            messages: 0,
            method: CompactionMethod::Summary,
            failed: None,
        };
        let (mut calls, mut overflows) = (0, 0);
        let mut may_repeat = missed.is_none();
        'parted: loop {
            let from = read.messages;
            let source = messages[from..].iter().map(|message| transcript_entry(message));
            let TranscriptChunks { texts, starts, unread } =
                in_place(|| transcript_chunks(source, room, CALLS_MAX - calls, self.count));
            if texts.len() > 1 || unread > 0 || from > 0 || overflows > 0 {
                read.method = CompactionMethod::Chunks;
            }
            let known = read.prose.as_deref().or(previous);
            let mut so_far = match known {
                Some(text) if unread == 0 && !is_long(text) => Some(text.to_owned()),
                None if unread == 0 => None,
                known => {
                    let unread = &messages[from..from + unread];
                    Some(in_place(|| extract(known, unread, summary_room, self.count)))
                }
            };
            for (nth, piece) in texts.iter().enumerate() {
                if texts.len() > 1 {
                    self.notify_part(nth + 1, texts.len());
                }
                calls += 1;
                let mut part =
                    SummaryPart { piece, previous: so_far.as_deref(), missed: missed.take() };
                let mut summed = self.summarise_part(part, cost).await;
                if let Err(failed) = &summed
                    && let Some(missed) = failed.missed_form().filter(|_| may_repeat)
                {
                    may_repeat = false;
                    part.missed = Some(missed);
                    summed = self.summarise_part(part, cost).await;
                }
                match summed {
                    Ok(prose) => {
                        so_far = Some(prose.clone());
                        read.prose = Some(prose);
                        read.messages = starts.get(nth + 1).map_or(messages.len(), |at| from + at);
                    }
                    Err(SummaryFailure::Provider(ProviderError::Overflow { limit, .. }))
                        if overflows < OVERFLOWS_MAX
                            && calls < CALLS_MAX
                            && room > PIECE_TOKENS_MIN =>
                    {
                        overflows += 1;
                        // The pieces become half as large at least, even if the provider names no limit.
                        let takes = limit.map_or(u64::MAX, |limit| self.piece_room(limit));
                        room = takes.min(room / 2).max(PIECE_TOKENS_MIN);
                        continue 'parted;
                    }
                    Err(failed) => {
                        read.failed = Some(failed);
                        return read;
                    }
                }
            }
            return read;
        }
    }

    /// Returns the size of a piece for a model that takes so many tokens.
    fn piece_room(&self, takes: u64) -> u64 {
        // Twice, because the request has the summary so far, and the answer is the next one.
        takes.saturating_sub(2 * self.goal.summary_room() + OVERHEAD).max(PIECE_TOKENS_MIN)
    }

    fn notify_part(&self, nth: usize, of: usize) {
        let text = format!("Making room: summarising part {nth} of {of}");
        self.work.notify(RunEvent::Chunk(notice("compacting", &text)));
    }

    /// Asks for a summary of one piece, and checks it.
    async fn summarise_part(
        &self,
        part: SummaryPart<'_>,
        cost: &mut SummaryCost,
    ) -> Result<String, SummaryFailure> {
        let room = self.goal.summary_room();
        let rules = summary_instructions(self.wishes, room);
        let block = SystemBlock { name: "summary".to_owned(), text: rules };
        let parts = vec![UiPart::text(part.text())];
        let question = UiMessage::new("summary-request", Role::User, parts);
        let request = PreparedRequest::standalone(block, question);
        let written = request.compile(&self.work.locked.engine, room, None).await?;
        let asking = ModelCall::for_summary(self.work, &request, &written).await?;
        let answer = self.answer(asking, cost).await?;
        let given = part.previous.map_or(0, |text| (self.count)(text));
        self.accept(&answer, (self.count)(part.piece) + given)
    }

    /// Makes a call for a summary. Returns the usable part of the text.
    pub(super) async fn answer(
        &self,
        asking: ModelCall<'_>,
        cost: &mut SummaryCost,
    ) -> Result<String, SummaryFailure> {
        let mut answer = String::new();
        let mut called = false;
        let answered = {
            let sink = Box::new(|chunk: Chunk| match chunk {
                Chunk::TextDelta(_, delta) => answer.push_str(&delta),
                Chunk::ToolInputAvailable { .. } | Chunk::ToolInputError { .. } => called = true,
                // The person learns what the provider waits for.
                Chunk::Data(_) => self.work.notify(RunEvent::Chunk(chunk)),
                _ => {}
            });
            let answering = asking.answer(self.work, sink);
            tokio::time::timeout(DEADLINE, answering).await
        };
        let answered = answered.map_err(|_| SummaryFailure::Late)??;
        cost.add(answered.usage);
        if called {
            return Err(SummaryRejection::ToolCall.into());
        }
        Ok(usable_summary(&answer, answered.finish_reason)?.to_owned())
    }

    /// Checks a summary of so many tokens.
    pub(super) fn accept(&self, text: &str, source_tokens: u64) -> Result<String, SummaryFailure> {
        let room = self.goal.summary_room();
        let check = SummaryCheck { source: self.source, source_tokens, room, count: self.count };
        Ok(in_place(|| check.accept(text))?)
    }
}

/// A piece of the history, with what is known before it.
#[derive(Clone, Copy)]
struct SummaryPart<'a> {
    piece: &'a str,
    /// The summary of everything before the piece.
    previous: Option<&'a str>,
    /// Why the model is asked once more.
    missed: Option<SummaryRejection>,
}

impl SummaryPart<'_> {
    fn text(&self) -> String {
        let previous = self.previous.map(|text| format!("The summary so far:\n\n{text}\n\n"));
        let missed = self.missed.map(|missed| {
            format!("\n\nAn earlier attempt was not used: {missed}. Write the whole summary under all four headings.")
        });
        let piece = self.piece;
        format!(
            "{}The part of the chat to sum up:\n\n<chat>\n{piece}\n</chat>{}",
            previous.unwrap_or_default(),
            missed.unwrap_or_default()
        )
    }
}
