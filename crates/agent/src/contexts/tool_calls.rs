//! Answers a model's calls for contexts.
//!
//! A call that switches is planned here, and answered with the promise of a context. The plan is carried out when all
//! calls of the step are answered. It follows from the call and its output, so a crash in between changes nothing.

use std::borrow::Cow;

use parking_lot::Mutex;
use ship_context::contexts::{
    LedgerQuery, LoadMode, RecallMode, ReferenceBudget, Switch, SwitchRefusal, VisibleEntries,
    check_switch, history_reference, switch_output,
};
use ship_message::UiMessage;
use ship_message::json::Json;
use ship_store::{LedgerLine, StorageProblem, StorageProblemKind, View};

use super::archive::ContextArchive;
use super::list::active_snapshot;
use super::operate::operate;
use super::publish::left_out_sentence;
use super::recall::{NO_ROOM, SHARE, reference};
use super::search_call::search_call;
use super::switch_request::SwitchRequest;
use super::target_origin::{OperationPlan, TargetOrigin};
use crate::blocking_work::in_place;
use crate::chat::{EarlierPages, OpenRequest, has_content, open_request_ids};
use crate::context_operation::{ContextName, ContextOperation, OperationOutcome};
use crate::context_tool_input::{
    ContextToolInput, ListContexts, LoadContext, LoadHistory, NewCheckpoint, RecallContext,
};
use crate::engine::ActiveRun;
use crate::error::RunError;

/// The note in the output of a call that forked.
const IN_A_COPY: &str = "You are in a copy now, under an id of its own; what it ends with is above. Go on from there with the person's message; do not switch again for it.";

/// The maximum number of pages of the ledger that are searched for earlier messages.
const PAGES_MAX: usize = 50;

/// The switches of a run, as one of its calls finds them.
pub(crate) struct RunSwitches {
    /// The number of switches that the run has made.
    pub(crate) made: u64,
    /// Whether an earlier call of the same step has promised a switch.
    pub(crate) is_promised: bool,
    /// The switch that this call promises.
    pub(crate) promised: Mutex<Option<OperationPlan>>,
}

impl RunSwitches {
    fn check(&self, switch: Switch, has_content: bool) -> Result<(), SwitchRefusal> {
        match self.is_promised {
            true => Err(SwitchRefusal::OneAtATime),
            false => {
                check_switch(switch, usize::try_from(self.made).unwrap_or(usize::MAX), has_content)
            }
        }
    }
}

/// Answers a call for contexts. An error is a text for the model.
pub(crate) async fn answer_call(
    work: &ActiveRun,
    switches: &RunSwitches,
    call: ContextToolInput,
) -> Result<Json, String> {
    let error_text = |error: RunError| work.locked.engine.project.mask(&error.to_string());
    let view = work.locked.chat.log().view().await.map_err(|error| error_text(error.into()))?;
    let view = view.ok_or("there is no context yet")?;
    let called = ContextToolCall { work, switches, view };
    let answered = match call {
        ContextToolInput::List(input) => called.list(&input).await,
        ContextToolInput::Recall(input) => called.recall(&input).await,
        ContextToolInput::Load(input) => called.load(input).await,
        ContextToolInput::New(input) => called.promise(input.into()).await,
        ContextToolInput::Clear(input) => called.promise(input.into()).await,
        ContextToolInput::Fork(input) => called.promise(input.into()).await,
        ContextToolInput::Checkpoint(input) => called.checkpoint(input).await,
        ContextToolInput::History(input) => called.history(input).await,
        ContextToolInput::Search(input) => search_call(&work.locked, input).await,
    };
    answered.map_err(error_text)?
}

struct ContextToolCall<'a> {
    work: &'a ActiveRun,
    switches: &'a RunSwitches,
    view: View,
}

type ContextCallResult = Result<Result<Json, String>, RunError>;

