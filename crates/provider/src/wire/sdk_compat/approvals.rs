//! Gives results to calls that a person was asked about and that have none.
//!
//! A program that runs tools runs an allowed call before it asks the model again, so its result exists. The
//! remaining calls of the last message must not run: denied ones, and allowed ones of a tool that needs no
//! approval. Both get a result that says so; otherwise providers would refuse the messages.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ship_message::json::Json;
use ship_message::{
    ModelMessage, ModelPart, ModelRole, ModelValue, ToolApprovalResponseModelPart,
    ToolCallModelPart,
};

use super::super::error::WireError;
use super::super::json_text::text_of;
use super::super::prompt_message::{Output, PromptToolResult};
use super::super::provider_options::ProviderOptions;

/// Returns the results of calls that will not run, denied ones first.
pub(in crate::wire) fn denied<'m>(
    messages: &'m [ModelMessage<'_>],
) -> Result<Vec<PromptToolResult<'m>>, WireError> {
    let Some(last) = messages.last().filter(|last| last.role == ModelRole::Tool) else {
        return Ok(Vec::new());
    };
    let answers: Vec<_> = last.parts().iter().filter_map(as_answer).collect();
    if answers.is_empty() {
        return Ok(Vec::new());
    }
    let (calls, questions) = calls_and_approvals(messages);
    let mut settled: HashSet<Cow<'_, str>> = last
        .parts()
        .iter()
        .filter_map(|part| match part {
            ModelPart::ToolResult(result) => result.call_id().and_then(text_of),
            _ => None,
        })
        .collect();
    let (mut denied, mut not_run) = (Vec::new(), Vec::new());
    for answer in answers {
        let approval = text(answer.approval_id());
        let Some(call_id) = questions.get(&approval) else {
            return Err(WireError::UnknownApproval(approval.into_owned()));
        };
        if settled.contains(call_id) {
            continue;
        }
        let Some(call) = calls.get(call_id) else {
            let call = call_id.clone().into_owned();
            return Err(WireError::ApprovalWithoutCall { call, approval: approval.into_owned() });
        };
        settled.insert(call_id.clone());
        let reason = answer.reason().and_then(text_of);
        if !is_true(answer.approved()) {
            denied.push(refusal(call, reason));
        } else if !is_true(call.provider_executed()) {
            let name = text(call.tool_name());
            let reason = reason
                .unwrap_or_else(|| format!("Tool \"{name}\" does not require approval").into());
            not_run.push(refusal(call, Some(reason)));
        }
    }
    denied.append(&mut not_run);
    Ok(denied)
}

fn as_answer<'m>(part: &'m ModelPart<'_>) -> Option<&'m ToolApprovalResponseModelPart<'m>> {
    match part {
        ModelPart::ToolApprovalResponse(answer) => Some(answer),
        _ => None,
    }
}

type CallsById<'m> = HashMap<Cow<'m, str>, &'m ToolCallModelPart<'m>>;
type ApprovalCalls<'m> = HashMap<Cow<'m, str>, Cow<'m, str>>;

/// Returns every call by its id, and the call id of every approval request by the request's id.
fn calls_and_approvals<'m>(messages: &'m [ModelMessage<'_>]) -> (CallsById<'m>, ApprovalCalls<'m>) {
    let (mut calls, mut questions) = (HashMap::new(), HashMap::new());
    for part in messages.iter().flat_map(ModelMessage::parts) {
        match part {
            ModelPart::ToolCall(call) => {
                calls.insert(text(call.call_id()), call);
            }
            ModelPart::ToolApprovalRequest(question) => {
                questions.insert(text(question.approval_id()), text(question.call_id()));
            }
            _ => {}
        }
    }
    (calls, questions)
}

fn refusal<'m>(
    call: &'m ToolCallModelPart<'_>,
    reason: Option<Cow<'m, str>>,
) -> PromptToolResult<'m> {
    PromptToolResult {
        id: text(call.call_id()),
        name: text(call.tool_name()),
        output: Output::Denied(reason),
        output_options: None,
        options: ProviderOptions::default(),
    }
}

/// Returns the text of a field that was checked to be one.
fn text(value: Option<ModelValue<'_>>) -> Cow<'_, str> {
    value.and_then(text_of).unwrap_or_default()
}

fn is_true(value: Option<ModelValue<'_>>) -> bool {
    matches!(value, Some(ModelValue::Ref(Json::Bool(true)) | ModelValue::Owned(Json::Bool(true))))
}
