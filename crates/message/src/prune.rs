//! `pruneMessages`: leaving out reasoning and tool calls that a model need not see again.

use std::collections::{HashMap, HashSet};

use crate::json::Json;
use crate::model::{ModelContent, ModelMessage, ModelPart, ModelRole, ModelValue};

/// Which reasoning is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PruneReasoning {
    /// None.
    #[default]
    None,
    /// All of it.
    All,
    /// All but that of the last message.
    BeforeLastMessage,
}

/// How far back a rule reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneScope {
    /// Every message.
    All,
    /// Every message but the last so many. The AI SDK's reading of zero is kept: nothing is left out.
    BeforeLast(usize),
}

/// A rule by which tool calls, their results and approvals are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneToolCalls {
    /// How far back it reaches.
    pub scope: PruneScope,
    /// The tools it is about; all of them when none are named.
    pub tools: Option<Vec<String>>,
}

/// What becomes of a message without content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyMessages {
    /// It goes, also if it was empty before.
    #[default]
    Remove,
    /// It stays.
    Keep,
}

/// What [`prune_messages`] leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneOptions {
    /// Which reasoning.
    pub reasoning: PruneReasoning,
    /// Which tool calls, rule by rule.
    pub tool_calls: Vec<PruneToolCalls>,
    /// What becomes of messages that are empty then.
    pub empty_messages: EmptyMessages,
}

/// Leaves out what the options say. A call and its result go together, and so do a question for
/// approval, its answer and its call.
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

/// What a part has to do with tools.
enum PrunedToolPart<'m> {
    None,
    /// A call or a result: call id and tool name.
    Call(Option<ModelValue<'m>>, Option<ModelValue<'m>>),
    /// A question for approval or its answer: approval id.
    Approval(Option<ModelValue<'m>>),
}

/// What an id is compared by: its JSON, so that ids of any plain type do. Objects and lists are only
/// equal to themselves in JavaScript, so they are equal to nothing here.
fn id_key(id: Option<&ModelValue<'_>>) -> Option<String> {
    match id {
        None => Some("undefined".to_owned()),
        Some(ModelValue::Ref(Json::Object(_) | Json::Array(_))) => None,
        Some(id) => Some(written(id)),
    }
}

/// The name of a tool, as its JSON; null is none.
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

/// The parts in which tools can be used.
fn tool_parts<'m, 'a>(messages: &'m [ModelMessage<'a>]) -> impl Iterator<Item = &'m ModelPart<'a>> {
    let has_tools = |message: &&ModelMessage<'_>| {
        matches!(message.role, ModelRole::Assistant | ModelRole::Tool)
    };
    messages.iter().filter(has_tools).flat_map(ModelMessage::parts)
}

/// What a rule must know of the whole list before it looks at a single part.
struct PrunePlan {
    /// Messages from here on are not touched.
    end: usize,
    kept_calls: HashSet<String>,
    kept_approvals: HashSet<String>,
    /// The tool that an approval is about, by approval id.
    approval_tools: HashMap<String, String>,
}

impl PrunePlan {
    fn new(messages: &[ModelMessage<'_>], scope: PruneScope) -> Self {
        let (end, kept) = match scope {
            PruneScope::All => (messages.len(), &messages[messages.len()..]),
            // `slice(-0)` is the whole list in JavaScript: every id is kept, no message is spared.
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

    /// An answer stands in another message than its question, and the question names the call.
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
        // A question that names no call keeps none, not even one that has no id either.
        let named = |id: &&String| !matches!(id.as_str(), "undefined" | "null");
        self.kept_calls.extend(calls.filter(named).cloned());
    }

    /// Whether a part stays; `tools` are the keys of the names that the rule is about.
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

/// Reasoning belongs to what follows it: a run of reasoning goes when all that it led to goes.
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
