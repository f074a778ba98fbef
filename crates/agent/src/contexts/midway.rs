//! An operation in the middle of a run: what the run has so far stays in the context that is left, and it goes
//! on in the other with nothing but what the person waits for, and the call that switched.
//!
//! Nothing of it is remembered but in the logs. The call is answered and in the journal; the message that is left
//! behind says what was taken along; the head of the next log says which message that was. Whoever goes on after
//! a crash sees from these what is left to do.

use std::sync::Arc;

use ship_context::contexts::{MOVED, Switching, after_switch, switch_of};
use ship_context::{Journal, RunStart};
use ship_message::json::Json;
use ship_message::{ToolPart, ToolState, UiMessage, UiPart};
use ship_store::{LedgerLine, Synced};

use super::asked::tell;
use super::operation::{Ground, Moving, Operated, Operation};
use super::turn::{current_ids, operate};
use crate::events::{Outcome, RunEvent};
use crate::finish;
use crate::run::RunError;
use crate::step::{Progress, last_step, notice};
use crate::work::Work;

/// The call of the last step that has switched the context, if the switch is still to be made.
pub(crate) fn switching_call(message: &UiMessage, start: &RunStart) -> Option<ToolPart> {
    last_step(message).iter().find_map(|part| match part {
        UiPart::Tool(tool)
            if tool.state() == ToolState::OutputAvailable
                && start.switched.as_deref() != Some(tool.call_id())
                && switch_of(tool.name().unwrap_or_default(), tool.input()).is_some() =>
        {
            Some(tool.clone())
        }
        _ => None,
    })
}

/// The operation that a call stands for. Its output names the context that it promised.
fn operation_of(call: &ToolPart) -> Operation {
    let text = |key: &str| {
        let value = call.input().and_then(|input| input.get(key)).and_then(Json::as_str);
        value.filter(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    match call.name().unwrap_or_default() {
        "chat_context_load" => {
            Operation::Load { which: active_id(call).unwrap_or("last").to_owned() }
        }
        "chat_context_fork" => Operation::Fork { at: text("at"), to: None },
        "chat_context_clear_active" => Operation::Clear,
        _ => Operation::New { title: text("title"), reason: text("reason") },
    }
}

fn active_id(call: &ToolPart) -> Option<&str> {
    call.output()?.get("active")?.get("contextId")?.as_str()
}

/// Makes the switch that a call has asked for.
pub(crate) async fn switch(
    work: &Arc<Work>,
    progress: &mut Progress,
    call: &ToolPart,
) -> Result<(), RunError> {
    // What the call has promised must be known before the log that it leaves is sealed.
    progress.journal_switch(work, call.call_id()).await?;
    let call_id = Some(call.call_id());
    let mut moving = leave(work, progress, call_id).await?;
    moving.promised = active_id(call).and_then(|id| id.parse().ok());
    let operated = operate(work.ground(), &operation_of(call), &moving).await?;
    go_on(work, progress, call_id).await?;
    let line = match &operated {
        Operated::Done(changed) => changed.line.clone(),
        Operated::NotDone(not_done) => not_done.with_offers(),
        Operated::Queued => return Ok(()),
    };
    work.tell(&RunEvent::Chunk(notice("context", &line)));
    let key = format!("switch:{}:{}", work.run_id, call.call_id());
    let meta = ship_message::json::Object::from([("via", "switch")]);
    work.record_sent(key, &line, Some(meta)).await?;
    Ok(())
}

/// Does what a person has asked for while a run goes on.
pub(crate) async fn operate_midway(
    work: &Arc<Work>,
    progress: &mut Progress,
    asked: &LedgerLine,
    operation: &Operation,
) -> Result<(), RunError> {
    let leaves = match operation {
        Operation::New { .. } => true,
        Operation::Fork { to, .. } => to.as_ref().is_none_or(|to| to == work.chat.key()),
        _ => false,
    };
    let mut moving = match leaves {
        true => leave(work, progress, None).await?,
        false => Moving {
            current: current_ids(&work.context().await, &work.run_id),
            ..Moving::default()
        },
    };
    moving.inbox = Some(asked.seq);
    let operated = super::turn::operate_asked(work.ground(), operation, &moving).await?;
    match leaves {
        true => go_on(work, progress, None).await?,
        false => work.enter().await?,
    }
    tell(work.ground(), asked, &operated).await
}

/// Leaves what the run has so far in the log, once.
async fn leave(
    work: &Work,
    progress: &mut Progress,
    call_id: Option<&str>,
) -> Result<Moving, RunError> {
    let so_far = progress.assembler.message().clone();
    let said = work.context().await;
    let current = current_ids(&said, &work.run_id);
    let is_current = |message: &&Arc<UiMessage>| {
        message.id().is_some_and(|id| current.iter().any(|known| known == id))
    };
    let output = call_id.and_then(|id| Some((id, output_of(&so_far, id)?)));
    let switched = after_switch(Switching {
        loaded: Vec::new(),
        current: said.iter().filter(is_current).map(|message| (**message).clone()).collect(),
        so_far: &so_far,
        call: output,
        next_message_id: "",
    });
    let is_there = said.iter().any(|message| message.id() == so_far.id());
    if let Some(mut left) = switched.left.filter(|_| !is_there) {
        let moved = left.metadata().and_then(|metadata| metadata.get(MOVED)).cloned();
        finish::settle(&mut left);
        let mut metadata = finish::metadata(work, &Outcome::Done, None);
        metadata.set(MOVED, moved.unwrap_or_default());
        left.set_metadata(metadata.into());
        if !left.parts().is_empty() {
            let entry = left.to_json().as_object().cloned().unwrap_or_default();
            work.append(vec![entry.into()]).await?;
        }
    }
    let settled = Some((progress.start.message_id.clone(), call_id.map(str::to_owned)));
    Ok(Moving { current, settled, ..Moving::default() })
}

fn output_of(message: &UiMessage, call_id: &str) -> Option<Json> {
    message.parts().iter().find_map(|part| match part {
        UiPart::Tool(tool) if tool.call_id() == call_id => tool.output().cloned(),
        _ => None,
    })
}

/// Goes on in the context that is now the active one.
async fn go_on(
    work: &Work,
    progress: &mut Progress,
    call_id: Option<&str>,
) -> Result<(), RunError> {
    let journal = Journal {
        message: progress.assembler.message().clone(),
        waited_ms: progress.waited_ms,
        ..Journal::of(progress.start.clone())
    };
    let next = journal.after_switching(call_id);
    work.lane.begin_journal(next.start.to_object()).await?;
    progress.take_over(next);
    work.has_switched().await;
    work.enter().await
}

impl Progress {
    /// Sees to it that the journal has the answer of a call, on disk.
    async fn journal_switch(&mut self, work: &Work, call_id: &str) -> Result<(), RunError> {
        let is_it = |part: &UiPart| matches!(part, UiPart::Tool(tool) if tool.call_id() == call_id);
        match self.assembler.message().parts().iter().position(is_it) {
            Some(at) => self.journal_part(work, at, Synced::Now).await,
            None => Ok(()),
        }
    }
}

impl Work {
    /// The chat, with its lane.
    pub(crate) fn ground(&self) -> Ground<'_> {
        Ground { agent: &self.agent, chat: &*self.chat, lane: &*self.lane }
    }
}
