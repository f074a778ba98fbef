//! Steps: asking the model, and what becomes of its answer.

use std::sync::Arc;

use ship_context::{
    BlockSources, Journal, JournalLine, Limits, SystemBlock, shown_to_model, system_blocks,
};
use ship_message::json::{Json, Object};
use ship_message::{
    Assembler, Chunk, ConvertOptions, FinishReason, Role, ToolState, UiMessage, UiPart,
    convert_to_model_messages,
};
use ship_provider::{ProviderError, Request, ToolSpec};
use ship_store::{ChatKey, Synced};
use tokio::time::Instant;

use crate::calls;
use crate::events::{Outcome, RunEvent};
use crate::inbound::millis;
use crate::run::{Inner, RunError, Stop, answer_key};
use crate::skills;
use crate::work::{Via, Work, messages};

/// A run on its way: the message it writes, and how much of it the journal has.
pub(crate) struct Progress {
    pub(crate) assembler: Assembler,
    journaled: usize,
    pub(crate) start: ship_context::RunStart,
    pub(crate) deadline: Instant,
}

/// What is to be done next in a run.
enum Next {
    Ask,
    Calls,
    Parked,
    Done,
}

/// Does a run to its end, from wherever its journal says it is.
pub(crate) async fn run(
    work: &Arc<Work>,
    journal: Journal,
    stop: &Stop,
) -> Result<Outcome, RunError> {
    let journaled = journal.message.parts().len();
    let mut progress = Progress {
        assembler: Assembler::new(journal.start.message_id.clone(), Some(journal.message)),
        journaled,
        start: journal.start,
        deadline: Instant::now() + work.agent.rules.run_deadline,
    };
    work.tell(&RunEvent::Chunk(Chunk::Start {
        message_id: Some(progress.start.message_id.clone()),
        message_metadata: None,
    }));
    // What recovery settled is not in the journal yet.
    progress.journal_all(work).await?;
    let mut steps = 0;
    let outcome = loop {
        match next(progress.assembler.message(), work) {
            Next::Done => break Outcome::Done,
            Next::Parked => return park(work, &progress),
            Next::Calls => {
                if calls::run(work, &mut progress, stop).await? == calls::Ran::Stopped {
                    break Outcome::Stopped;
                }
            }
            Next::Ask if steps >= work.agent.rules.max_steps => {
                break Outcome::Failed(format!(
                    "I stopped after {steps} steps without coming to an end (`context.run.maxSteps`). Tell me to go on if I should."
                ));
            }
            Next::Ask => {
                steps += 1;
                if let Some(outcome) = ask(work, &mut progress, stop).await? {
                    break outcome;
                }
            }
        }
    };
    finish(work, progress, outcome).await
}

/// Tells what is to be done from the message alone, so that a run goes on where it was.
fn next(message: &UiMessage, work: &Work) -> Next {
    let parts = message.parts();
    let step = parts.rsplit(|part| matches!(part, UiPart::StepStart(_))).next().unwrap_or_default();
    if step.is_empty() {
        return Next::Ask;
    }
    let tools = parts.iter().filter_map(|part| match part {
        UiPart::Tool(tool) => Some(tool),
        _ => None,
    });
    let mut waits = false;
    for tool in tools.filter(|tool| !tool.state().is_terminal()) {
        match tool.state() {
            ToolState::ApprovalRequested => waits = true,
            ToolState::InputAvailable if calls::runs_on_client(work, tool) => waits = true,
            _ => return Next::Calls,
        }
    }
    let has_calls = step.iter().any(|part| matches!(part, UiPart::Tool(_)));
    match (waits, has_calls) {
        (true, _) => Next::Parked,
        (false, true) => Next::Ask,
        (false, false) => Next::Done,
    }
}

impl Progress {
    /// Takes a chunk, and tells whoever listens.
    pub(crate) fn push(&mut self, work: &Work, chunk: Chunk) {
        take(&mut self.assembler, work, chunk);
    }

