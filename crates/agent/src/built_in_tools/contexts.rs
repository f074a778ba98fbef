//! The tools for contexts. Their part of the system prompt is in `ship_context`, their work in `contexts`.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context_tool_input::ContextToolInput;
use crate::tool::{Tool, ToolContext};

const NEW: &str = "\
Use when what was said before is too much, messy, misleading, or has little to do with the person's present \
message, or when the person wants a fresh start (“new topic”, “start over”, “换个话题”, “重新开始”). Archives \
the current context, so that it can be loaded again, and goes on at once in a clean one with only the person's \
present message. Not needed for an ordinary next message.";

const LOAD: &str = "\
Use when the person wants to go back to something earlier (“back to that plan”, “回到刚才那个方案”, \
“继续上个上下文”). Finds an archived context by words or by its id (`last`: the one left last), archives the \
current one, and goes on at once in the messages of the one that was found. If none fits, nothing changes and \
the newest are offered. To look without leaving, give a `mode` other than `switch`.";

const LIST: &str = "\
Lists the archived contexts of this chat, the one left last first: id, title, times, number of messages and a \
preview. Use it to find what the person means before `chat_context_load` or `chat_context_recall`.";

const RECALL: &str = "\
Use when something from an archived context would help, but the present conversation should go on here. Shows \
that context once, for reference only: it does not change what the person asks for now.";

const CLEAR: &str = "\
Use when the current context is spoilt: it holds wrong or confusing things that keep leading you astray, or the \
person asks to clear it (“clear the context”, “清空上下文”). Archives it first, so nothing is lost, and goes on \
at once with only the person's present message.";

const FORK: &str = "\
Use when the person wants to try something else from a point in this context without losing what came after it \
(“try another way from there”, “从那里换个方案试试”). Goes on at once in a copy that ends at that point; the \
current context is archived as it is.";

const CHECKPOINT: &str = "\
Use when the conversation has reached a point that somebody may want to come back to, or when the person asks \
for it (“remember this point”, “记住这里”). Gives that point a name for `chat_context_fork`. Changes nothing else.";

const HISTORY: &str = "\
Use when the person refers to something that was said earlier in this chat and is not in view. Shows earlier \
messages once, for reference only, the newest first to be chosen.";

const SEARCH: &str = "\
Use when you need something that was said or done in this chat before, however long ago and in whichever context: a \
decision, a name, a number, a command and its output. Finds the messages that answer best. With `around`, gives the \
original messages before and after one of them. It changes nothing.";

/// Makes the tools for contexts, in the order in which a model is told of them. All are safe to repeat: a call that
/// switches only promises it, and the switch is made when all calls of its step are answered.
pub(crate) fn context_tools() -> Vec<Tool> {
    let tools = [
        tool("chat_context_new", NEW, ContextToolInput::New),
        tool("chat_context_load", LOAD, ContextToolInput::Load),
        tool("chat_context_list", LIST, ContextToolInput::List),
        tool("chat_context_recall", RECALL, ContextToolInput::Recall),
        tool("chat_context_clear_active", CLEAR, ContextToolInput::Clear),
        tool("chat_context_fork", FORK, ContextToolInput::Fork),
        tool("chat_checkpoint", CHECKPOINT, ContextToolInput::Checkpoint),
        tool("chat_load_history", HISTORY, ContextToolInput::History),
        tool("chat_history_search", SEARCH, ContextToolInput::Search),
    ];
    tools.into()
}

fn tool<Input>(
    name: &str,
    description: &str,
    call: impl Fn(Input) -> ContextToolInput + Send + Sync + Copy + 'static,
) -> Tool
where
    Input: DeserializeOwned + JsonSchema,
{
    let run = move |input: Input, context: ToolContext| {
        let call = call(input);
        async move { context.call_context_tool(call).await }
    };
    Tool::new(name, description, run).safe_to_repeat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_told_of_each_tool_in_its_system_prompt() {
        let prompt = include_str!("../../../context/src/prompts/contexts.md");
        for tool in context_tools() {
            let name = &tool.spec().name;
            assert!(prompt.contains(&format!("`{name}`")), "{name}");
        }
    }
}
