//! Calls a model, and records everything before it is sent.

use std::borrow::Cow;
use std::sync::Arc;

use ship_message::json::{Array, Json, Object};
use ship_message::{Role, UiMessage};
use ship_provider::{AnswerEnd, CachedSequence, ChunkSink, ProviderError, Recipe};
use ship_store::Metadata;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::message_counts::count_request;
use super::prepared_request::{CompiledRequest, PreparedRequest};
use super::stored_texts::{keep_text, last_request, log_not_recorded};
use crate::blocking_work::{in_place_if, is_large};
use crate::digest::digest;
use crate::engine::ActiveRun;
use crate::error::RunError;
use crate::records::{
    OutgoingRequest, RENDERING, RequestAnswer, RequestMessages, RequestRecord, RequestTokens,
    SharedPrefix, WrittenBody, block_digests, counted_parts, recipe_difference,
};
use crate::run_log::{RunLogEntry, RunLogKind};

/// A model call that is recorded and about to be sent.
pub(crate) struct ModelCall<'a> {
    compiled: &'a CompiledRequest<'a>,
    record: Arc<RequestRecord>,
    weight: RequestCount,
}

/// Our own count of a request.
enum RequestCount {
    Counted(u64),
    /// The request is not counted yet; this is what would be counted.
    Uncounted(Arc<PreparedRequest>),
    /// The count is not needed.
    Unknown,
}

impl<'a> ModelCall<'a> {
    /// Records a call for an answer. `so_far` is the message that the run is writing.
    pub(crate) async fn new(
        work: &ActiveRun,
        prepared: &PreparedRequest,
        compiled: &'a CompiledRequest<'a>,
        so_far: &UiMessage,
        is_counted: bool,
    ) -> Result<Self, RunError> {
        let shown = RequestMessages::Context {
            position: work.position().await,
            message_id: so_far.id().unwrap_or_default().to_owned(),
            parts: counted_parts(so_far),
        };
        Self::record(work, prepared, compiled, shown, is_counted).await
    }

    /// Records a call for a summary. Its messages are nowhere else, so they are stored, except where
    /// compacted messages are purged.
    pub(crate) async fn for_summary(
        work: &ActiveRun,
        prepared: &PreparedRequest,
        compiled: &'a CompiledRequest<'a>,
    ) -> Result<Self, RunError> {
        let shown = RequestMessages::Summary(keep_messages(work, &prepared.shown).await);
        Self::record(work, prepared, compiled, shown, true).await
    }

    /// Records a call for a summary that continues the chat: the last message is the instruction, and is in no log.
    pub(crate) async fn for_continuation(
        work: &ActiveRun,
        prepared: &PreparedRequest,
        compiled: &'a CompiledRequest<'a>,
        so_far: Option<&UiMessage>,
    ) -> Result<Self, RunError> {
        let chat = prepared.shown.len().saturating_sub(1);
        let shown = RequestMessages::Continuation {
            position: work.position().await,
            message_id: so_far.and_then(UiMessage::id).unwrap_or_default().to_owned(),
            parts: so_far.map_or(0, counted_parts),
            instruction: keep_messages(work, &prepared.shown[chat..]).await,
        };
        Self::record(work, prepared, compiled, shown, true).await
    }

