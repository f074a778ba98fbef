//! The end of a run: its message goes into the log, and the ledger learns what the person was told.

use std::sync::Arc;

use ship_context::JournalLine;
use ship_message::json::{Json, Object};
use ship_message::{Chunk, FinishReason, TextChunk, UiMessage, UiPart};
use ship_store::Synced;

use crate::events::{Outcome, RunEvent};
use crate::inbound::millis;
use crate::run::{RunError, answer_key};
use crate::step::Progress;
use crate::work::{Via, Work};

/// Ends a run: its message goes into the log, and then the ledger learns what the person was told.
pub(crate) async fn finish(
    work: &Arc<Work>,
    mut progress: Progress,
    outcome: Outcome,
) -> Result<Outcome, RunError> {
    let finish_reason = match &outcome {
        Outcome::Done | Outcome::Parked => FinishReason::Stop,
        Outcome::Stopped => FinishReason::Other,
        Outcome::Failed(sentence) => {
            say(&mut progress, work, sentence);
            work.tell(&RunEvent::Chunk(Chunk::Error { error_text: sentence.clone() }));
            FinishReason::Error
        }
    };
    let start = progress.start.clone();
    let mut message = progress.assembler.into_message();
    settle(&mut message);
    message.set_metadata(metadata(work, &outcome));
    let entry = message.to_json().as_object().cloned().unwrap_or_default();
    work.append(vec![entry.into()]).await?;
    deliver(work, &message).await?;
    // Last of all, so that a run that says it ended has nothing left to do.
    work.lane.journal(vec![JournalLine::End.into_object()], Synced::Later).await?;
    work.tell(&RunEvent::Chunk(Chunk::Finish {
        finish_reason: Some(finish_reason),
        message_metadata: None,
    }));
    work.tell(&RunEvent::Ended {
        run_id: start.run_id,
        message_id: start.message_id,
        outcome: outcome.clone(),
    });
    Ok(outcome)
}

/// The person reads the reason as the answer, so it is part of the message.
fn say(progress: &mut Progress, work: &Work, sentence: &str) {
    let chunk = || TextChunk { id: "sentence".to_owned(), provider_metadata: None };
    progress.push(work, Chunk::TextStart(chunk()));
    progress.push(work, Chunk::TextDelta(chunk(), sentence.into()));
    progress.push(work, Chunk::TextEnd(chunk()));
}

/// A step that brought nothing is left out, and a call that was cut off has failed.
fn settle(message: &mut UiMessage) {
    while matches!(message.parts().last(), Some(UiPart::StepStart(_))) {
        message.parts_mut().pop();
    }
    for part in message.parts_mut() {
        if let UiPart::Tool(tool) = part
            && !tool.state().is_terminal()
        {
            tool.set_error("interrupted, outcome unknown");
        }
    }
}

fn metadata(work: &Work, outcome: &Outcome) -> Json {
    let mut metadata = Object::from([
        ("v", Json::from(1u64)),
        ("ts", millis(work.agent.clock.now())),
        ("chatKey", work.chat.key().as_str().into()),
        ("requestId", work.request_id.as_str().into()),
        ("runId", work.run_id.as_str().into()),
        ("kind", "normal".into()),
        ("source", "egress".into()),
    ]);
    match outcome {
        Outcome::Done | Outcome::Parked => {}
        Outcome::Stopped => metadata.set("interrupted", true),
        Outcome::Failed(sentence) => metadata.set("error", sentence.as_str()),
    }
    Json::Object(metadata)
}

/// Records in the ledger what the person was told by the answer. Done once however often it is tried.
pub(crate) async fn deliver(work: &Work, message: &UiMessage) -> Result<(), RunError> {
    work.record_sent(answer_key(&work.run_id), &message.text(), Via::Answer).await?;
    Ok(())
}
