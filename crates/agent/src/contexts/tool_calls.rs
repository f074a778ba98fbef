//! Answers a model's calls for contexts.
//!
//! A call that switches is only answered here, with the promise of a context. The switch itself is made when all
//! calls of the step are answered. It follows from the output of the call, so a crash in between changes nothing.

use ship_context::contexts::{
    HistoryQuery, LoadMode, RecallMode, ReferenceBudget, ReferenceOrigin, Snapshot, Switch,
    SwitchRefusal, VisibleEntries, check_switch, history_reference, switch_output, view_messages,
};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{ContextId, LedgerLine, LedgerSeq, NewMessage, StorageProblemKind, View};

use super::archive::ContextArchive;
use super::log_place::LogPlace;
use super::operate::operate;
use super::publish::left_out_sentence;
use super::recall::{ReferenceSite, SHARE, append_reference};
use crate::chat::{LEDGER_PAGE, OpenRequest, has_content, open_request_ids};
use crate::context_operation::{ContextOperation, OperationOutcome, OperationRefusal};
use crate::context_tool_input::{
    ContextToolInput, ForkContext, ListContexts, LoadContext, LoadHistory, NewCheckpoint,
    RecallContext,
};
use crate::engine::ActiveRun;
use crate::error::RunError;

/// The note in the output of a call that forked.
const IN_A_COPY: &str = "You are in a copy now, under an id of its own; what it ends with is above. Go on from there with the person's message; do not switch again for it.";

/// The maximum number of pages of the ledger that are searched for earlier messages.
const PAGES_MAX: usize = 50;

/// Answers a call for contexts. An error is a text for the model.
pub(crate) async fn answer_call(work: &ActiveRun, call: ContextToolInput) -> Result<Json, String> {
    let told = |error: RunError| work.locked.engine.project.mask(&error.to_string());
    let view = work.locked.chat.log().view().await.map_err(|error| told(error.into()))?;
    let view = view.ok_or("there is no context yet")?;
    let called = ContextToolCall { work, view: &view };
    let answered = match call {
        ContextToolInput::List(input) => called.list(&input).await,
        ContextToolInput::Recall(input) => called.recall(&input).await,
        ContextToolInput::Load(input) => called.load(&input).await,
        ContextToolInput::New(input) => called.switch_to_empty(Switch::New, input.title).await,
        ContextToolInput::Clear(_) => called.switch_to_empty(Switch::Clear, None).await,
        ContextToolInput::Fork(input) => called.fork(input).await,
        ContextToolInput::Checkpoint(input) => called.checkpoint(input).await,
        ContextToolInput::History(input) => called.history(input).await,
    };
    answered.map_err(told)?
}

struct ContextToolCall<'a> {
    work: &'a ActiveRun,
    view: &'a View,
}

type Answered = Result<Result<Json, String>, RunError>;

