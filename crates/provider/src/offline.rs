//! The offline model: a deterministic substitute that needs no key and no network.
//!
//! It says plainly what it is. A line `/tool NAME {json}` in the person's message makes it call that tool, one line
//! in each step, in order. After the last line it reports the answers of the tools. So everything around a model
//! can be tried and tested on a bare machine.

use ship_message::json::Json;
use ship_message::{
    Chunk, FinishReason, ModelMessage, ModelPart, ModelRole, ModelValue, TextChunk, ToolChunk,
    ToolOutput, UiMessage, attached_text_name,
};

use crate::{AnswerEnd, AnswerFuture, ChunkSink, Provider, Request, compile};

/// The offline model, which introduces itself in `ship chat`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

const NAME: &str = "offline";

impl Provider for Offline {
    fn name(&self) -> &str {
        NAME
    }

    fn model(&self) -> &str {
        NAME
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn can_summarise(&self) -> bool {
        false
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        _body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        Box::pin(async move {
            let (earlier, last) = request.view.split_at(last_question(request.view));
            // Only the id of a call needs the number of the earlier messages.
            let count_earlier = || compile::convert_view(earlier).len();
            let reply = decide(&compile::convert_view(last), count_earlier);
            let finish_reason = reply.stream(sink);
            // It has no tokens, so it reports none.
            Ok(AnswerEnd { finish_reason, usage: None })
        })
    }
}

/// The reply to a request.
#[derive(Debug, PartialEq)]
enum OfflineReply {
    Call { call_id: String, name: String, input: Json },
    Text(String),
}

/// Returns the place of the last message from the person, where the answer begins to depend on the messages.
fn last_question(view: &[UiMessage]) -> usize {
    let is_question = |message: &UiMessage| {
        compile::convert_view(std::slice::from_ref(message)).iter().any(is_from_person)
    };
    view.iter().rposition(is_question).unwrap_or(0)
}

/// Decides on a reply from the last message of the person and from the calls made since. `count_earlier` returns the
/// number of messages before these.
fn decide(messages: &[ModelMessage<'_>], count_earlier: impl FnOnce() -> usize) -> OfflineReply {
    let Some(last) = messages.iter().rposition(is_from_person) else {
        return OfflineReply::Text(format!("{WHO} Nobody has said anything yet."));
    };
    let texts = spoken_texts(&messages[last]);
    let orders: Vec<Result<(String, Json), String>> =
        texts.iter().flat_map(|text| text.lines()).filter_map(parse_order).collect();
    let done = list_results(&messages[last + 1..]);
    match orders.get(done.len()) {
        Some(Ok((name, input))) => OfflineReply::Call {
            // The id is unique within the chat, and the same when the same request is repeated.
            call_id: format!("offline_{}_{}", count_earlier() + messages.len(), done.len()),
            name: name.clone(),
            input: input.clone(),
        },
        Some(Err(problem)) => OfflineReply::Text(format!("{WHO} {problem}")),
        None if orders.is_empty() => {
            let text = texts.last().map_or("", |text| text.trim());
            let files = attached_names(&messages[last]);
            let files = match files.is_empty() {
                true => String::new(),
                false => format!(" (attached: {})", files.join(", ")),
            };
            OfflineReply::Text(format!("{WHO} You said: {text}{files}"))
        }
        None => OfflineReply::Text(format!("{WHO} The tools answered:\n{}", done.join("\n"))),
    }
}

/// Whether a message is a person's, and not the prompt of a skill, which a conversation has in the same role.
fn is_from_person(message: &ModelMessage<'_>) -> bool {
    let is_prompt = |text: &String| text.starts_with("<skill-prompt>");
    message.role == ModelRole::User && !message_texts(message).first().is_some_and(is_prompt)
}

const WHO: &str = "I am the offline model, a small stand-in without a language model.";

/// Returns the texts of a message, in order.
fn message_texts(message: &ModelMessage<'_>) -> Vec<String> {
    let text = |part: &ModelPart<'_>| match part {
        ModelPart::Text(text) => {
            text.text().as_ref().and_then(ModelValue::as_str).map(str::to_owned)
        }
        _ => None,
    };
    message.parts().iter().filter_map(text).collect()
}

/// Returns the texts of a message without those of files, in order.
fn spoken_texts(message: &ModelMessage<'_>) -> Vec<String> {
    let mut texts = message_texts(message);
    texts.retain(|text| attached_text_name(text).is_none());
    texts
}

/// Returns the names of the files in a message, in order.
fn attached_names(message: &ModelMessage<'_>) -> Vec<String> {
    let name = |part: &ModelPart<'_>| match part {
        ModelPart::Text(text) => {
            let text = text.text()?;
            attached_text_name(text.as_str()?).map(str::to_owned)
        }
        ModelPart::File(file) => {
            let name = file.filename().as_ref().and_then(ModelValue::as_str).map(str::to_owned);
            Some(name.unwrap_or_else(|| "a file".to_owned()))
        }
        _ => None,
    };
    message.parts().iter().filter_map(name).collect()
}

