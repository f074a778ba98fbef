//! The tools for contexts: what a model is told of them is in `ship_context`, what they do in `contexts`.

use ship_context::contexts::tool_specs;

use crate::tool::Tool;

/// Makes the tools to leave a context and come back, in the order in which a model is told of them.
pub fn context_tools() -> Vec<Tool> {
    let tools = tool_specs().into_iter().map(|spec| {
        let tool = Tool::with_schema(
            spec.name,
            spec.description,
            spec.input_schema,
            move |input, context| Box::pin(async move { context.contexts(spec.name, input).await }),
        );
        // A call that switches only promises to, so it may be made again.
        tool.safe_to_repeat()
    });
    tools.collect()
}
