//! Reads exports of ChatGPT: a value for each conversation, whose messages are a tree.
//!
//! The branch that ends with `current_node` is the conversation. Every other end is a context of its own, with what led to
//! it. A conversation is one value, so the memory for reading one is that of the longest.

use std::collections::{HashMap, HashSet};

use ship_message::json::Json;
use ship_message::{Role, UiMessage};

use super::FormatReader;
use crate::message_builder::{MessageBuilder, input_of_arguments, seconds};
use crate::plan::{Piece, PlannedContext, PlannedMessage};

/// The number of messages that a branch repeats before its own first one.
const REPEATED_MAX: usize = 200;

#[derive(Default)]
pub(super) struct ChatGpt {
    contexts: Vec<PlannedContext>,
}

impl FormatReader for ChatGpt {
    fn look(&mut self, item: u32, _bytes: u32, value: &Json) -> Result<(), String> {
        let tree = ConversationTree::read(value)?;
        self.contexts.extend(tree.contexts(item));
        Ok(())
    }

    fn finish(&mut self) -> Vec<PlannedContext> {
        std::mem::take(&mut self.contexts)
    }

    fn divided(&self, value: Json) -> Json {
        let Json::Object(mut conversation) = value else { return value };
        let Some(Json::Object(mapping)) = conversation.remove("mapping") else { return Json::Null };
        mapping.into_entries().into_iter().map(|(_, node)| node).collect::<Vec<_>>().into()
    }

    fn build(
        &self,
        fallback: String,
        _is_summary: bool,
        pieces: &[(&Json, u32)],
    ) -> Vec<UiMessage> {
        let nodes: Vec<&Json> =
            pieces.iter().filter_map(|(value, part)| node_at(value, *part)).collect();
        let messages: Vec<&Json> = nodes.iter().filter_map(|node| node.get("message")).collect();
        let first = messages.iter().find(|message| author_role(message) != AuthorRole::System);
        let Some(first) = first.or(messages.first()) else { return Vec::new() };
        let role = match author_role(first) {
            AuthorRole::User => Role::User,
            AuthorRole::System | AuthorRole::Assistant | AuthorRole::Tool => Role::Assistant,
        };
        let mut builder = MessageBuilder::with_id(first.get("id"), fallback, role);
        for message in messages {
            add_message(&mut builder, message);
        }
        vec![builder.finish()]
    }
}

/// Returns a node of a conversation that was divided.
fn node_at(nodes: &Json, part: u32) -> Option<&Json> {
    nodes.as_array()?.get(part as usize)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AuthorRole {
    User,
    Assistant,
    Tool,
    System,
}

fn author_role(message: &Json) -> AuthorRole {
    let role = message.get("author").and_then(|author| author.get("role")?.as_str());
    match role {
        Some("user") => AuthorRole::User,
        Some("assistant") => AuthorRole::Assistant,
        Some("tool") => AuthorRole::Tool,
        _ => AuthorRole::System,
    }
}

/// The nodes of a conversation.
struct ConversationTree<'a> {
    value: &'a Json,
    nodes: Vec<(&'a str, &'a Json)>,
    by_id: HashMap<&'a str, usize>,
}

impl<'a> ConversationTree<'a> {
    fn read(value: &'a Json) -> Result<Self, String> {
        let mapping = value.get("mapping").and_then(Json::as_object);
        let mapping = mapping.ok_or("it has no `mapping`")?;
        let nodes: Vec<(&str, &Json)> = mapping.iter().collect();
        let by_id = nodes.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        Ok(Self { value, nodes, by_id })
    }

    fn parent(&self, at: usize) -> Option<usize> {
        let parent = self.nodes[at].1.get("parent")?.as_str()?;
        self.by_id.get(parent).copied()
    }

