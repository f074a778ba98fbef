//! The end of a run: its message goes into the log, and the answer into the ledger.

use std::sync::Arc;

use ship_context::{JournalLine, SettledWork, close_message, join_texts};
use ship_message::json::{Json, Object};
use ship_message::{Chunk, FinishReason, StepStartPart, TextChunk, UiMessage, UiPart};
use ship_store::{
    ANSWERS_TO, Lane, MessageKind, MessageSource, Metadata, NewMetadata, NoticeKind, STOPPED,
    Synced, VIA_NOTICE, has_marked_notice, notices, without_notices,
};

use super::run_progress::RunProgress;
use super::run_stream::last_chunk;
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::events::RunEvent;
use crate::inbox::answer_key;
use crate::reply::Outcome;
use crate::run_log::{RunLogEntry, RunLogKind};

/// Ends a run. Its message goes into the log first and the answer into the ledger after that: after a crash between
/// the two, the next run finds the message in the log and delivers it.
pub(crate) async fn finish(
    work: &Arc<ActiveRun>,
    mut progress: RunProgress,
    outcome: Outcome,
) -> Result<Outcome, RunError> {
    progress.announce(work);
    if let Outcome::Failed(sentence) = &outcome {
        append_notice(&mut progress, work, NoticeKind::Failed, sentence);
        work.notify(RunEvent::Chunk(Chunk::Error { error_text: sentence.clone() }));
    }
    // The stream of a stopped run ends with `abort`, in the middle of its step, like those of the AI SDK.
    if outcome != Outcome::Stopped {
        progress.end_step(work);
    }
    let (start, mark) = (progress.start.clone(), progress.mark);
    let mut message = progress.assembler.into_message();
    close_message(&mut message);
    if message.parts().is_empty() && start.earlier.messages > 0 {
        // Everything was said in settled messages; the log must still show that the run has ended.
        message.parts_mut().push(UiPart::StepStart(StepStartPart::default()));
    }
    if outcome == Outcome::Stopped && message.text().trim().is_empty() {
        // Subscribers are not told: the person who stopped the run knows. A stored message must not be empty.
        message.parts_mut().push(NoticeKind::Stopped.part(STOPPED));
    }
    let mut metadata = answer_metadata(work, &outcome, mark);
    // The message may be delivered by a later process, and more of the ledger may have been read by then.
    metadata.set_answers_to(work.inbox().await);
    metadata.write_to(&mut message);
    work.append(vec![message.clone().into()]).await?;
    if let Err(error) = close_run(work, &message, &start.earlier).await {
        // The message is in the log, so the answer counts. The next run of the chat does the rest.
        let fields =
            vec![("message", Json::from(work.locked.engine.project.mask(&error.to_string())))];
        work.log(RunLogEntry { kind: RunLogKind::Error, fields, ..RunLogEntry::default() });
    }
    work.notify(RunEvent::Chunk(last_chunk(&outcome, mark)));
    work.notify(RunEvent::Ended {
        run_id: start.run_id,
        message_id: start.message_id,
        outcome: outcome.clone(),
    });
    Ok(outcome)
}

/// Records the answer in the ledger and the end of the run in the journal, once the message is in the log. Both are
/// done here, so that no later process finds the run unfinished.
pub(crate) async fn close_run(
    work: &ActiveRun,
    message: &UiMessage,
    earlier: &SettledWork,
) -> Result<(), RunError> {
    record_answer(work, message, earlier).await?;
    // This comes last, so that a run whose journal has an end has nothing left to do.
    end_journal(&*work.locked.lane).await
}

/// Writes the end of a run into its journal.
pub(crate) async fn end_journal(lane: &dyn Lane) -> Result<(), RunError> {
    // If a power cut takes this line, recovery finds the answer in the log and in the ledger.
    Ok(lane.journal(vec![JournalLine::End.into_object()], Synced::Later).await?)
}

/// Adds a notice to the message: the person reads it with the answer, and the model is never sent it.
pub(crate) fn append_notice(
    progress: &mut RunProgress,
    work: &ActiveRun,
    kind: NoticeKind,
    sentence: &str,
) {
    let chunk = |metadata| TextChunk { id: "notice".to_owned(), provider_metadata: metadata };
    progress.push(work, Chunk::TextStart(chunk(Some(kind.provider_metadata()))));
    progress.push(work, Chunk::TextDelta(chunk(None), sentence.into()));
    progress.push(work, Chunk::TextEnd(chunk(None)));
}

