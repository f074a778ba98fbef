//! Lists the existing skills and the loaded ones.
//!
//! Loading a skill is an event in the context log, so that it stays loaded after a restart. The head of the log
//! carries the loaded skills across a rotation.

use ship_context::{LoadedSkill, SkillLine};
use ship_message::json::{Json, Object};
use ship_project::{Skill, SkillState};
use ship_store::{ContextBody, View};

pub(crate) const LOADED: &str = "skill_loaded";
pub(crate) const UNLOADED: &str = "skill_unloaded";

/// Returns the names of the loaded skills, in the order in which they were loaded.
pub(crate) fn loaded_names(view: &View) -> Vec<String> {
    let mut names: Vec<String> = view.head.carry.skills().map(str::to_owned).collect();
    for line in &view.lines {
        let ContextBody::Event(event) = &line.body else { continue };
        let Some(name) = event.data.get("skill").and_then(Json::as_str) else { continue };
        match event.event.as_str() {
            LOADED if !names.iter().any(|known| known == name) => names.push(name.to_owned()),
            UNLOADED => names.retain(|known| known != name),
            _ => {}
        }
    }
    names
}

/// Returns the line of a skill in the overview.
pub(crate) fn overview_line(skill: &Skill) -> SkillLine {
    match &skill.state {
        SkillState::Usable { .. } => SkillLine {
            name: skill.name.clone(),
            description: skill.description.clone(),
            is_usable: true,
        },
        SkillState::Unusable { reason } => {
            SkillLine { name: skill.name.clone(), description: reason.clone(), is_usable: false }
        }
    }
}

/// Returns the skill with this name, a usable one if there is any.
pub(crate) fn find_skill<'a>(skills: &'a [Skill], name: &str) -> Option<&'a Skill> {
    let named = || skills.iter().filter(|skill| skill.name == name);
    named()
        .find(|skill| matches!(skill.state, SkillState::Usable { .. }))
        .or_else(|| named().next())
}

/// Returns the texts of the loaded skills. A skill that is gone gets a note, so that the model is not misled.
pub(crate) fn loaded_skills(names: &[String], skills: &[Skill]) -> Vec<LoadedSkill> {
    let text = |name: &String| match find_skill(skills, name).map(|skill| &skill.state) {
        Some(SkillState::Usable { body }) => body.clone(),
        Some(SkillState::Unusable { reason }) => {
            format!("(This skill cannot be used now: {reason})")
        }
        None => "(This skill is not there any more.)".to_owned(),
    };
    names.iter().map(|name| LoadedSkill { name: name.clone(), text: text(name) }).collect()
}

/// Returns the output of `skills_list`.
pub(crate) fn to_json(skills: &[Skill], loaded: &[String]) -> Json {
    let entry = |skill: &Skill| {
        let mut object = Object::from([("name", skill.name.as_str())]);
        object.set("description", skill.description.as_str());
        let tools = skill.allowed_tools.as_ref().map(|tools| {
            Json::from(tools.iter().map(|tool| Json::from(tool.as_str())).collect::<Vec<_>>())
        });
        object.set_or_remove("allowedTools", tools);
        match &skill.state {
            SkillState::Usable { .. } => object.set("loaded", loaded.contains(&skill.name)),
            SkillState::Unusable { reason } => {
                object.set("loaded", false);
                object.set("problem", reason.as_str());
            }
        }
        Json::Object(object)
    };
    skills.iter().map(entry).collect::<Vec<_>>().into()
}
