//! The tools `skills_list`, `skills_load` and `skills_unload`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{Tool, ToolContext};

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct NoInput {}

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SkillName {
    /// The skill's name.
    name: String,
}

/// Makes the three tools. All are safe to repeat, because loading a loaded skill changes nothing.
pub(super) fn skill_tools() -> [Tool; 3] {
    let list = "Lists the skills there are, with what each is for and whether it is loaded.";
    let load = "Loads a skill: its text is there from the next step on, until it is unloaded.";
    [
        Tool::new("skills_list", list, |_: NoInput, context: ToolContext| async move {
            Ok(context.skills().await)
        }),
        Tool::new("skills_load", load, |skill: SkillName, context| async move {
            context.set_skill(skill.name, true).await
        }),
        Tool::new(
            "skills_unload",
            "Lets a loaded skill go.",
            |skill: SkillName, context| async move { context.set_skill(skill.name, false).await },
        ),
    ]
    .map(Tool::safe_to_repeat)
}
