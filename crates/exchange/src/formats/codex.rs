//! Reads sessions of Codex: a line for each item of the conversation, and lines about it.
//!
//! The items are the conversation. Events repeat what was said for the screen; they tell which text was typed, and
//! how many turns were taken back. What was taken back is a context of its own.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_record::Timestamp;

use super::FormatReader;
use super::content::{add_openai_content, output_of};
use crate::message_builder::{MessageBuilder, input_of_arguments, parse_time};
use crate::plan::{Piece, PlannedContext, PlannedMessage};

/// The events that repeat an item.
const COPIES: [&str; 4] =
    ["user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"];

/// The number of messages that a context with what was taken back repeats before that.
const REPEATED_MAX: usize = 200;

/// The bytes of a message after which the next item of the model begins another one.
const MESSAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Codex {
    lines: Vec<RolloutLine>,
    session: Option<String>,
    /// The texts that a person has typed.
    typed: HashSet<String>,
    began: Option<Timestamp>,
    title: Option<String>,
}

#[derive(Debug)]
struct RolloutLine {
    item: u32,
    bytes: u32,
    kind: RolloutKind,
}

#[derive(Debug)]
enum RolloutKind {
    /// A text in the role of the user, which may have been put there.
    User(String),
    System,
    /// An item of the model, with the change of the number of open calls.
    Model(i32),
    Compacted,
    RolledBack(usize),
    /// A copy of an item.
    Copy,
    Other,
}

impl FormatReader for Codex {
    fn look(&mut self, item: u32, bytes: u32, value: &Json) -> Result<(), String> {
        let payload = value.get("payload").ok_or("it has no `payload`")?;
        let text = |key: &str| payload.get(key).and_then(Json::as_str);
        let kind = match value.get("type").and_then(Json::as_str) {
            None => return Err("it has no `type`".to_owned()),
            Some("response_item") => kind_of_item(payload),
            Some("compacted") => RolloutKind::Compacted,
            Some("session_meta") => {
                if self.session.is_none() {
                    self.session = text("id").map(str::to_owned);
                    self.began = parse_time(payload.get("timestamp").or(value.get("timestamp")));
                    self.title = text("agent_nickname").map(|name| format!("Sub-agent {name}"));
                }
                RolloutKind::Other
            }
            Some("event_msg") => match text("type") {
                Some("thread_rolled_back") => {
                    let turns = payload.get("num_turns").and_then(Json::as_u64).unwrap_or(0);
                    RolloutKind::RolledBack(usize::try_from(turns).unwrap_or(usize::MAX))
                }
                Some(kind) if COPIES.contains(&kind) => {
                    if kind == "user_message" {
                        self.typed.extend(text("message").map(|text| text.trim().to_owned()));
                    }
                    RolloutKind::Copy
                }
                _ => RolloutKind::Other,
            },
            Some(_) => RolloutKind::Other,
        };
        self.lines.push(RolloutLine { item, bytes, kind });
        Ok(())
    }

    fn finish(&mut self) -> Vec<PlannedContext> {
        let mut plan = RolloutPlan::new(self.session.clone().unwrap_or_default());
        plan.context.title = self.title.take();
        plan.context.began = self.began;
        for line in std::mem::take(&mut self.lines) {
            plan.add(&line, &self.typed);
        }
        let all = plan.taken_back.into_iter().chain([plan.context]);
        all.filter(|context| !context.is_empty()).collect()
    }

    fn build(&self, fallback: String, is_summary: bool, pieces: &[(&Json, u32)]) -> Vec<UiMessage> {
        let of = |value: &&Json| kind_of_line(value);
        let said = pieces.iter().map(|(value, _)| *value).find(|value| {
            !matches!(of(value), RolloutKind::Other | RolloutKind::Copy)
                && !self.is_put_there(value)
        });
        let Some(first) = said.or(pieces.first().map(|(value, _)| *value)) else {
            return Vec::new();
        };
        let role = match of(&first) {
            RolloutKind::User(_) => Role::User,
            RolloutKind::System => Role::System,
            _ => Role::Assistant,
        };
        let id = first.get("payload").and_then(|payload| payload.get("id"));
        let mut builder = MessageBuilder::with_id(id, fallback, role);
        if is_summary {
            builder.set_summary();
        }
        for (value, _) in pieces {
            match self.is_put_there(value) {
                true => builder.keep("text that was not typed", (*value).clone()),
                false => add_line(&mut builder, value),
            }
        }
        vec![builder.finish()]
    }
}