    /// Journals the parts that the journal does not have yet.
    async fn journal_all(&mut self, work: &Work) -> Result<(), RunError> {
        let parts = self.assembler.message().parts();
        let lines = (self.journaled..parts.len()).map(|at| line(parts, at)).collect::<Vec<_>>();
        self.journaled = parts.len();
        if !lines.is_empty() {
            work.lane.journal(lines, Synced::Later).await?;
        }
        Ok(())
    }

    /// Journals what part `at` is now.
    pub(crate) async fn journal_part(
        &mut self,
        work: &Work,
        at: usize,
        when: Synced,
    ) -> Result<(), RunError> {
        let line = line(self.assembler.message().parts(), at);
        Ok(work.lane.journal(vec![line], when).await?)
    }
}

fn line(parts: &[UiPart], at: usize) -> Object {
    JournalLine::Part { at, part: parts[at].clone().into_json() }.into_object()
}

/// A chunk that does not fit is the provider's mistake; the message stays as it was.
fn take(assembler: &mut Assembler, work: &Work, chunk: Chunk) {
    if assembler.push(chunk.clone()).is_ok() {
        work.tell(&RunEvent::Chunk(chunk));
    }
}

/// Asks the model once. Gives an outcome when that ends the run.
async fn ask(
    work: &Arc<Work>,
    progress: &mut Progress,
    stop: &Stop,
) -> Result<Option<Outcome>, RunError> {
    let (said, loaded) = work.context().await;
    let so_far = progress.assembler.message().clone();
    let request = Prepared::new(
        &work.agent,
        work.chat.key(),
        &about_channel(work).await?,
        said,
        Some(so_far),
        &loaded,
    );
    progress.push(work, Chunk::StartStep);
    let request = request.request(work.agent.rules.max_tokens);
    let body = request.to_json();
    record_request(work, &body).await?;
    let agent = Arc::clone(&work.agent);
    let answered = {
        let assembler = &mut progress.assembler;
        let sink = Box::new(|chunk: Chunk| take(assembler, work, chunk));
        let answering = agent.provider.answer(&request, sink);
        tokio::select! {
            answered = answering => Some(answered),
            () = stop.stopped() => None,
            () = tokio::time::sleep_until(progress.deadline) => Some(Err(ProviderError::Failed {
                provider: agent.provider.name().to_owned(),
                reason: "the run took longer than `context.run.deadlineMs` allows".to_owned(),
            })),
        }
    };
    match answered {
        None => Ok(Some(Outcome::Stopped)),
        Some(Err(error)) => {
            work.agent.note(
                work,
                "error",
                Object::from([("error", error.to_string())]),
                Object::new(),
            );
            Ok(Some(Outcome::Failed(format!(
                "I could not answer: {error}. What you wrote is kept; send it again or try later."
            ))))
        }
        Some(Ok(answered)) => {
            progress.push(work, Chunk::FinishStep);
            let usage = answered.usage.unwrap_or_default();
            let mut fields = Object::from([("model", work.agent.provider.model())]);
            fields.set("finishReason", answered.finish_reason.name());
            fields.set("inputTokens", usage.input);
            fields.set("outputTokens", usage.output);
            let text = progress.assembler.message().text();
            work.agent.note(work, "llm_response", fields, Object::from([("text", text)]));
            progress.journal_all(work).await?;
            // A model that says nothing and calls nothing has ended.
            let message = progress.assembler.message();
            let silent = matches!(message.parts().last(), Some(UiPart::StepStart(_)) | None);
            Ok(silent.then_some(Outcome::Done))
        }
    }
}

async fn about_channel(work: &Work) -> Result<Option<String>, RunError> {
    Ok(work.chat.about().await?.channel)
}

/// Records a model call, for the log and for `inspect`.
async fn record_request(work: &Work, body: &Json) -> Result<(), RunError> {
    let text = body.to_string();
    let digest = crate::digest(text.as_bytes());
    let mut record =
        Object::from([("id", work.request_id.as_str()), ("runId", work.run_id.as_str())]);
    record.set("ts", millis(work.agent.clock.now()));
    record.set("model", work.agent.provider.model());
    record.set("bytes", text.len() as u64);
    record.set("sha256", digest);
    let mut fields = record.clone();
    fields.remove("id");
    fields.remove("ts");
    work.agent.note(work, "llm_request", fields, Object::new());
    Ok(work.lane.record_request(record).await?)
}