impl ContextToolCall<'_> {
    async fn open_archive(&self) -> Result<ContextArchive<'_>, RunError> {
        ContextArchive::open(&self.work.locked.engine, &*self.work.locked.chat, self.view).await
    }

    fn open_request_ids(&self) -> Vec<String> {
        open_request_ids(self.view, &self.work.run_id)
    }

    async fn list(&self, input: &ListContexts) -> Answered {
        let shelf = self.open_archive().await?;
        Ok(Ok(shelf.into_list(self.view).to_json(input.limit)))
    }

    async fn recall(&self, input: &RecallContext) -> Answered {
        match input.context_id.trim() {
            "" => Ok(Err("`contextId` is empty; chat_context_list tells them".to_owned())),
            which => self.show(which, input.mode.unwrap_or(RecallMode::Summary)).await,
        }
    }

    /// Shows a context once, before the message that the run answers.
    async fn show(&self, which: &str, mode: RecallMode) -> Answered {
        let shelf = self.open_archive().await?;
        let snapshot = match shelf.find(which).await? {
            Ok(snapshot) => snapshot,
            Err(offered) => {
                return Ok(Err(OperationRefusal::no_context(which, offered).with_offers()));
            }
        };
        let (locked, current) = (&self.work.locked, self.open_request_ids());
        let run_id = Some(self.work.run_id.as_str());
        let shown = ReferenceSite { view: self.view, run_id, current: &current };
        if let Err(not_done) =
            append_reference(locked, &shown, &snapshot, mode, &OpenRequest::default()).await?
        {
            return Ok(Err(not_done.line));
        }
        self.work.read_again().await?;
        Ok(Ok(shown_output(snapshot.context().as_str(), mode.name())))
    }

    async fn load(&self, input: &LoadContext) -> Answered {
        let Some(which) = input.context_id.as_deref().or(input.query.as_deref()) else {
            return Ok(Err("the input needs `query` or `contextId`".to_owned()));
        };
        match input.mode.and_then(LoadMode::recall_mode) {
            Some(mode) => self.show(which, mode).await,
            None => {
                if let Err(refused) = self.check_switch(Switch::Load).await {
                    return Ok(Err(refused.to_string()));
                }
                let shelf = self.open_archive().await?;
                let snapshot = match shelf.find(which).await? {
                    Ok(snapshot) => snapshot,
                    Err(offered) => {
                        return Ok(Err(OperationRefusal::no_context(which, offered).with_offers()));
                    }
                };
                let Some(log) = snapshot.sealed_log() else {
                    return Ok(Err(OperationRefusal::no_context(which, Vec::new()).with_offers()));
                };
                // The log is read now, so that no context is promised that cannot be read.
                let view = self.work.locked.chat.log().sealed_view(&log).await?;
                let left_out = damaged_places(&view);
                let count = usize::try_from(snapshot.message_count()).unwrap_or(usize::MAX);
                let loaded = (snapshot.context().clone(), snapshot.title().to_owned());
                let answered = self.answer_with_promise(&shelf, loaded, count).await?;
                Ok(answered.map(|output| with_note_of_damage(output, left_out)))
            }
        }
    }

    async fn switch_to_empty(&self, switch: Switch, title: Option<String>) -> Answered {
        if let Err(refused) = self.check_switch(switch).await {
            return Ok(Err(refused.to_string()));
        }
        let title = title.unwrap_or_else(|| "(new)".to_owned());
        self.answer_with_promise(&self.open_archive().await?, (self.new_id(), title), 0).await
    }

    async fn fork(&self, input: ForkContext) -> Answered {
        if let Err(refused) = self.check_switch(Switch::Fork).await {
            return Ok(Err(refused.to_string()));
        }
        let left_out = match &input.at {
            None => damaged_places(self.view),
            Some(at) => match LogPlace::find(&self.work.locked, self.view, at).await? {
                Err(not_done) => return Ok(Err(not_done.line)),
                Ok(place) => damaged_places(&place.view(&self.work.locked, self.view).await?),
            },
        };
        let shelf = self.open_archive().await?;
        let active = shelf.active_snapshot(self.view);
        let title = input.name.unwrap_or_else(|| active.title().to_owned());
        let answered = self.answer_with_promise(&shelf, (self.new_id(), title), 1).await?;
        Ok(answered.map(|mut output| {
            if let Some(output) = output.as_object_mut() {
                output.set("note", IN_A_COPY);
            }
            with_note_of_damage(output, left_out)
        }))
    }

    fn new_id(&self) -> ContextId {
        ContextId::new(self.work.locked.engine.clock.now(), self.work.locked.engine.ids.next())
    }

    async fn check_switch(&self, switch: Switch) -> Result<(), SwitchRefusal> {
        if self.work.is_switching().await {
            return Err(SwitchRefusal::OneAtATime);
        }
        let current = self.open_request_ids();
        let made = usize::try_from(self.work.switches().await).unwrap_or(usize::MAX);
        check_switch(switch, made, has_content(self.view, &current))
    }

    async fn answer_with_promise(
        &self,
        shelf: &ContextArchive<'_>,
        (context, title): (ContextId, String),
        messages: usize,
    ) -> Answered {
        let active: Snapshot = shelf.active_snapshot(self.view);
        let left = (active.context(), active.title());
        self.work.begin_switch().await;
        Ok(Ok(switch_output(left, (&context, &title), messages)))
    }

    async fn checkpoint(&self, input: NewCheckpoint) -> Answered {
        let wanted = ContextOperation::Checkpoint { name: input.name.trim().to_owned() };
        let nothing = OpenRequest::default();
        let operated = operate(&self.work.locked, self.view, &wanted, &nothing).await?;
        self.work.read_again().await?;
        Ok(match operated.outcome {
            OperationOutcome::Done(changed) => Ok(Json::from(changed.line)),
            OperationOutcome::NotDone(not_done) => Err(not_done.line),
            OperationOutcome::Queued => Err("the chat is at work".to_owned()),
        })
    }

    /// Shows earlier messages of the ledger that are not in view, as one reference.
    async fn history(&self, input: LoadHistory) -> Answered {
        let ask = match HistoryQuery::read(input.limit, input.before.as_deref(), input.keyword) {
            Ok(ask) => ask,
            Err(sentence) => return Ok(Err(sentence)),
        };
        let messages = view_messages(self.view);
        let promoted = self.view.lines.iter().filter_map(|line| line.inbox);
        let in_view = VisibleEntries::in_messages(&messages, promoted);
        let lines = self.earlier_lines().await?;
        let agent = &self.work.locked.engine;
        let count = |text: &str| agent.token_meter.count(text);
        let room = ReferenceBudget { tokens: agent.budget_tokens() / SHARE, count: &count };
        let loaded = loaded_in_run(&messages, &self.work.run_id);
        let (reference, _) = match history_reference(&lines, &ask, &in_view, loaded, room) {
            Ok(found) => found,
            Err(not_loaded) => return Ok(Err(not_loaded.to_string())),
        };
        let current = self.open_request_ids();
        let id = format!("r_{:016x}", agent.ids.next());
        let message = reference.into_message(ReferenceOrigin {
            id: &id,
            for_message: current.last().map_or("", String::as_str),
            run_id: Some(&self.work.run_id),
            at: agent.clock.now(),
        });
        let message = message.to_json().as_object().cloned().unwrap_or_default();
        self.work.append(vec![NewMessage { message, rev: 0, inbox: None }.into()]).await?;
        self.work.read_again().await?;
        Ok(Ok(shown_output("history", "history")))
    }

    /// Returns the newest lines of the ledger, in order, up to the limit of pages.
    async fn earlier_lines(&self) -> Result<Vec<LedgerLine>, RunError> {
        let mut lines: Vec<LedgerLine> = Vec::new();
        let mut before: Option<LedgerSeq> = None;
        for _ in 0..PAGES_MAX {
            let mut page = self.work.locked.chat.ledger().before(before, LEDGER_PAGE).await?;
            let is_last = page.len() < LEDGER_PAGE;
            before = page.first().map(|line| line.seq).or(before);
            page.append(&mut lines);
            lines = page;
            if is_last {
                break;
            }
        }
        Ok(lines)
    }
}