impl Codex {
    /// Whether a line is a text in the role of the user that no person has typed.
    fn is_put_there(&self, value: &Json) -> bool {
        matches!(kind_of_line(value), RolloutKind::User(text) if is_put_there(&text, &self.typed))
    }
}

/// Whether a text was put there by the program. Without any event about typed texts, all were typed.
fn is_put_there(text: &str, typed: &HashSet<String>) -> bool {
    !typed.is_empty() && !typed.contains(text.trim())
}

fn kind_of_line(value: &Json) -> RolloutKind {
    match value.get("type").and_then(Json::as_str) {
        Some("response_item") => value.get("payload").map_or(RolloutKind::Other, kind_of_item),
        Some("compacted") => RolloutKind::Compacted,
        _ => RolloutKind::Other,
    }
}

fn kind_of_item(payload: &Json) -> RolloutKind {
    let text = |key: &str| payload.get(key).and_then(Json::as_str);
    match (text("type").unwrap_or_default(), text("role")) {
        ("message", Some("user")) => RolloutKind::User(text_of(payload.get("content"))),
        ("message", Some("developer" | "system")) => RolloutKind::System,
        ("message" | "reasoning", _) => RolloutKind::Model(0),
        ("function_call" | "custom_tool_call" | "local_shell_call", _) => RolloutKind::Model(1),
        ("function_call_output" | "custom_tool_call_output", _) => RolloutKind::Model(-1),
        _ => RolloutKind::Other,
    }
}