    async fn record(
        work: &ActiveRun,
        prepared: &PreparedRequest,
        compiled: &'a CompiledRequest<'a>,
        shown: RequestMessages,
        is_counted: bool,
    ) -> Result<Self, RunError> {
        let agent = &work.locked.engine;
        let system = block_digests(&prepared.blocks);
        if is_counted {
            count_request(work, prepared).await;
        }
        let pieces = prepared.pieces();
        let counted = is_counted.then(|| agent.token_meter.count_pieces(pieces));
        let weights = counted
            .as_ref()
            .map_or_else(|| pieces.rough_tokens(), |it| agent.token_meter.estimate_pieces(it));
        let rules = &agent.rules;
        let window = agent.window_tokens();
        let tokens = RequestTokens {
            system: weights.system.iter().sum(),
            tools: weights.tools.iter().sum(),
            messages: weights.messages.iter().sum(),
            budget: agent.budget_tokens(),
            window,
            is_rough: !is_counted,
        };
        let body = &compiled.body;
        let shared_prefix = match &shown {
            RequestMessages::Summary(_) => SharedPrefix::default(),
            RequestMessages::Context { position, .. }
            | RequestMessages::Continuation { position, .. } => {
                let now = OutgoingRequest {
                    recipe: &compiled.recipe,
                    system: &system,
                    system_tokens: &weights.system,
                    tools: prepared.tools.sha256(),
                    tokens: &tokens,
                    body,
                    position: Some(*position),
                    shown: &prepared.shown,
                    pruned: &work.pruned().await,
                };
                compare_with_last(work, now).await
            }
        };
        // The texts are stored before the record that names them, so that no record lacks one after a crash.
        keep_texts(work, prepared, &system).await;
        let record = RequestRecord {
            id: new_id(work),
            request_id: work.request_id.clone(),
            run_id: work.run_id.clone(),
            ts: agent.clock.now(),
            shown,
            system,
            tools: prepared.tools.sha256().to_owned(),
            recipe: compiled.recipe.clone(),
            rendering: RENDERING,
            max_tokens: compiled.request.max_tokens,
            show_rules: rules.show_rules(),
            bytes: body.text.len() as u64,
            sha256: body.sha256(),
            tokens,
            stem: body.stem(),
            shared_prefix,
        };
        let weight = match record.is_of_context() {
            true => RequestCount::of_answer(work, prepared, counted.map(|it| it.total()), &tokens),
            false => RequestCount::Unknown,
        };
        let record = Arc::new(record);
        write_record(work, &record).await?;
        if record.is_of_context() {
            agent.request_cache.keep_body(work.locked.chat.key(), body);
        }
        Ok(Self { compiled, record, weight })
    }

    /// Writes the call to the log: the text of messages that no earlier request of this run has shown, and of the others
    /// the number, which `logged` gives, with the ids of the first and the last. Returns the number of all. The list of
    /// all ids would grow with the window; the record of the call has it.
    pub(crate) async fn log_call(&self, work: &ActiveRun, logged: usize) -> usize {
        let messages = work.messages().await;
        let (older, new) = messages.split_at(messages.len().min(logged));
        let mut note = body_log_entry(work, &self.record, &self.compiled.body.text);
        note.fields.extend(requests_answered_together(new));
        let new = new.iter().map(UiMessage::to_json).collect::<Vec<_>>();
        if let (Some(first), Some(last)) = (older.first(), older.last()) {
            let id = |message: &UiMessage| Json::from(message.id().unwrap_or_default());
            let count = Json::from(older.len() as u64);
            let range = [("fromId", id(first)), ("toId", id(last)), ("count", count)];
            note.fields.push(("olderMessages", Json::Object(Object::from(range))));
        }
        note.texts.push(("newMessages", new.into()));
        work.log(note);
        messages.len()
    }

    /// Makes the call. Every other body that is sent instead of this one is recorded before it is sent, and the
    /// result is recorded too.
    pub(crate) async fn answer(
        &self,
        work: &ActiveRun,
        sink: ChunkSink<'_>,
    ) -> Result<AnswerEnd, ProviderError> {
        let (resend_sender, mut resends) = mpsc::unbounded_channel();
        // If the caller no longer waits for the answer, there is no receiver to inform.
        let resent = Box::new(move |recipe: Recipe, body: &str| {
            let _ = resend_sender.send((recipe, body.to_owned()));
        });
        let CompiledRequest { request, body, .. } = self.compiled;
        let body = &body.text;
        let mut answering =
            work.locked.engine.provider.answer_or_resend(request, body, sink, resent);
        let mut sent = (Arc::clone(&self.record), Cow::Borrowed(body.as_str()));
        let counting = self.weight.count(work);
        let answered = loop {
            tokio::select! {
                // The record of a resent body is written before the answer to it is taken.
                biased;
                Some(resent) = resends.recv() => sent = record_resent(work, sent, resent).await,
                answered = &mut answering => break answered,
            }
        };
        // A body may be sent again and answered while nobody looks.
        while let Ok(resent) = resends.try_recv() {
            sent = record_resent(work, sent, resent).await;
        }
        let (record, _) = sent;
        let answer = match &answered {
            Ok(answered) => {
                // A host that reports no tokens at all has not counted them.
                let usage = answered.usage.filter(|usage| usage.input > 0);
                let reported = usage.map(|usage| usage.input);
                let (estimated, answer) = (record.tokens.total(), record.max_tokens);
                work.locked.engine.token_meter.learn_accepted(reported, estimated, answer);
                let counted = match usage {
                    Some(usage) => learn_from_report(work, usage.input, counting).await,
                    None => None,
                };
                RequestAnswer::from_end(answered, counted)
            }
            Err(error) => RequestAnswer::Failed(error.code().to_owned()),
        };
        write_answer(work, &record, &answer).await;
        work.locked.engine.learn_of_model(answered.as_ref().map(|_| ())).await;
        work.locked.engine.keep_host_facts(work.locked.chat.key()).await;
        answered
    }
}

