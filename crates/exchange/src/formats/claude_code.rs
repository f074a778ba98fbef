//! Reads sessions of Claude Code: one line for each piece of a message.
//!
//! An answer of the model is one or several lines with one `message.id`, and the result of a call is a line in the role of
//! the user. All between two messages of the person is one message of the assistant. Lines name the one before
//! them: a line with two children is the place of a retry, and each end a context of its own. A sub-agent has a context,
//! too. `session_tree` finds them.

mod session_tree;

use std::collections::{HashMap, HashSet};

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_record::Timestamp;

use super::FormatReader;
use crate::message_builder::{MessageBuilder, output_of_text, parse_time};
use crate::plan::PlannedContext;
use session_tree::SessionTree;

/// The lines of a session.
#[derive(Default)]
pub(super) struct ClaudeCode {
    lines: Vec<SessionLine>,
    /// The lines by their `uuid`.
    by_uuid: HashMap<String, usize>,
    /// Titles, with the lines at whose branches they are.
    titles: Vec<(Option<String>, String)>,
}

/// A line, as far as the order depends on it.
#[derive(Debug, Default)]
struct SessionLine {
    item: u32,
    bytes: u32,
    kind: SessionLineKind,
    uuid: Option<String>,
    parent: Option<String>,
    session: String,
    /// The sub-agent that has written it; empty if the line does not name it.
    agent: Option<String>,
    /// The answer that the line is a piece of.
    answer: Option<String>,
    calls: Vec<String>,
    results: Vec<String>,
    at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SessionLineKind {
    User,
    Result,
    Assistant,
    Summary,
    /// Neither a person nor the model has said it.
    #[default]
    Other,
}

impl FormatReader for ClaudeCode {
    fn look(&mut self, item: u32, bytes: u32, value: &Json) -> Result<(), String> {
        if value.as_object().is_none() {
            return Err("it is not an object".to_owned());
        }
        let line = SessionLine::read(item, bytes, value)?;
        if let Some(title) = title_of(value) {
            let leaf = value.get("leafUuid").and_then(Json::as_str);
            self.titles.push((leaf.map(str::to_owned), title.to_owned()));
        }
        // After a compaction, older lines are written again.
        if let Some(uuid) = &line.uuid {
            if self.by_uuid.contains_key(uuid) {
                return Ok(());
            }
            self.by_uuid.insert(uuid.clone(), self.lines.len());
        }
        self.lines.push(line);
        Ok(())
    }

    fn finish(&mut self) -> Vec<PlannedContext> {
        let tree =
            SessionTree::new(std::mem::take(&mut self.lines), std::mem::take(&mut self.by_uuid));
        tree.into_contexts(&self.titles)
    }