pub(crate) fn answer_metadata(
    work: &ActiveRun,
    outcome: &Outcome,
    mark: Option<FinishReason>,
) -> NewMetadata {
    let mut metadata = NewMetadata::new(work.locked.engine.clock.now());
    work.place.write_to_metadata(work.locked.chat.key(), &mut metadata);
    metadata.set_request_id(work.request_id.as_str());
    metadata.set_run_id(work.run_id.as_str());
    metadata.set_kind(MessageKind::Normal);
    metadata.set_source(MessageSource::Egress);
    match outcome {
        Outcome::Done | Outcome::Parked | Outcome::Left => {}
        Outcome::Stopped => metadata.set_interrupted(),
        Outcome::Failed(sentence) => metadata.set_error(sentence.as_str()),
    }
    metadata.set_finish_reason(mark);
    metadata
}

/// Records the answer in the ledger. The keys of the entries make a second attempt harmless.
pub(super) async fn record_answer(
    work: &ActiveRun,
    message: &UiMessage,
    earlier: &SettledWork,
) -> Result<(), RunError> {
    for entry in answer_entries(&work.run_id, message, earlier) {
        work.record_outgoing(entry.key, &entry.text, entry.meta).await?;
    }
    Ok(())
}

/// An entry about the answer of a run in the ledger.
pub(super) struct AnswerEntry {
    pub(super) key: String,
    text: String,
    meta: Option<Object>,
}

/// Returns the entries about an answer: the text of settled messages and the last one, and the notices as an entry of
/// their own. The first has the key of the answer; the last shows that all are recorded. The answer of an older program
/// is one entry with its notices, as that program has recorded it.
pub(super) fn answer_entries(
    run_id: &str,
    message: &UiMessage,
    earlier: &SettledWork,
) -> Vec<AnswerEntry> {
    // The texts of `chat_send` are left out, because each send has its own entry.
    let (said, notice) = match has_marked_notice(message) {
        true => (without_notices(message).text(), notices(message).collect::<Vec<_>>().join("\n")),
        false => (message.text(), String::new()),
    };
    let text = join_texts(&earlier.text, &said);
    let to = Metadata::of(message).answers_to();
    let mut meta: Object = to.into_iter().map(|to| (ANSWERS_TO, Json::from(to.get()))).collect();
    let mut entries = Vec::new();
    if !text.is_empty() || notice.is_empty() {
        let meta = Some(std::mem::take(&mut meta)).filter(|meta| !meta.is_empty());
        entries.push(AnswerEntry { key: answer_key(run_id), text, meta });
    }
    if !notice.is_empty() {
        meta.set("via", VIA_NOTICE);
        let key = match entries.is_empty() {
            true => answer_key(run_id),
            false => format!("notice:{run_id}"),
        };
        entries.push(AnswerEntry { key, text: notice, meta: Some(meta) });
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_an_older_program_stays_one_entry_with_its_notice() {
        let entries = |parts: &str| {
            let metadata = r#"{"finishReason":"length"}"#;
            let text = format!(
                r#"{{"id":"m","role":"assistant","parts":[{parts}],"metadata":{metadata}}}"#
            );
            let message = UiMessage::parse(&text).unwrap();
            let entries = answer_entries("run_1", &message, &SettledWork::default());
            entries.into_iter().map(|it| (it.key, it.text)).collect::<Vec<_>>()
        };
        let half = r#"{"type":"text","text":"Half"}"#;
        let cut = "(My answer was cut off here: it may have 9 tokens.)";
        let old = format!(r#"{half},{{"type":"text","text":"{cut}"}}"#);
        let [(key, text)] = entries(&old).try_into().unwrap();
        assert_eq!(key, "answer:run_1");
        assert!(text.contains("Half") && text.contains(cut), "{text}");
        let new = format!("{half},{}", NoticeKind::Cut.part(cut).into_json());
        let own = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        assert_eq!(entries(&new), [own("answer:run_1", "Half"), own("notice:run_1", cut)]);
    }
}
