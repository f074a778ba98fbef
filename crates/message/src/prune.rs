//! `pruneMessages`: leaves out reasoning and tool calls that a model need not see again.

use std::collections::{HashMap, HashSet};

use crate::json::Json;
use crate::model::{ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue};

/// Says which reasoning is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PruneReasoning {
    /// No reasoning is left out.
    #[default]
    None,
    /// All reasoning is left out.
    All,
    /// All reasoning is left out, except that of the last message.
    BeforeLastMessage,
}

/// Says how far back a rule reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneScope {
    /// The rule reaches every message.
    All,
    /// The rule spares this number of last messages. As in the AI SDK, zero means that nothing is left out.
    BeforeLast(usize),
}

/// A rule by which tool calls, their results and approvals are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneToolCalls {
    /// The messages that it reaches.
    pub scope: PruneScope,
    /// The tools that it concerns; all if none are named.
    pub tools: Option<Vec<String>>,
}

/// Says what happens to a message without content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyMessages {
    /// The message is removed, even if it was empty before.
    #[default]
    Remove,
    /// The message stays in the list.
    Keep,
}

/// The options of [`prune_messages`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// The reasoning that is left out.
    pub reasoning: PruneReasoning,
    /// The rules for tool calls, applied one after the other.
    pub tool_calls: Vec<PruneToolCalls>,
    /// What happens to messages that become empty.
    pub empty_messages: EmptyMessages,
}

/// Leaves out parts by the options. A call and its result go together, and so do an approval request, its
/// answer and its call.
pub fn prune_messages<'a>(
    mut messages: Vec<ModelMessage<'a>>,
    options: &PruneOptions,
) -> Vec<ModelMessage<'a>> {
    prune_reasoning(&mut messages, options.reasoning);
    for rule in &options.tool_calls {
        prune_tool_calls(&mut messages, rule);
    }
    if options.empty_messages == EmptyMessages::Remove {
        messages.retain(|message| !message.is_empty());
    }
    messages
}

fn prune_reasoning(messages: &mut [ModelMessage<'_>], which: PruneReasoning) {
    let end = match which {
        PruneReasoning::None => 0,
        PruneReasoning::All => messages.len(),
        PruneReasoning::BeforeLastMessage => messages.len().saturating_sub(1),
    };
    for message in &mut messages[..end] {
        if let (ModelRole::Assistant, ModelContent::Parts(parts)) =
            (message.role, &mut message.content)
        {
            parts.retain(|part| !matches!(part, ModelPart::Reasoning(_)));
        }
    }
}

/// The role of a part in tool calls.
enum PrunedToolPart<'m> {
    None,
    /// A call or a result: call id and tool name.
    Call(Option<ModelValue<'m>>, Option<ModelValue<'m>>),
    /// An approval request or its answer: approval id.
    Approval(Option<ModelValue<'m>>),
}

/// Returns the key by which an id is compared: its JSON, so that ids of any plain type work. In JavaScript, objects
/// and lists equal only themselves, so here they equal nothing.
fn id_key(id: Option<&ModelValue<'_>>) -> Option<String> {
    match id {
        None => Some("undefined".to_owned()),
        Some(ModelValue::Ref(Json::Object(_) | Json::Array(_))) => None,
        Some(id) => Some(written(id)),
    }
}

/// Returns the name of a tool as its JSON; null counts as none.
fn name_key(name: Option<&ModelValue<'_>>) -> Option<String> {
    name.filter(|name| !matches!(name, ModelValue::Ref(Json::Null))).map(written)
}

fn written(value: &ModelValue<'_>) -> String {
    let mut text = String::new();
    value.write_to(&mut text);
    text
}

fn tool_use<'m>(part: &'m ModelPart<'_>) -> PrunedToolPart<'m> {
    match part {
        ModelPart::ToolCall(call) => PrunedToolPart::Call(call.call_id(), call.tool_name()),
        ModelPart::ToolResult(result) => PrunedToolPart::Call(result.call_id(), result.tool_name()),
        ModelPart::ToolApprovalRequest(request) => PrunedToolPart::Approval(request.approval_id()),
        ModelPart::ToolApprovalResponse(response) => {
            PrunedToolPart::Approval(response.approval_id())
        }
        ModelPart::Text(_)
        | ModelPart::Reasoning(_)
        | ModelPart::Image(_)
        | ModelPart::File(_)
        | ModelPart::Unknown(_) => PrunedToolPart::None,
    }
}

/// Returns the parts of messages that can have tool calls.
fn tool_parts<'m, 'a>(messages: &'m [ModelMessage<'a>]) -> impl Iterator<Item = &'m ModelPart<'a>> {
    let has_tools = |message: &&ModelMessage<'_>| {
        matches!(message.role, ModelRole::Assistant | ModelRole::Tool)
    };
    messages.iter().filter(has_tools).flat_map(ModelMessage::parts)
}

/// The facts about the whole list that a rule needs before it judges a part.
struct PrunePlan {
    /// The index from which messages are not changed.
    end: usize,
    kept_calls: HashSet<String>,
    kept_approvals: HashSet<String>,
    /// The tool of each approval, by approval id.
    approval_tools: HashMap<String, String>,
}