/// Returns the texts of a content.
fn text_of(content: Option<&Json>) -> String {
    let parts = content.and_then(Json::as_array).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The contexts of a session while its lines are read.
struct RolloutPlan {
    context: PlannedContext,
    taken_back: Vec<PlannedContext>,
    /// The places of the person's messages in the last log.
    questions: Vec<usize>,
    early: Vec<Piece>,
    /// The size of the assistant's message that is being put together, and its open calls.
    turn: Option<(u64, i32)>,
}

impl RolloutPlan {
    fn new(key: String) -> Self {
        let (taken_back, questions, early) = (Vec::new(), Vec::new(), Vec::new());
        Self { context: PlannedContext::new(key), taken_back, questions, early, turn: None }
    }

    fn add(&mut self, line: &RolloutLine, typed: &HashSet<String>) {
        let piece = Piece { item: line.item, part: 0 };
        match &line.kind {
            RolloutKind::Copy => {}
            RolloutKind::User(text) if is_put_there(text, typed) => self.early.push(piece),
            RolloutKind::User(_) => {
                self.turn = None;
                self.questions.push(self.messages().len());
                self.begin(piece);
            }
            RolloutKind::System => {
                self.turn = None;
                self.begin(piece);
            }
            RolloutKind::Model(calls) => {
                let is_full = |(bytes, open): (u64, i32)| {
                    bytes > MESSAGE_BYTES_MAX && open <= 0 && *calls >= 0
                };
                let (bytes, open) = match self.turn.filter(|turn| !is_full(*turn)) {
                    Some(turn) => {
                        self.context.add(piece);
                        turn
                    }
                    None => {
                        self.begin(piece);
                        (0, 0)
                    }
                };
                self.turn = Some((bytes + u64::from(line.bytes), open + calls));
            }
            RolloutKind::Compacted => {
                self.turn = None;
                self.questions.clear();
                self.context.begin_log(piece);
            }
            RolloutKind::RolledBack(turns) => {
                self.roll_back(*turns);
                self.early.push(piece);
            }
            RolloutKind::Other => {
                if self.messages().is_empty() || !self.early.is_empty() {
                    self.early.push(piece);
                } else {
                    self.context.add(piece);
                }
            }
        }
    }

    fn messages(&self) -> &[PlannedMessage] {
        self.context.logs.last().map_or(&[], |log| &log.messages)
    }

    fn begin(&mut self, piece: Piece) {
        let mut pieces = std::mem::take(&mut self.early);
        pieces.push(piece);
        self.context.push(PlannedMessage::new(pieces, false));
    }

    /// Takes the last turns back, as far as the last log has them. They become a context with what led to them.
    fn roll_back(&mut self, turns: usize) {
        let Some(at) = self
            .questions
            .len()
            .checked_sub(turns.max(1))
            .or((!self.questions.is_empty()).then_some(0))
        else {
            return;
        };
        if turns == 0 {
            return;
        }
        let first = self.questions[at];
        let messages = self.messages();
        let from = first.saturating_sub(REPEATED_MAX);
        let own = messages[first].pieces[0].item;
        let mut aside = PlannedContext::new(format!("{}#{own}", self.context.key));
        aside.began = self.context.began;
        aside.title = Some(format!("Taken back {}", self.taken_back.len() + 1));
        messages[from..].iter().for_each(|message| aside.push(message.clone()));
        self.taken_back.push(aside);
        self.context.truncate_last_log(first);
        self.questions.truncate(at);
        self.turn = None;
    }
}

fn add_line(builder: &mut MessageBuilder, value: &Json) {
    let at = parse_time(value.get("timestamp"));
    let Some(payload) = value.get("payload") else { return };
    match value.get("type").and_then(Json::as_str) {
        Some("response_item") => add_item(builder, payload, value, at),
        Some("compacted") => {
            builder.set_ts(at);
            add_compaction(builder, payload);
        }
        Some("event_msg") => {
            let kind = payload.get("type").and_then(Json::as_str);
            builder.keep(kind.unwrap_or("event_msg"), value.clone());
        }
        Some(kind) => builder.keep(kind, value.clone()),
        None => {}
    }
}

/// Adds the summary of a compaction. The list that took the place of the older items is kept.
fn add_compaction(builder: &mut MessageBuilder, payload: &Json) {
    let message = payload.get("message").and_then(Json::as_str).unwrap_or_default();
    let history = payload.get("replacement_history");
    let items = history.and_then(Json::as_array).unwrap_or_default();
    let texts: Vec<String> = items.iter().map(|item| text_of(item.get("content"))).collect();
    match message {
        "" => builder.text(&texts.join("\n\n")),
        message => builder.text(message),
    }
    if let Some(history) = history.filter(|history| !history.is_null()) {
        builder.keep("replacement_history", history.clone());
    }
}

fn add_item(builder: &mut MessageBuilder, payload: &Json, line: &Json, at: Option<Timestamp>) {
    let text = |key: &str| payload.get(key).and_then(Json::as_str);
    let call_id = || text("call_id").or(text("id")).unwrap_or_default();
    let kind = text("type").unwrap_or_default();
    if !matches!(kind_of_item(payload), RolloutKind::Other) {
        builder.set_ts(at);
    }
    match kind {
        "message" => add_openai_content(builder, payload.get("content")),
        "reasoning" => add_reasoning(builder, payload),
        "function_call" => {
            builder.call(
                text("name").unwrap_or_default(),
                call_id(),
                input_of_arguments(payload.get("arguments")),
            );
        }
        "custom_tool_call" => {
            let input =
                Object::from([("input", payload.get("input").cloned().unwrap_or_default())]);
            builder.call(text("name").unwrap_or_default(), call_id(), input.into());
        }
        "local_shell_call" => {
            builder.call(
                "local_shell",
                call_id(),
                payload.get("action").cloned().unwrap_or_default(),
            );
        }
        "function_call_output" | "custom_tool_call_output" => {
            builder.result(call_id(), output_of_call(payload.get("output")), false);
        }
        kind => builder.keep(kind, line.clone()),
    }
}

fn add_reasoning(builder: &mut MessageBuilder, payload: &Json) {
    let texts = |key: &str| {
        let parts = payload.get(key).and_then(Json::as_array).unwrap_or_default();
        parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n\n")
    };
    let (summary, content) = (texts("summary"), texts("content"));
    let text = if content.is_empty() { summary } else { content };
    let text_of = |key: &str| payload.get(key).and_then(Json::as_str).map(Json::from);
    let mut fields = Object::new();
    fields.set_or_remove("itemId", text_of("id"));
    fields.set_or_remove("reasoningEncryptedContent", text_of("encrypted_content"));
    builder.reasoning(&text, (!fields.is_empty()).then_some(("openai", fields)));
}

/// Returns the output of a call. Older programs wrapped it in an object.
fn output_of_call(output: Option<&Json>) -> Json {
    match output.and_then(|output| output.get("content")) {
        Some(content) => output_of(Some(content)),
        None => output_of(output),
    }
}