/// Counts the places of a log that cannot be read.
fn damaged_places(view: &View) -> usize {
    view.problems.iter().filter(|problem| problem.kind == StorageProblemKind::Damage).count()
}

/// Adds a sentence about unreadable places to the note of an output, if there are any.
fn with_note_of_damage(mut output: Json, places: usize) -> Json {
    if let Some(output) = output.as_object_mut().filter(|_| places > 0) {
        let note = output.str("note").map_or_else(String::new, |note| format!("{note} "));
        output.set("note", format!("{note}{}", left_out_sentence(places)));
    }
    output
}

fn shown_output(what: &str, mode: &str) -> Json {
    let mut object = Object::from([("shown", what), ("mode", mode)]);
    object.set("note", "It stands above the person's message, for reference only.");
    Json::Object(object)
}

/// Counts the messages of the ledger that a run has loaded.
fn loaded_in_run(messages: &[UiMessage], run_id: &str) -> usize {
    let field = |message: &UiMessage, key: &str| message.metadata()?.get(key).cloned();
    let of_run = |message: &&UiMessage| {
        field(message, "runId").as_ref().and_then(Json::as_str) == Some(run_id)
    };
    let entries = |message: &UiMessage| {
        field(message, "entries").and_then(|entries| entries.as_array().map(<[Json]>::len))
    };
    messages.iter().filter(of_run).filter_map(entries).sum()
}
