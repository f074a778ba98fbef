//! What a model is sent, and what the log and the records keep of it.

use ship_context::{BlockSources, Limits, SystemBlock, shown_to_model, system_blocks};
use ship_message::json::{Json, Object};
use ship_message::{ConvertOptions, Role, UiMessage, convert_to_model_messages};
use ship_provider::{Answered, Request, ToolSpec};
use ship_store::ChatKey;

use crate::RunNote;
use crate::inbound::millis;
use crate::run::{Inner, RunError};
use crate::skills;
use crate::step::Progress;
use crate::work::{Work, messages};

/// What a model is sent, before it is a request.
pub(crate) struct Prepared {
    blocks: Vec<SystemBlock>,
    system: Vec<String>,
    shown: Vec<UiMessage>,
    tools: Vec<ToolSpec>,
}

impl Prepared {
    pub(crate) fn new(
        agent: &Inner,
        chat: &ChatKey,
        channel: &Option<String>,
        said: &[UiMessage],
        so_far: Option<&UiMessage>,
        loaded: &[String],
    ) -> Self {
        let texts = agent.surroundings.texts(chat);
        let all_skills = agent.surroundings.skills();
        let chat_id = said.iter().rev().find(|message| message.role() == Role::User);
        let chat_id = chat_id.and_then(|message| message.metadata()?.get("chatId")?.as_str());
        let blocks = system_blocks(&BlockSources {
            project_root: agent.surroundings.project_root(),
            chat_key: chat.as_str().to_owned(),
            channel: channel.clone(),
            chat_id: chat_id.map(str::to_owned),
            output_rules: agent.rules.output_rules,
            profile_primary: texts.profile_primary,
            profile_other: texts.profile_other,
            memory: texts.memory,
            agent: texts.agent,
            skills: all_skills.iter().map(skills::line).collect(),
            loaded: skills::loaded(loaded, &all_skills),
        });
        let limits = Limits { tool_output_chars: agent.rules.tool_output_chars };
        let so_far = so_far.filter(|message| !message.parts().is_empty());
        let mut shown = shown_to_model(said, limits);
        shown.extend(shown_to_model(so_far.map_or(&[], std::slice::from_ref), limits));
        Self {
            system: blocks.iter().map(|block| block.text.clone()).collect(),
            blocks,
            shown,
            tools: agent.tools.values().map(|tool| tool.spec()).collect(),
        }
    }

    pub(crate) fn request(&self, max_tokens: u64) -> Request<'_> {
        // What the store holds is what we wrote or checked; a message that cannot be converted is left out
        // rather than letting one bad line stop the chat.
        let messages = self
            .shown
            .iter()
            .filter_map(|message| {
                let one = std::slice::from_ref(message);
                convert_to_model_messages(one, &ConvertOptions::default()).ok()
            })
            .flatten()
            .collect();
        Request { system: &self.system, messages, tools: &self.tools, max_tokens }
    }
}

/// What a model would be sent now.
#[derive(Clone, Debug)]
pub struct NextRequest {
    /// The system blocks.
    pub blocks: Vec<SystemBlock>,
    /// The messages as shown.
    pub messages: Vec<UiMessage>,
    /// The tools.
    pub tools: Vec<ToolSpec>,
}

pub(crate) async fn next_request(agent: &Inner, key: &ChatKey) -> Result<NextRequest, RunError> {
    let (said, loaded, channel) = match agent.store.open(key).await? {
        None => (Vec::new(), Vec::new(), None),
        Some(chat) => {
            let view = chat.view().await?;
            let channel = chat.about().await?.channel;
            let said = view.as_ref().map(messages).unwrap_or_default();
            (said, view.as_ref().map(skills::loaded_names).unwrap_or_default(), channel)
        }
    };
    let prepared = Prepared::new(agent, key, &channel, &said, None, &loaded);
    Ok(NextRequest { blocks: prepared.blocks, messages: prepared.shown, tools: prepared.tools })
}

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
    let (new, _) = work.context().await;
    let new = new.iter().skip(known).map(UiMessage::to_json).collect::<Vec<_>>();
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