impl RequestCount {
    /// Returns the count of a request for an answer. One that is not counted yet will be, if the model's count teaches more.
    fn of_answer(
        work: &ActiveRun,
        prepared: &PreparedRequest,
        counted: Option<u64>,
        estimated: &RequestTokens,
    ) -> Self {
        let meter = &work.locked.engine.token_meter;
        match counted {
            Some(counted) => Self::Counted(counted),
            None if meter.wants_to_learn_from(estimated.total()) => {
                Self::Uncounted(Arc::new(prepared.clone()))
            }
            None => Self::Unknown,
        }
    }

    /// Begins to count an uncounted request while the model writes its answer: loading the vocabulary takes as long
    /// as the first word of many an answer.
    fn count(&self, work: &ActiveRun) -> PendingCount {
        match self {
            Self::Counted(counted) => PendingCount::Done(Some(*counted)),
            Self::Unknown => PendingCount::Done(None),
            Self::Uncounted(prepared) => {
                let (meter, prepared) =
                    (Arc::clone(&work.locked.engine.token_meter), Arc::clone(prepared));
                let count = move || meter.count_pieces(prepared.pieces()).total();
                PendingCount::UnderWay(tokio::task::spawn_blocking(count))
            }
        }
    }
}

/// A count that may still be running.
enum PendingCount {
    Done(Option<u64>),
    UnderWay(JoinHandle<u64>),
}

/// Learns from the provider's count. Returns our own count for the record, from which other processes learn.
async fn learn_from_report(work: &ActiveRun, reported: u64, counting: PendingCount) -> Option<u64> {
    let counted = match counting {
        PendingCount::Done(counted) => counted,
        PendingCount::UnderWay(counting) => match counting.await {
            Ok(counted) => Some(counted),
            Err(error) => {
                log_not_recorded(work, &error);
                None
            }
        },
    }?;
    work.locked.engine.token_meter.learn(counted, reported);
    Some(counted)
}

/// Compares a request with the last one for an answer in the chat.
async fn compare_with_last(work: &ActiveRun, now: OutgoingRequest<'_>) -> SharedPrefix {
    match last_request(work).await {
        Ok(last) => {
            let (store, chat) = (&*work.locked.engine.store, &*work.locked.chat);
            now.compare(store, chat, last.as_deref()).await
        }
        Err(error) => {
            log_not_recorded(work, &error);
            SharedPrefix::unknown()
        }
    }
}

/// Stores the texts of the system blocks, whose digests are in `system`, and of the tools.
async fn keep_texts(work: &ActiveRun, prepared: &PreparedRequest, system: &[(String, String)]) {
    for (block, (_, sha256)) in prepared.blocks.iter().zip(system) {
        keep_text(work, sha256, &block.text, "text/markdown").await;
    }
    let (sha256, tools) = (prepared.tools.sha256(), prepared.tools.record());
    keep_text(work, sha256, tools, "application/json").await;
}