impl ContextToolCall<'_> {
    async fn open_archive(&self) -> Result<ContextArchive<'_>, RunError> {
        ContextArchive::open(&self.work.locked.engine, &*self.work.locked.chat, &self.view).await
    }

    fn open_request_ids(&self) -> Vec<String> {
        open_request_ids(&self.view, &self.work.run_id)
    }

    async fn list(&self, input: &ListContexts) -> ContextCallResult {
        let archive = self.open_archive().await?;
        Ok(Ok(archive.into_list(&self.view).to_json(input.limit)))
    }

    async fn recall(&self, input: &RecallContext) -> ContextCallResult {
        match input.context_id.trim() {
            "" => Ok(Err("`contextId` is empty; chat_context_list tells them".to_owned())),
            which => self.show(which, input.mode.unwrap_or(RecallMode::Summary)).await,
        }
    }

    /// Shows a context, once in a run: the reference is the output of the call.
    async fn show(&self, which: &str, mode: RecallMode) -> ContextCallResult {
        let archive = self.open_archive().await?;
        let snapshot = match archive.find(which).await? {
            Ok(snapshot) => snapshot,
            Err(refused) => return Ok(Err(refused.text_for_model())),
        };
        // The state stays locked, so that two calls at once cannot both fetch the same.
        let mut state = self.work.state.lock().await;
        if state.fetched.has_context(snapshot.context(), mode.name()) {
            return Ok(Err("It is shown above already.".to_owned()));
        }
        let Ok(reference) = reference(&self.work.locked.engine, &snapshot, mode) else {
            return Ok(Err(NO_ROOM.to_owned()));
        };
        state.fetched.add(&reference.text);
        Ok(Ok(Json::from(reference.text)))
    }

    async fn load(&self, input: LoadContext) -> ContextCallResult {
        // Of both, the id is the exact one.
        let Some(which) = input.context_id.or(input.query) else {
            return Ok(Err("the input needs `query` or `contextId`".to_owned()));
        };
        match input.mode.and_then(LoadMode::recall_mode) {
            Some(mode) => self.show(&which, mode).await,
            None => self.promise(SwitchRequest::load(which)).await,
        }
    }

    /// Plans a switch, and answers with the promise of its context. The log that it continues with is read now, so that
    /// no context is promised that cannot be read.
    async fn promise(&self, request: SwitchRequest) -> ContextCallResult {
        let SwitchRequest { switch, operation, title, promised } = request;
        let (locked, current) = (&self.work.locked, self.open_request_ids());
        let (agent, has_content) = (&locked.engine, has_content(&self.view, &current));
        if let Err(refused) = self.switches.check(switch, has_content) {
            return Ok(Err(refused.to_string()));
        }
        let moving = OpenRequest { current, title, promised, ..OpenRequest::default() };
        let view = self.view.clone();
        let mut plan = match OperationPlan::find(locked, view, operation, moving).await? {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused.text_for_model())),
        };
        let left = ContextName::from(&active_snapshot(agent, &self.view));
        let active = plan.promise(locked, &left);
        let is_clean = matches!(plan.origin, TargetOrigin::Clean { .. });
        let mut output = switch_output(left.as_pair(), active.as_pair(), usize::from(!is_clean));
        if let Some(output) = output.as_object_mut().filter(|_| switch == Switch::Fork) {
            output.set("note", IN_A_COPY);
        }
        let problems = plan.origin.problems().unwrap_or(&self.view.problems);
        let left_out = if is_clean { 0 } else { damaged_places(problems) };
        *self.switches.promised.lock() = Some(plan);
        Ok(Ok(with_note_of_damage(output, left_out)))
    }

    async fn checkpoint(&self, input: NewCheckpoint) -> ContextCallResult {
        let wanted = ContextOperation::Checkpoint { name: input.name.trim().to_owned() };
        let nothing = OpenRequest::default();
        let operated = operate(&self.work.locked, &self.view, &wanted, &nothing).await?;
        self.work.read_again().await?;
        Ok(match operated.outcome {
            OperationOutcome::Done(changed) => Ok(Json::from(changed.line)),
            OperationOutcome::NotDone(not_done) => Err(not_done.line),
            OperationOutcome::Queued => Err("the chat is at work".to_owned()),
        })
    }

    /// Shows earlier messages of the ledger that are not in view, as one reference.
    async fn history(&self, input: LoadHistory) -> ContextCallResult {
        let ask = match LedgerQuery::read(input.limit, input.before.as_deref(), input.keyword) {
            Ok(ask) => ask,
            Err(sentence) => return Ok(Err(sentence)),
        };
        // What was loaded and left out since, to save room, is not in view any more.
        let pruned = self.work.pruned().await;
        let shown = |message| match pruned.has_output_of(message) {
            true => {
                let mut message = message.clone();
                pruned.apply(&mut message);
                Cow::Owned(message)
            }
            false => Cow::Borrowed(message),
        };
        let messages: Vec<Cow<'_, UiMessage>> = self.view.messages().map(shown).collect();
        let promoted = self.view.lines.iter().filter_map(|line| line.inbox);
        let mut in_view = VisibleEntries::in_messages(&messages, promoted);
        let lines = self.earlier_lines().await?;
        let mut state = self.work.state.lock().await;
        in_view.add_fetched(&state.fetched);
        let agent = &self.work.locked.engine;
        let count = |text: &str| agent.token_meter.count(text);
        let room = ReferenceBudget { tokens: agent.budget_tokens() / SHARE, count: &count };
        let loaded = state.fetched.entries().len();
        Ok(match in_place(|| history_reference(&lines, &ask, &in_view, loaded, room)) {
            Ok((reference, _)) => {
                state.fetched.add(&reference.text);
                Ok(Json::from(reference.text))
            }
            Err(not_loaded) => Err(not_loaded.to_string()),
        })
    }

    /// Returns the newest lines of the ledger, in order, up to the limit of pages.
    async fn earlier_lines(&self) -> Result<Vec<LedgerLine>, RunError> {
        let mut lines: Vec<LedgerLine> = Vec::new();
        let mut pages = EarlierPages::new(&*self.work.locked.chat, None);
        for _ in 0..PAGES_MAX {
            let Some(mut page) = pages.next().await? else { break };
            page.append(&mut lines);
            lines = page;
        }
        Ok(lines)
    }
}

/// Counts the places of a log that cannot be read.
fn damaged_places(problems: &[StorageProblem]) -> usize {
    problems.iter().filter(|problem| problem.kind == StorageProblemKind::Damage).count()
}

/// Adds a sentence about unreadable places to the note of an output, if there are any.
fn with_note_of_damage(mut output: Json, places: usize) -> Json {
    if let Some(output) = output.as_object_mut().filter(|_| places > 0) {
        let note = output.str("note").map_or_else(String::new, |note| format!("{note} "));
        output.set("note", format!("{note}{}", left_out_sentence(places)));
    }
    output
}
