//! What a model is sent, and what the log and the records keep of it.

use std::sync::Arc;

use ship_context::compact::Pruned;
use ship_context::{Limits, SystemBlock, input_budget, shown_to_model, surely_fits};
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, UiPart};
use ship_provider::{Answered, ProviderError, Request, ToolSpec};

use crate::RunNote;
use crate::inbound::millis;
use crate::run::{Inner, RunError};
use crate::step::Progress;
use crate::work::Work;

/// What a model is sent, before it is a request.
pub(crate) struct Prepared {
    pub(crate) blocks: Vec<SystemBlock>,
    system: Vec<String>,
    pub(crate) shown: Vec<UiMessage>,
    pub(crate) tools: Vec<ToolSpec>,
}

impl Prepared {
    pub(crate) fn new(
        agent: &Inner,
        blocks: Vec<SystemBlock>,
        said: &[Arc<UiMessage>],
        so_far: Option<&UiMessage>,
        pruned: &Pruned,
    ) -> Self {
        let limits = Limits { tool_output_chars: agent.rules.tool_output_chars };
        let so_far = so_far.filter(|message| !message.parts().is_empty());
        let mut shown = shown_to_model(said, limits);
        shown.extend(shown_to_model(so_far.map_or(&[], std::slice::from_ref), limits));
        if !pruned.is_empty() {
            for message in &mut shown {
                pruned.apply(message);
            }
        }
        Self {
            system: blocks.iter().map(|block| block.text.clone()).collect(),
            blocks,
            shown,
            tools: agent.tools.values().map(|tool| tool.spec()).collect(),
        }
    }

    /// Whether it is so small that nobody need count it, which takes a vocabulary. A token is a byte at least
    /// and two in anything but noise; should a provider count more, its own word makes room.
    pub(crate) fn is_small(&self, agent: &Inner) -> bool {
        let rules = &agent.rules;
        let budget = input_budget(rules.input_tokens_max, agent.window_tokens(), rules.max_tokens);
        let system: usize = self.system.iter().map(String::len).sum();
        let tools: usize = self.tools.iter().map(|tool| tool.to_json().to_string().len()).sum();
        let bytes = system + tools + self.shown.iter().map(bytes).sum::<usize>();
        surely_fits(bytes / 4 * 3, 0, budget)
    }

    /// The request and its body. The answer may be as long as `answer_max` and as the window has room for.
    pub(crate) fn within_window(
        &self,
        agent: &Inner,
        answer_max: u64,
    ) -> Result<(Request<'_>, String), ProviderError> {
        let request = self.request(answer_max);
        let body = agent.provider.body(&request)?;
        let Some(window) = agent.window_tokens() else { return Ok((request, body)) };
        // A token is at least a byte, so most requests need not be counted.
        if surely_fits(body.len() + body.len() / 2, request.max_tokens, window) {
            return Ok((request, body));
        }
        let room = window.saturating_sub(agent.scales.count_at_most(&body)).max(window / 16).max(1);
        if room >= request.max_tokens {
            return Ok((request, body));
        }
        let request = self.request(room);
        let body = agent.provider.body(&request)?;
        Ok((request, body))
    }

    fn request(&self, max_tokens: u64) -> Request<'_> {
        Request { system: &self.system, view: &self.shown, tools: &self.tools, max_tokens }
    }
}

/// About how many bytes a message takes in a request.
fn bytes(message: &UiMessage) -> usize {
    let size = |json: &Json| match json {
        Json::String(text) => text.as_str().len(),
        json => json.to_string().len(),
    };
    let part = |part: &UiPart| match part {
        UiPart::Text(text) => text.text().len(),
        UiPart::Tool(tool) => {
            tool.input().map_or(0, size)
                + tool.output().map_or(0, size)
                + tool.name().map_or(0, str::len)
        }
        UiPart::StepStart(_) => 0,
        other => other.clone().into_json().to_string().len(),
    };
    message.parts().iter().map(|it| part(it) + PART_BYTES).sum::<usize>() + PART_BYTES
}

/// What a format adds to each message and part.
const PART_BYTES: usize = 32;

/// Records a model call, for the log and for `inspect`. The log gets the text of messages that no request of
/// this run has shown before, and the others by their ids.
pub(crate) async fn record_request(
    work: &Work,
    body: String,
    ids: &[String],
    logged: usize,
) -> Result<(), RunError> {
    let bytes = Json::from(body.len() as u64);
    let sha256 = Json::from(crate::digest(body.as_bytes()));
    let model = Json::from(work.agent.provider.model());
    let known = ids.len().min(logged);
    let older = ids[..known].iter().map(|id| Json::from(id.as_str())).collect::<Vec<_>>();
    let new = work.context().await;
    let new = new.iter().skip(known).map(|message| message.to_json()).collect::<Vec<_>>();
    work.note(RunNote {
        kind: "llm_request",
        fields: vec![
            ("model", model.clone()),
            ("bytes", bytes.clone()),
            ("sha256", sha256.clone()),
            ("olderMessages", older.into()),
        ],
        texts: vec![("newMessages", new.into())],
        payload: Some(body),
        ..RunNote::default()
    });
    let record = Object::from([
        ("id", Json::from(work.request_id.as_str())),
        ("runId", work.run_id.as_str().into()),
        ("ts", millis(work.agent.clock.now())),
        ("model", model),
        ("bytes", bytes),
        ("sha256", sha256),
    ]);
    Ok(work.lane.record_request(record).await?)
}

/// Tells the log what came back: the parts that this step has added.
pub(crate) fn note_response(
    work: &Work,
    progress: &mut Progress,
    answered: Answered,
    parts_before: usize,
) {
    let parts = progress.assembler.message().parts();
    let new = parts.iter().skip(parts_before).map(|part| part.clone().into_json());
    let new: Json = new.collect::<Vec<_>>().into();
    let mut fields = vec![
        ("model", work.agent.provider.model().into()),
        ("finishReason", answered.finish_reason.name().into()),
        ("bytes", Json::from(new.to_string().len() as u64)),
    ];
    if let Some(usage) = answered.usage {
        fields.push(("inputTokens", usage.input.into()));
        fields.push(("cachedTokens", usage.cached.into()));
        fields.push(("outputTokens", usage.output.into()));
    }
    work.note(RunNote {
        kind: "llm_response",
        fields,
        texts: vec![("parts", new)],
        ..RunNote::default()
    });
}