    fn build(&self, fallback: String, is_summary: bool, pieces: &[(&Json, u32)]) -> Vec<UiMessage> {
        let lines: Vec<&Json> = pieces.iter().map(|(line, _)| *line).collect();
        let Some(first) = lines.iter().find(|line| is_said(line)).or(lines.first()) else {
            return Vec::new();
        };
        let role = match (is_summary, SessionLine::read(0, 0, first).map(|line| line.kind)) {
            (false, Ok(SessionLineKind::User)) => Role::User,
            _ => Role::Assistant,
        };
        let mut builder = MessageBuilder::with_id(first.get("uuid"), fallback, role);
        if is_summary {
            builder.set_summary();
        }
        let mut answers = HashSet::new();
        for line in lines {
            add_line(&mut builder, line, &mut answers);
        }
        vec![builder.finish()]
    }
}

/// Returns the title in a line that has one.
fn title_of(value: &Json) -> Option<&str> {
    let key = match value.get("type")?.as_str()? {
        "summary" => "summary",
        "custom-title" => "customTitle",
        "ai-title" => "aiTitle",
        _ => return None,
    };
    value.get(key)?.as_str()
}

fn is_said(line: &Json) -> bool {
    SessionLine::read(0, 0, line).is_ok_and(|line| line.kind != SessionLineKind::Other)
}

impl SessionLine {
    fn read(item: u32, bytes: u32, value: &Json) -> Result<Self, String> {
        let text = |key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
        let is_set = |key: &str| value.get(key).and_then(Json::as_bool) == Some(true);
        let message = value.get("message");
        let content = message.and_then(|message| message.get("content"));
        let blocks = content.and_then(Json::as_array).unwrap_or_default();
        let of = |kind: &str, key: &str| {
            let found = blocks
                .iter()
                .filter(|block| block.get("type").and_then(Json::as_str) == Some(kind));
            let named = found.filter_map(|block| block.get(key)?.as_str().map(str::to_owned));
            named.collect::<Vec<_>>()
        };
        let (calls, results) = (of("tool_use", "id"), of("tool_result", "tool_use_id"));
        let has_content = content.is_some_and(|content| !content.is_null());
        let kind = match value.get("type").and_then(Json::as_str) {
            None => return Err("it has no `type`".to_owned()),
            Some("user" | "assistant") if !has_content => {
                return Err("its `message` has no `content`".to_owned());
            }
            Some("user") if is_set("isCompactSummary") => SessionLineKind::Summary,
            Some("user") if is_set("isMeta") => SessionLineKind::Other,
            Some("user") if !results.is_empty() => SessionLineKind::Result,
            Some("user") => SessionLineKind::User,
            Some("assistant") => SessionLineKind::Assistant,
            Some(_) => SessionLineKind::Other,
        };
        let answer = message.and_then(|message| message.get("id")?.as_str().map(str::to_owned));
        let is_agent = is_set("isSidechain");
        Ok(Self {
            item,
            bytes,
            kind,
            uuid: text("uuid"),
            parent: text("parentUuid").or_else(|| text("logicalParentUuid")),
            session: text("sessionId").unwrap_or_default(),
            agent: is_agent.then(|| text("agentId").unwrap_or_default()),
            answer: answer.filter(|_| kind == SessionLineKind::Assistant),
            calls,
            results,
            at: parse_time(value.get("timestamp")),
        })
    }
}

/// Adds a line to a message. `answers` are those of which a step was begun.
fn add_line(builder: &mut MessageBuilder, value: &Json, answers: &mut HashSet<String>) {
    let Ok(line) = SessionLine::read(0, 0, value) else { return };
    if line.kind == SessionLineKind::Other {
        let kind = match value.get("type").and_then(Json::as_str) {
            Some("user") => "text that was not typed",
            Some(kind) => kind,
            None => "line",
        };
        return builder.keep(kind, value.clone());
    }
    builder.set_ts(line.at);
    if let Some(answer) = &line.answer
        && answers.insert(answer.clone())
    {
        builder.end_step();
    }
    let content = value.get("message").and_then(|message| message.get("content"));
    match content {
        Some(Json::Array(blocks)) => blocks.iter().for_each(|block| add_block(builder, block)),
        Some(Json::String(text)) => builder.text(text.as_str()),
        Some(other) => builder.keep("content", other.clone()),
        None => {}
    }
    if let Some(detail) = value.get("toolUseResult") {
        builder.keep("toolUseResult", detail.clone());
    }
}

fn add_block(builder: &mut MessageBuilder, block: &Json) {
    if let Some(text) = block.as_str() {
        return builder.text(text);
    }
    let text = |key: &str| block.get(key).and_then(Json::as_str).unwrap_or_default();
    match text("type") {
        "text" => builder.text(text("text")),
        "thinking" => {
            let signature = Object::from([("signature", text("signature"))]);
            builder.reasoning(text("thinking"), Some(("anthropic", signature)));
        }
        "redacted_thinking" => {
            let data = Object::from([("redactedData", text("data"))]);
            builder.reasoning("", Some(("anthropic", data)));
        }
        "tool_use" => {
            let input = block.get("input").cloned().unwrap_or_default();
            builder.call(text("name"), text("id"), input);
        }
        "tool_result" => add_result(builder, block),
        "image" | "document" => add_file(builder, block),
        kind => builder.keep(if kind.is_empty() { "content" } else { kind }, block.clone()),
    }
}

/// Adds an image or a document of which the file has the content.
fn add_file(builder: &mut MessageBuilder, block: &Json) {
    let source = |key: &str| block.get("source")?.get(key)?.as_str();
    let name = block.get("title").and_then(Json::as_str);
    match (source("type"), source("media_type"), source("data"), source("url")) {
        (Some("base64"), Some(media_type), Some(data), _) => {
            builder.file(media_type, &format!("data:{media_type};base64,{data}"), name);
        }
        (Some("url"), media_type, _, Some(url)) => {
            builder.file(media_type.unwrap_or("image/*"), url, name)
        }
        _ => builder.keep("file", block.clone()),
    }
}

/// Adds the result of a call. Its images stand behind it.
fn add_result(builder: &mut MessageBuilder, block: &Json) {
    let id = block.get("tool_use_id").and_then(Json::as_str).unwrap_or_default();
    let is_error = block.get("is_error").and_then(Json::as_bool) == Some(true);
    let kind_of = |block: &Json| block.get("type").and_then(Json::as_str).map(str::to_owned);
    let output = match block.get("content") {
        None | Some(Json::Null) => Json::from(""),
        Some(Json::String(text)) => output_of_text(text.as_str()),
        Some(Json::Array(blocks)) => {
            let shown = blocks.iter().map(|block| match kind_of(block).as_deref() {
                Some("text") => {
                    block.get("text").and_then(Json::as_str).unwrap_or_default().to_owned()
                }
                Some("image") => "[image]".to_owned(),
                _ => block.to_string(),
            });
            shown.collect::<Vec<_>>().join("\n").into()
        }
        Some(other) => other.clone(),
    };
    builder.result(id, output, is_error);
    let blocks = block.get("content").and_then(Json::as_array).unwrap_or_default();
    for image in blocks.iter().filter(|block| kind_of(block).as_deref() == Some("image")) {
        add_file(builder, image);
    }
}
