//! The tools that a model has for contexts, and what it is told of them.
//!
//! A model uses a tool well when it is told when, in the words that people use. So the descriptions begin with
//! the occasion, and name what people say in the languages that they say it in.

use ship_message::json::{Json, Object};

use super::history::{LOADED_A_RUN_MAX, LOADED_AT_ONCE_MAX};
use super::index::LISTED_MAX;

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextTool {
    /// Its name.
    pub name: &'static str,
    /// When to use it, and what it does.
    pub description: &'static str,
    /// The JSON Schema of its input.
    pub input_schema: Json,
    /// Whether a call may be made again when nobody knows whether it took effect.
    pub is_safe_to_repeat: bool,
}

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

/// The tools, in the order in which a model is told of them. A call that switches only promises to: the switch is
/// made when all calls of its step are answered, so it may be called again.
pub fn tool_specs() -> Vec<ContextTool> {
    let tool = |name, description, input_schema, is_safe_to_repeat| ContextTool {
        name,
        description,
        input_schema,
        is_safe_to_repeat,
    };
    let modes = &["summary", "recent", "full"];
    let load_modes = &["switch", "reference", "summary", "recent", "full"];
    vec![
        tool(
            "chat_context_new",
            NEW,
            schema(
                &[
                    ("title", text("What the new context is about, in a few words.")),
                    ("reason", text("Why the current one is left, in a few words.")),
                ],
                &[],
            ),
            true,
        ),
        tool(
            "chat_context_load",
            LOAD,
            schema(
                &[
                    ("query", text("Words that stand in the context, or `last`.")),
                    ("contextId", text("Its id, when it is known.")),
                    (
                        "mode",
                        one_of(
                            "`switch` (the default) goes there; the others only look.",
                            load_modes,
                        ),
                    ),
                ],
                &[],
            ),
            true,
        ),
        tool(
            "chat_context_list",
            LIST,
            schema(&[("limit", number("How many; 20 if not given.", LISTED_MAX))], &[]),
            true,
        ),
        tool(
            "chat_context_recall",
            RECALL,
            schema(
                &[
                    ("contextId", text("Its id, as `chat_context_list` gives it.")),
                    ("mode", one_of("How much to show.", modes)),
                ],
                &["contextId", "mode"],
            ),
            true,
        ),
        tool("chat_context_clear_active", CLEAR, schema(&[], &[]), true),
        tool(
            "chat_context_fork",
            FORK,
            schema(
                &[
                    ("name", text("What the copy is about, in a few words.")),
                    (
                        "at",
                        text("The name of a checkpoint, or a message id; the end if not given."),
                    ),
                ],
                &[],
            ),
            true,
        ),
        tool(
            "chat_checkpoint",
            CHECKPOINT,
            schema(&[("name", text("A short name."))], &["name"]),
            true,
        ),
        tool(
            "chat_load_history",
            HISTORY,
            schema(
                &[
                    ("limit", number(&loads(), LOADED_AT_ONCE_MAX)),
                    (
                        "before",
                        text(
                            "Only what is older: the number of an entry, such as `#12`, or a time.",
                        ),
                    ),
                    ("keyword", text("Only messages that contain this.")),
                ],
                &[],
            ),
            true,
        ),
    ]
}

fn loads() -> String {
    format!("How many; 20 if not given. One answer may load {LOADED_A_RUN_MAX} in all.")
}

/// The JSON Schema of an object with these fields, of which some must be there.
fn schema(fields: &[(&'static str, Object)], required: &[&str]) -> Json {
    let properties: Object =
        fields.iter().map(|(name, field)| (*name, Json::Object(field.clone()))).collect();
    let required: Vec<Json> = required.iter().map(|name| Json::from(*name)).collect();
    Json::Object(Object::from([
        ("type", Json::from("object")),
        ("properties", properties.into()),
        ("required", required.into()),
        ("additionalProperties", false.into()),
    ]))
}

fn text(about: &str) -> Object {
    Object::from([("type", "string"), ("description", about)])
}

fn one_of(about: &str, values: &[&str]) -> Object {
    let mut field = text(about);
    field.set("enum", values.iter().map(|value| Json::from(*value)).collect::<Vec<_>>());
    field
}

fn number(about: &str, max: usize) -> Object {
    Object::from([
        ("type", Json::from("integer")),
        ("description", about.into()),
        ("minimum", Json::from(1u64)),
        ("maximum", Json::from(max as u64)),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::reference::{LoadMode, RecallMode};
    use super::*;

    /// The fields of a tool's input, those that must be there with a `!`.
    fn fields(tool: &ContextTool) -> String {
        let properties = tool.input_schema.get("properties").unwrap().as_object().unwrap();
        let required = tool.input_schema.get("required").unwrap().as_array().unwrap();
        let field = |name: &str| match required.contains(&Json::from(name)) {
            true => format!("{name}!"),
            false => name.to_owned(),
        };
        properties.keys().map(field).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_tools_take_what_is_promised() {
        let told: Vec<String> =
            tool_specs().iter().map(|tool| format!("{}({})", tool.name, fields(tool))).collect();
        assert_eq!(
            told,
            [
                "chat_context_new(title reason)",
                "chat_context_load(query contextId mode)",
                "chat_context_list(limit)",
                "chat_context_recall(contextId! mode!)",
                "chat_context_clear_active()",
                "chat_context_fork(name at)",
                "chat_checkpoint(name!)",
                "chat_load_history(limit before keyword)",
            ]
        );
    }

    #[test]
    fn every_mode_that_a_model_may_name_is_understood() {
        for tool in tool_specs() {
            let mode = tool.input_schema.get("properties").and_then(|fields| fields.get("mode"));
            let names = mode.and_then(|mode| mode.get("enum")?.as_array()).unwrap_or_default();
            for name in names.iter().map(|name| name.as_str().unwrap()) {
                let understood = match tool.name {
                    "chat_context_load" => LoadMode::named(name).is_some(),
                    _ => RecallMode::named(name).is_some(),
                };
                assert!(understood, "{} {name}", tool.name);
            }
        }
    }

    #[test]
    fn what_people_say_is_named() {
        let load = &tool_specs()[1];
        assert!(load.description.contains("回到刚才那个方案"));
    }
}