/// A run that waits stays in its journal, and the lane is free.
fn park(work: &Work, progress: &Progress) -> Result<Outcome, RunError> {
    work.tell(&RunEvent::Ended {
        run_id: progress.start.run_id.clone(),
        message_id: progress.start.message_id.clone(),
        outcome: Outcome::Parked,
    });
    Ok(Outcome::Parked)
}

/// Ends a run: its message goes into the log, and then the ledger learns what the person was told.
async fn finish(
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
    work.lane.journal(vec![JournalLine::End.into_object()], Synced::Later).await?;
    deliver(work, &message).await?;
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
    let chunk = || ship_message::TextChunk { id: "sentence".to_owned(), provider_metadata: None };
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

/// What a model is sent, before it is a request.
struct Prepared {
    blocks: Vec<SystemBlock>,
    system: Vec<String>,
    shown: Vec<UiMessage>,
    tools: Vec<ToolSpec>,
}

impl Prepared {
    fn new(
        agent: &Inner,
        chat: &ChatKey,
        channel: &Option<String>,
        mut said: Vec<UiMessage>,
        so_far: Option<UiMessage>,
        loaded: &[String],
    ) -> Self {
        said.extend(so_far.filter(|message| !message.parts().is_empty()));
        let texts = agent.surroundings.texts(chat);
        let all_skills = agent.surroundings.skills();
        let chat_id = said.iter().rev().find(|message| message.role() == Role::User);
        let chat_id = chat_id.and_then(|message| message.metadata()?.get("chatId")?.as_str());
        let blocks = system_blocks(&BlockSources {
            project_root: agent.surroundings.project_root(),
            chat_key: chat.as_str().to_owned(),
            channel: channel.clone(),
            chat_id: chat_id.map(str::to_owned),
            output_rules: agent.rules.output_rules,
            profile_primary: texts.profile_primary,
            profile_other: texts.profile_other,
            memory: texts.memory,
            agent: texts.agent,
            skills: all_skills.iter().map(skills::line).collect(),
            loaded: skills::loaded(loaded, &all_skills),
        });
        let limits = Limits { tool_output_chars: agent.rules.tool_output_chars };
        Self {
            system: blocks.iter().map(|block| block.text.clone()).collect(),
            blocks,
            shown: shown_to_model(&said, limits),
            tools: agent.tools.values().map(|tool| tool.spec()).collect(),
        }
    }

    fn request(&self, max_tokens: u64) -> Request<'_> {
        // What the store holds is what we wrote or checked; a message that cannot be converted is left out
        // rather than letting one bad line stop the chat.
        let messages = self
            .shown
            .iter()
            .filter_map(|message| {
                let one = std::slice::from_ref(message);
                convert_to_model_messages(one, &ConvertOptions::default()).ok()
            })
            .flatten()
            .collect();
        Request { system: &self.system, messages, tools: &self.tools, max_tokens }
    }
}

/// What a model would be sent now.
#[derive(Clone, Debug)]
pub struct NextRequest {
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as shown.
    pub messages: Vec<UiMessage>,
    /// The tools.
    pub tools: Vec<ToolSpec>,
}

pub(crate) async fn next_request(agent: &Inner, key: &ChatKey) -> Result<NextRequest, RunError> {
    let (said, loaded, channel) = match agent.store.open(key).await? {
        None => (Vec::new(), Vec::new(), None),
        Some(chat) => {
            let view = chat.view().await?;
            let channel = chat.about().await?.channel;
            let said = view.as_ref().map(messages).unwrap_or_default();
            (said, view.as_ref().map(skills::loaded_names).unwrap_or_default(), channel)
        }
    };
    let prepared = Prepared::new(agent, key, &channel, said, None, &loaded);
    Ok(NextRequest { blocks: prepared.blocks, messages: prepared.shown, tools: prepared.tools })
}
