//! The operations on the chat of its run that a tool may ask for.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_project::{Skill, SkillState};

use super::chat_send::deliver_call;
use crate::chat::loaded_skills;
use crate::context_tool_input::ContextToolInput;
use crate::contexts::{RunSwitches, answer_call};
use crate::engine::ActiveRun;
use crate::outbound::Outbound;
use crate::tool::{HostFuture, ToolHost};

/// The chat of a run, as one call may use it.
pub(super) struct CallHost {
    pub(super) work: Arc<ActiveRun>,
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
            loaded_skills::to_json(&self.work.locked.engine.project.skills(), &loaded)
        })
    }

    fn set_skill(&self, name: String, load: bool) -> HostFuture<'_, Result<Json, String>> {
        Box::pin(async move {
            let ActiveRun { locked, state, .. } = &*self.work;
            let skills = locked.engine.project.skills();
            let known = loaded_skills::find_skill(&skills, &name);
            let mut log = state.lock().await;
            let is_loaded = log.loaded.contains(&name);
            let answer = |state: &str| {
                Ok(Json::Object(Object::from([("skill", name.as_str()), ("state", state)])))
            };
            match (load, known.map(|skill| &skill.state)) {
                (true, None) => return Err(unknown_skill_text(&name, &skills)),
                (true, Some(SkillState::Unusable { reason })) => {
                    return Err(format!("the skill `{name}` cannot be used: {reason}"));
                }
                (true, Some(SkillState::Usable { .. })) if is_loaded => {
                    return answer("was loaded already");
                }
                (false, _) if !is_loaded => {
                    return Err(format!("the skill `{name}` is not loaded"));
                }
                (true, Some(SkillState::Usable { .. })) | (false, _) => {}
            }
            let change = if load { loaded_skills::LOADED } else { loaded_skills::UNLOADED };
            let data = Object::from([("skill", name.as_str())]);
            let event = locked.engine.new_event(change, data);
            let position = locked.lane.append(vec![event.into()], log.position).await;
            log.position = position.map_err(|error| error.to_string())?;
            if load {
                // The system blocks change now anyway, so they also get the current list of skills.
                log.sources.skills = skills;
                log.loaded.push(name.clone());
                answer("loaded; its text is in the system blocks from now on")
            } else {
                log.loaded.retain(|known| *known != name);
                answer("unloaded")
            }
        })
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
