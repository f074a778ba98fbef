//! The tools for contexts: what a model is told of them is in `ship_context`, what they do in `contexts`.

use std::sync::Arc;

use ship_context::contexts::{ContextTool, tool_specs};
use ship_message::json::Json;
use ship_provider::ToolSpec;

use crate::tool::{Tool, ToolContext, ToolFuture};

struct ContextToolAdapter(ContextTool);

pub(crate) fn all() -> Vec<Arc<dyn Tool>> {
    tool_specs()
        .into_iter()
        .map(|tool| Arc::new(ContextToolAdapter(tool)) as Arc<dyn Tool>)
        .collect()
}

impl Tool for ContextToolAdapter {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.0.name.to_owned(),
            description: self.0.description.to_owned(),
            input_schema: self.0.input_schema.clone(),
        }
    }

    fn is_safe_to_repeat(&self) -> bool {
        self.0.is_safe_to_repeat
    }

    fn run(self: Arc<Self>, input: Json, context: ToolContext) -> ToolFuture {
        Box::pin(async move { context.contexts(self.0.name, input).await })
    }
}