/// Stores messages that are in no log. Returns their digest; an empty one where compacted messages are purged.
async fn keep_messages(work: &ActiveRun, messages: &[UiMessage]) -> String {
    if !work.locked.engine.rules.archive_on_compact {
        return String::new();
    }
    let messages: Array = messages.iter().map(|message| message.to_json()).collect();
    let messages = Json::from(messages).to_string();
    let sha256 = digest(messages.as_bytes());
    keep_text(work, &sha256, &messages, "application/json").await;
    sha256
}

fn new_id(work: &ActiveRun) -> String {
    format!("q_{:016x}", work.locked.engine.ids.next())
}

/// Makes the log line of a body that is sent.
fn body_log_entry(work: &ActiveRun, record: &RequestRecord, body: &str) -> RunLogEntry {
    let difference = record.shared_prefix.difference.as_deref();
    RunLogEntry {
        kind: RunLogKind::LlmRequest,
        fields: vec![
            ("record", record.id.as_str().into()),
            ("model", record.recipe.model.as_str().into()),
            ("bytes", record.bytes.into()),
            ("sha256", record.sha256.as_str().into()),
            ("tokens", record.tokens.total().into()),
            ("stableTokens", record.shared_prefix.tokens.into()),
            ("firstDifference", difference.map_or(Json::Null, Json::from)),
        ],
        payload: work.locked.engine.log.wants_payload().then(|| body.to_owned()),
        ..RunLogEntry::default()
    }
}

/// Names the requests that a run answers, if there are several. Its lines have the id of the last one alone.
fn requests_answered_together(new: &[UiMessage]) -> Option<(&'static str, Json)> {
    let questions = new.iter().filter(|message| message.role() == Role::User);
    let ids = questions.filter_map(|question| Metadata::of(question).request_id());
    let ids: Vec<Json> = ids.map(Json::from).collect();
    (ids.len() > 1).then(|| ("requestIds", ids.into()))
}

async fn write_record(work: &ActiveRun, record: &Arc<RequestRecord>) -> Result<(), RunError> {
    let frame = record.frame_text();
    let sha256 = digest(frame.as_bytes());
    keep_text(work, &sha256, &frame, "application/json").await;
    let (cache, line) = (&work.locked.engine.request_cache, record.to_line());
    cache.add_line(&work.run_id, &line, record);
    work.locked.lane.record_request(line).await?;
    cache.remember(work.locked.chat.key(), Arc::clone(record));
    Ok(())
}

/// Records a body that is sent instead of another. Returns its record and the body.
async fn record_resent(
    work: &ActiveRun,
    (before, old): (Arc<RequestRecord>, Cow<'_, str>),
    (recipe, body): (Recipe, String),
) -> (Arc<RequestRecord>, Cow<'static, str>) {
    write_answer(work, &before, &RequestAnswer::Failed("refused".to_owned())).await;
    let (old, new) = in_place_if(is_large(body.len()), || {
        (CachedSequence::of(&old), WrittenBody::of(body, None))
    });
    let common = new.sequence.common_bytes(&old);
    let tokens = &before.tokens;
    let difference = recipe_difference(&before.recipe, &recipe).filter(|_| new.sequence != old);
    let record = Arc::new(RequestRecord {
        id: new_id(work),
        ts: work.locked.engine.clock.now(),
        recipe,
        bytes: new.text.len() as u64,
        sha256: new.sha256(),
        stem: new.stem(),
        shared_prefix: SharedPrefix {
            before: Some(before.id.clone()),
            tokens: new.sequence.tokens_of(common, tokens.tools, tokens.system, tokens.messages),
            difference,
        },
        ..(*before).clone()
    });
    if let Err(error) = write_record(work, &record).await {
        log_not_recorded(work, &error);
    }
    work.log(body_log_entry(work, &record, &new.text));
    (record, new.text.into())
}

async fn write_answer(work: &ActiveRun, record: &RequestRecord, answer: &RequestAnswer) {
    let line = answer.to_line(&record.id, work.locked.engine.clock.now());
    work.locked.engine.request_cache.add_line(&work.run_id, &line, record);
    if let Err(error) = work.locked.lane.record_request(line).await {
        log_not_recorded(work, &error);
    }
}