/// Parses a line `/tool NAME {json}`; `None` if it is another line.
fn parse_order(line: &str) -> Option<Result<(String, Json), String>> {
    let rest = line.trim().strip_prefix("/tool")?;
    if !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let (name, input) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), "{}"));
    if name.is_empty() {
        return Some(Err("I can call a tool when told `/tool NAME {json}`.".to_owned()));
    }
    Some(match Json::parse(input.trim()) {
        Ok(input) => Ok((name.to_owned(), input)),
        Err(error) => Err(format!("I cannot call `{name}`: its input is {error}.")),
    })
}

/// Lists the answers of the tools since then, one on each line.
fn list_results(messages: &[ModelMessage<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for part in messages.iter().flat_map(ModelMessage::parts) {
        let ModelPart::ToolResult(result) = part else { continue };
        let name = result.tool_name();
        let name = name.as_ref().and_then(ModelValue::as_str).unwrap_or("?");
        let mut text = String::new();
        match result.output() {
            Some(ToolOutput::Of(_, value)) => match value.as_str() {
                Some(plain) => text.push_str(plain),
                None => value.write_to(&mut text),
            },
            Some(ToolOutput::Other(json)) => json.write_to(&mut text),
            None => {}
        }
        lines.push(format!("- {name}: {text}"));
    }
    lines
}

impl OfflineReply {
    fn stream(self, mut sink: ChunkSink<'_>) -> FinishReason {
        match self {
            Self::Call { call_id, name, input } => {
                let tool = ToolChunk { call_id, ..ToolChunk::default() };
                sink(Chunk::ToolInputAvailable { tool, tool_name: name, input });
                FinishReason::ToolCalls
            }
            Self::Text(text) => {
                let chunk = || TextChunk { id: "0".to_owned(), provider_metadata: None };
                sink(Chunk::TextStart(chunk()));
                for word in text.split_inclusive(' ') {
                    sink(Chunk::TextDelta(chunk(), word.into()));
                }
                sink(Chunk::TextEnd(chunk()));
                FinishReason::Stop
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(messages: &str) -> OfflineReply {
        let Json::Array(list) = Json::parse(messages).unwrap() else { panic!("a list") };
        let messages: Vec<_> = list
            .into_vec()
            .into_iter()
            .map(|json| ModelMessage::from_json(json).unwrap())
            .collect();
        decide(&messages, || 0)
    }

    #[test]
    fn it_says_what_it_is_and_what_it_was_told() {
        let OfflineReply::Text(text) = reply(
            r#"[{"role":"user","content":[{"type":"text","text":"UserId: 1"},{"type":"text","text":"hi"}]}]"#,
        ) else {
            panic!("a text");
        };
        assert_eq!(text, format!("{WHO} You said: hi"));
    }

    #[test]
    fn the_prompt_of_a_skill_is_not_what_it_was_told() {
        let user = |text: &str| {
            format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}"#)
        };
        let told = reply(&format!("[{},{}]", user("hi"), user("<skill-prompt>Make slides.")));
        assert_eq!(told, OfflineReply::Text(format!("{WHO} You said: hi")));
    }

    #[test]
    fn it_calls_tools_one_line_a_step_and_then_tells_what_they_answered() {
        let user = r#"{"role":"user","content":[{"type":"text","text":"/tool a {\"x\":1}\nplease\n/tool b"}]}"#;
        let step = |id: &str, name: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool-call","toolCallId":"{id}","toolName":"{name}","input":{{}}}}]}},
                   {{"role":"tool","content":[{{"type":"tool-result","toolCallId":"{id}","toolName":"{name}","output":{{"type":"text","value":"done {name}"}}}}]}}"#
            )
        };
        let first = reply(&format!("[{user}]"));
        assert!(
            matches!(first, OfflineReply::Call { name, input, .. } if name == "a" && input.to_string() == r#"{"x":1}"#)
        );
        let second = reply(&format!("[{user},{}]", step("1", "a")));
        assert!(matches!(second, OfflineReply::Call { name, .. } if name == "b"));
        let last = reply(&format!("[{user},{},{}]", step("1", "a"), step("2", "b")));
        assert_eq!(
            last,
            OfflineReply::Text(format!("{WHO} The tools answered:\n- a: done a\n- b: done b"))
        );
    }

    #[test]
    fn a_bad_order_is_answered_not_guessed() {
        let bad = reply(r#"[{"role":"user","content":[{"type":"text","text":"/tool a {x"}]}]"#);
        assert!(
            matches!(bad, OfflineReply::Text(text) if text.contains("I cannot call `a`: its input is not JSON"))
        );
        let none = reply(r#"[{"role":"user","content":[{"type":"text","text":"/toolbox"}]}]"#);
        assert!(matches!(none, OfflineReply::Text(text) if text.ends_with("You said: /toolbox")));
    }
}
