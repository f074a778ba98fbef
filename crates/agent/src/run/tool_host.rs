//! The operations on the chat of its run that a tool may ask for.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_project::{Skill, SkillState};
use ship_store::conversation::SkillChange;

use super::chat_send::deliver_call;
use crate::chat::loaded_skills;
use crate::chat::skill_changes::{event_data, skill_prompt};
use crate::context_tool_input::ContextToolInput;
use crate::contexts::{RunSwitches, answer_call};
use crate::engine::ActiveRun;
use crate::outbound::Outbound;
use crate::tool::{HostFuture, ToolHost};

/// The chat of a run, as one call may use it.
pub(super) struct CallHost {
    pub(super) work: Arc<ActiveRun>,
    pub(super) call_id: String,
    pub(super) switches: RunSwitches,
}

impl ToolHost for CallHost {
    fn call_context_tool(&self, call: ContextToolInput) -> HostFuture<'_, Result<Json, String>> {
        Box::pin(answer_call(&self.work, &self.switches, call))
    }

    fn deliver(&self, call_id: String, sending: Outbound) -> HostFuture<'_, Result<Json, String>> {
        Box::pin(async move {
            // The state stays locked, so that two calls at once cannot both deliver the same text.
            let mut log = self.work.state.lock().await;
            deliver_call(&self.work, &mut log.delivered_calls, call_id, sending).await
        })
    }

    fn skills(&self) -> HostFuture<'_, Json> {
        Box::pin(async move {
            let loaded = self.work.loaded_skills().await;
            let locked = &self.work.locked;
            let (_, skills) = locked.engine.project_texts(locked.chat.key()).await;
            loaded_skills::to_json(&skills, &loaded)
        })
    }

    fn set_skill(&self, name: String, load: bool) -> HostFuture<'_, Result<Json, String>> {
        Box::pin(async move {
            let ActiveRun { locked, state, .. } = &*self.work;
            let (_, skills) = locked.engine.project_texts(locked.chat.key()).await;
            let mut log = state.lock().await;
            let is_loaded = log.loaded.contains(&name);
            let answer = |state: &str| {
                Ok(Json::Object(Object::from([("skill", name.as_str()), ("state", state)])))
            };
            let body = match load {
                true => Some(usable_text(&name, &skills)?),
                false if !is_loaded => return Err(format!("the skill `{name}` is not loaded")),
                false => None,
            };
            if load && is_loaded {
                return answer("was loaded already");
            }
            // A log without events is a conversation, where the text of a skill is a message.
            let is_in_block = locked.chat.log().features().holds_events;
            let change = (!is_in_block).then(|| SkillChange {
                skill: name.clone(),
                call_id: self.call_id.clone(),
                prompt: body.map(|body| skill_prompt(&name, body)),
            });
            let data = match &change {
                Some(change) => event_data(change),
                None => Object::from([("skill", name.as_str())]),
            };
            let event = if load { loaded_skills::LOADED } else { loaded_skills::UNLOADED };
            let event = locked.engine.new_event(event, data);
            let position = locked.lane.append(vec![event.into()], log.position).await;
            log.position = position.map_err(|error| error.to_string())?;
            let was_prompted = log.is_prompted(&name);
            log.skill_changes.extend(change);
            if load {
                log.loaded.push(name.clone());
            } else {
                log.loaded.retain(|known| *known != name);
            }
            if load && is_in_block {
                // The system blocks change now anyway, so they also get the current list of skills.
                log.sources.skills = skills;
            }
            answer(match (load, is_in_block) {
                (true, true) => "loaded; its text is in the system blocks from now on",
                (true, false) => "loaded; its text follows",
                (false, _) if was_prompted => "unloaded; its text above does not count any more",
                (false, _) => "unloaded",
            })
        })
    }
}

/// Returns the text of a skill that can be loaded.
fn usable_text<'s>(name: &str, skills: &'s [Skill]) -> Result<&'s str, String> {
    match loaded_skills::find_skill(skills, name).map(|skill| &skill.state) {
        Some(SkillState::Usable { body }) => Ok(body),
        Some(SkillState::Unusable { reason }) => {
            Err(format!("the skill `{name}` cannot be used: {reason}"))
        }
        None => Err(unknown_skill_text(name, skills)),
    }
}

fn unknown_skill_text(name: &str, skills: &[Skill]) -> String {
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    if names.is_empty() {
        format!("there is no skill `{name}`; this project has none")
    } else {
        format!("there is no skill `{name}`; there are: {}", names.join(", "))
    }
}