impl PrunePlan {
    fn new(messages: &[ModelMessage<'_>], scope: PruneScope) -> Self {
        let (end, kept) = match scope {
            PruneScope::All => (messages.len(), &messages[messages.len()..]),
            // In JavaScript `slice(-0)` is the whole list: every id is kept, but no message is spared.
            PruneScope::BeforeLast(0) => (messages.len(), messages),
            PruneScope::BeforeLast(count) => {
                let end = messages.len().saturating_sub(count);
                (end, &messages[end..])
            }
        };
        let mut plan = Self {
            end,
            kept_calls: HashSet::new(),
            kept_approvals: HashSet::new(),
            approval_tools: HashMap::new(),
        };
        for part in tool_parts(kept) {
            match tool_use(part) {
                PrunedToolPart::Call(id, _) => plan.kept_calls.extend(id_key(id.as_ref())),
                PrunedToolPart::Approval(id) => plan.kept_approvals.extend(id_key(id.as_ref())),
                PrunedToolPart::None => {}
            }
        }
        plan.trace_approvals(messages);
        plan
    }

    /// Connects approval answers to their calls: an answer stands in another message, and only the
    /// request names the call.
    fn trace_approvals(&mut self, messages: &[ModelMessage<'_>]) {
        let mut call_tools: HashMap<String, Option<String>> = HashMap::new();
        for part in tool_parts(messages) {
            if let PrunedToolPart::Call(id, name) = tool_use(part)
                && let Some(id) = id_key(id.as_ref())
            {
                call_tools.insert(id, name_key(name.as_ref()));
            }
        }
        let mut approval_calls: HashMap<String, String> = HashMap::new();
        for part in tool_parts(messages) {
            let ModelPart::ToolApprovalRequest(request) = part else { continue };
            let id = id_key(request.approval_id().as_ref());
            let call_id = id_key(request.call_id().as_ref());
            let (Some(id), Some(call_id)) = (id, call_id) else { continue };
            if let Some(Some(name)) = call_tools.get(&call_id) {
                self.approval_tools.insert(id.clone(), name.clone());
            }
            approval_calls.insert(id, call_id);
        }
        let calls = self.kept_approvals.iter().filter_map(|id| approval_calls.get(id));
        // A request without a call keeps none, not even a call without an id.
        let named = |id: &&String| !matches!(id.as_str(), "undefined" | "null");
        self.kept_calls.extend(calls.filter(named).cloned());
    }

    /// Whether a part stays; `tools` are the keys of the names that the rule concerns.
    fn keeps(&self, part: &ModelPart<'_>, tools: Option<&[String]>) -> bool {
        let (kept, name) = match tool_use(part) {
            PrunedToolPart::None => return true,
            PrunedToolPart::Call(id, name) => {
                let id = id_key(id.as_ref());
                (id.is_some_and(|id| self.kept_calls.contains(&id)), name_key(name.as_ref()))
            }
            PrunedToolPart::Approval(id) => {
                let id = id_key(id.as_ref());
                let name = id.as_ref().and_then(|id| self.approval_tools.get(id)).cloned();
                (id.is_some_and(|id| self.kept_approvals.contains(&id)), name)
            }
        };
        let other_tool = match (tools, name) {
            (Some(tools), Some(name)) => !tools.contains(&name),
            _ => false,
        };
        kept || other_tool
    }
}

fn prune_tool_calls(messages: &mut [ModelMessage<'_>], rule: &PruneToolCalls) {
    let plan = PrunePlan::new(messages, rule.scope);
    let tools: Option<Vec<String>> = rule
        .tools
        .as_ref()
        .map(|tools| tools.iter().map(|name| written(&ModelValue::Str(name))).collect());
    for message in &mut messages[..plan.end] {
        if !matches!(message.role, ModelRole::Assistant | ModelRole::Tool) {
            continue;
        }
        let ModelContent::Parts(parts) = &mut message.content else { continue };
        let mut keep: Vec<bool> =
            parts.iter().map(|part| plan.keeps(part, tools.as_deref())).collect();
        if message.role == ModelRole::Assistant {
            drop_reasoning_without_followers(parts, &mut keep);
        }
        let mut keep = keep.into_iter();
        parts.retain(|_| keep.next().unwrap_or(true));
    }
}

/// Drops a run of reasoning if all parts up to the next reasoning, which it led to, are dropped.
fn drop_reasoning_without_followers(parts: &[ModelPart<'_>], keep: &mut [bool]) {
    let is_reasoning = |at: &usize| matches!(parts[*at], ModelPart::Reasoning(_));
    let mut at = 0;
    while at < parts.len() {
        let reasoning_end = (at..parts.len()).find(|at| !is_reasoning(at)).unwrap_or(parts.len());
        let next = (reasoning_end..parts.len()).find(is_reasoning).unwrap_or(parts.len());
        let followers = &keep[reasoning_end..next];
        if !followers.is_empty() && !followers.contains(&true) {
            keep[at..reasoning_end].fill(false);
        }
        at = next;
    }
}
