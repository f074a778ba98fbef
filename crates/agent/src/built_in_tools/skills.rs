//! `skills_list`, `skills_load` and `skills_unload`.

use std::sync::Arc;

use ship_message::json::Json;
use ship_provider::ToolSpec;

use crate::tool::{Tool, ToolContext, ToolFuture};

pub(crate) struct SkillsList;

impl Tool for SkillsList {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "skills_list".to_owned(),
            description:
                "Lists the skills there are, with what each is for and whether it is loaded."
                    .to_owned(),
            input_schema: super::strings_schema(&[]),
        }
    }

    fn is_safe_to_repeat(&self) -> bool {
        true
    }

    fn run(self: Arc<Self>, _input: Json, context: ToolContext) -> ToolFuture {
        Box::pin(async move { Ok(context.skills().await) })
    }
}

pub(crate) struct SkillsSet {
    pub(crate) load: bool,
}

impl Tool for SkillsSet {
    fn spec(&self) -> ToolSpec {
        let (name, description) = if self.load {
            (
                "skills_load",
                "Loads a skill: its text is there from the next step on, until it is unloaded.",
            )
        } else {
            ("skills_unload", "Lets a loaded skill go.")
        };
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: super::strings_schema(&[("name", "The skill's name.")]),
        }
    }

    /// Loading what is loaded changes nothing.
    fn is_safe_to_repeat(&self) -> bool {
        true
    }

    fn run(self: Arc<Self>, input: Json, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            context.set_skill(crate::outbound::string(&input, "name")?, self.load).await
        })
    }
}