    fn message(&self, at: usize) -> Option<&'a Json> {
        self.nodes[at].1.get("message").filter(|message| message.as_object().is_some())
    }

    /// Returns the nodes that lead to one, in order, and of those in `known` only the last ones.
    fn path(&self, end: usize, known: &HashSet<usize>) -> Vec<usize> {
        let (mut path, mut seen, mut repeated) = (Vec::new(), HashSet::new(), 0);
        let mut next = Some(end);
        // A damaged file may go round.
        while let Some(at) = next.filter(|at| repeated < REPEATED_MAX && seen.insert(*at)) {
            repeated += usize::from(known.contains(&at));
            path.push(at);
            next = self.parent(at);
        }
        path.reverse();
        path
    }

    fn contexts(&self, item: u32) -> Vec<PlannedContext> {
        let parents: HashSet<usize> =
            (0..self.nodes.len()).filter_map(|at| self.parent(at)).collect();
        let ends = || (0..self.nodes.len()).filter(|at| !parents.contains(at));
        let text = |key: &str| self.value.get(key).and_then(Json::as_str);
        let current = text("current_node").and_then(|id| self.by_id.get(id).copied());
        let Some(current) = current.or_else(|| ends().next_back()) else { return Vec::new() };
        let main = self.path(current, &HashSet::new());
        let known: HashSet<usize> = main.iter().copied().collect();
        let key = text("conversation_id").or(text("id")).unwrap_or_default();
        let title = text("title").filter(|title| !title.is_empty());
        let mut contexts = Vec::new();
        for end in ends().filter(|end| !known.contains(end)) {
            let path = self.path(end, &known);
            let own = path.iter().find(|at| !known.contains(at) && self.message(**at).is_some());
            let Some(own) = own else { continue };
            let title = title.map(|title| format!("{title} (branch {})", contexts.len() + 1));
            let name = format!("{key}#{}", self.nodes[*own].0);
            contexts.push(self.context(item, name, title, &path));
        }
        contexts.push(self.context(item, key.to_owned(), title.map(str::to_owned), &main));
        contexts.retain(|context| !context.is_empty());
        contexts
    }

    fn context(
        &self,
        item: u32,
        key: String,
        title: Option<String>,
        path: &[usize],
    ) -> PlannedContext {
        let mut context = PlannedContext::new(key);
        context.title = title;
        context.began = seconds(self.value.get("create_time"));
        let mut early = Vec::new();
        let mut is_turn = false;
        for at in path {
            let Some(message) = self.message(*at) else { continue };
            let piece = Piece { item, part: u32::try_from(*at).unwrap_or(u32::MAX) };
            let author = author_role(message);
            if author == AuthorRole::System {
                if !is_empty(message) {
                    early.push(piece);
                }
                continue;
            }
            let joins = is_turn && author != AuthorRole::User && early.is_empty();
            if !joins || !context.add(piece) {
                let mut pieces = std::mem::take(&mut early);
                pieces.push(piece);
                context.push(PlannedMessage::new(pieces, false));
            }
            is_turn = author != AuthorRole::User;
        }
        early.into_iter().for_each(|piece| {
            context.add(piece);
        });
        context
    }
}

/// Whether a message of the system says nothing, as those that begin a conversation.
fn is_empty(message: &Json) -> bool {
    let content = message.get("content");
    let parts = content.and_then(|content| content.get("parts")?.as_array());
    parts.is_some_and(|parts| parts.iter().all(|part| part.as_str() == Some("")))
}

fn add_message(builder: &mut MessageBuilder, message: &Json) {
    let author = author_role(message);
    if author == AuthorRole::System {
        return builder.keep("system message", message.clone());
    }
    builder.set_ts(seconds(message.get("create_time")));
    let recipient = message.get("recipient").and_then(Json::as_str).unwrap_or("all");
    match author {
        AuthorRole::Assistant if recipient != "all" => {
            let id = message.get("id").and_then(Json::as_str).unwrap_or_default();
            builder.call(
                recipient,
                id,
                input_of_arguments(text_of(message).map(Json::from).as_ref()),
            );
        }
        AuthorRole::Tool => add_result(builder, message),
        _ => add_content(builder, message),
    }
    if let Some(attachments) = message.get("metadata").and_then(|all| all.get("attachments"))
        && attachments.as_array().is_some_and(|all| !all.is_empty())
    {
        builder.keep("attachments", attachments.clone());
    }
}

/// Adds the result of the last open call of this tool, or else of the last open call.
fn add_result(builder: &mut MessageBuilder, message: &Json) {
    let name =
        message.get("author").and_then(|author| author.get("name")?.as_str()).unwrap_or_default();
    let id = builder.open_call(|call| call == name).or_else(|| builder.open_call(|_| true));
    match (id, text_of(message)) {
        (Some(id), Some(text)) => builder.result(&id, text.into(), false),
        (Some(id), None) => {
            builder.result(&id, "".into(), false);
            add_content(builder, message);
        }
        (None, _) => builder.keep("result without a call", message.clone()),
    }
}

/// Returns the text of a message that is nothing else.
fn text_of(message: &Json) -> Option<String> {
    let content = message.get("content")?;
    if let Some(text) = content.get("text").or_else(|| content.get("result")) {
        return text.as_str().map(str::to_owned);
    }
    let parts = content.get("parts")?.as_array()?;
    let texts: Option<Vec<&str>> = parts.iter().map(Json::as_str).collect();
    Some(texts?.join("\n"))
}

fn add_content(builder: &mut MessageBuilder, message: &Json) {
    let Some(content) = message.get("content") else { return };
    let kind = content.get("content_type").and_then(Json::as_str).unwrap_or("content");
    if kind == "thoughts" {
        let thoughts = content.get("thoughts").and_then(Json::as_array).unwrap_or_default();
        for thought in thoughts {
            builder
                .reasoning(thought.get("content").and_then(Json::as_str).unwrap_or_default(), None);
        }
        return;
    }
    let is_known = matches!(kind, "text" | "multimodal_text" | "code" | "execution_output");
    match content.get("parts").and_then(Json::as_array) {
        Some(parts) if is_known => {
            for part in parts {
                match (part.as_str(), part.get("content_type").and_then(Json::as_str)) {
                    (Some(text), _) => builder.text(text),
                    (None, kind) => builder.keep(kind.unwrap_or("content"), part.clone()),
                }
            }
        }
        _ => match text_of(message).filter(|_| is_known) {
            Some(text) => builder.text(&text),
            None => builder.keep(kind, content.clone()),
        },
    }
}
