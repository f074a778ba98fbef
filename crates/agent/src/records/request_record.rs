//! The record of a model call: everything that is needed to write the same body again, and the answer.
//!
//! The content of a request is already in the log, so a record only says which part of it was shown: up to which
//! line, and how much of the message that the run was writing. The system blocks and the tools, which are not in
//! the log, are stored as blobs. So is the frame, which seldom differs between requests: the digests of those
//! blobs, the recipe, and the length to which tool outputs are cut. An answer is a line of its own, because a
//! request without an answer must be recorded too.

use ship_context::ShowRules;
use ship_message::json::{Json, Object};
use ship_provider::{AnswerEnd, Recipe, Usage};
use ship_store::{Gen, Position, Seq, Timestamp};

use super::shared_prefix::SharedPrefix;
use crate::digest::digest;

/// The version of the rendering: of everything that turns stored messages into the bytes of a body. It is raised when
/// the same messages give other bytes.
///
/// 1: notices are words of the model, and references stand before the message that they were fetched for.
/// 2: notices are left out; a reference is the output of its call, or stands at the head of a person's message.
pub const RENDERING: u64 = 2;

/// One model call that was sent, as `requests.jsonl` has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// The id of the record.
    pub id: String,
    /// The id of the person's request.
    pub request_id: String,
    /// The id of the run.
    pub run_id: String,
    /// The time of the call.
    pub ts: Timestamp,
    /// The messages that were sent.
    pub shown: RequestMessages,
    /// The system blocks, each with its name and the digest of its text.
    pub system: Vec<(String, String)>,
    /// The digest of the tools.
    pub tools: String,
    /// The recipe of the body.
    pub recipe: Recipe,
    /// The version of the rendering, which turns stored messages into a body: today's is [`RENDERING`].
    pub rendering: u64,
    /// The maximal length of the answer.
    pub max_tokens: u64,
    /// The rules for what the model was shown: `limits.toolOutputChars` and `llm.requestFacts` at that time.
    pub show_rules: ShowRules,
    /// The size of the body in bytes.
    pub bytes: u64,
    /// The digest of the body.
    pub sha256: String,
    /// The estimated tokens of the request.
    pub tokens: RequestTokens,
    /// The length and the digest of the part with which every extended request begins.
    pub stem: (u64, String),
    /// The part that it shares with the request before.
    pub shared_prefix: SharedPrefix,
}

/// The messages of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestMessages {
    /// The messages of the context.
    Context {
        /// The end of the log at that time.
        position: Position,
        /// The id of the message that the run was writing.
        message_id: String,
        /// The number of its parts that were shown, not counting empty texts.
        parts: usize,
    },
    /// The messages of the context, and an instruction to summarise the older ones.
    Continuation {
        /// The end of the log at that time.
        position: Position,
        /// The id of the message that the run was writing; empty if there was none.
        message_id: String,
        /// The number of its parts that were shown, not counting empty texts.
        parts: usize,
        /// The digest of a blob with the instruction, which is empty if it is not stored.
        instruction: String,
    },
    /// A part of the chat that was to be summarised. The messages are a blob with this digest, which is empty if
    /// they are not stored.
    Summary(String),
}

impl RequestMessages {
    /// Reads the fields of a record that say which messages were sent.
    fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        let number = |key: &str| object.get(key).and_then(Json::as_u64);
        if let Some(sha256) = text("summary") {
            return Some(Self::Summary(sha256));
        }
        let generation = Gen::new(number("gen")?);
        let position = Position { generation, seq: Seq::new(number("seq")?) };
        let (message_id, parts) = (text("messageId")?, usize::try_from(number("parts")?).ok()?);
        Some(match text("instruction") {
            Some(instruction) => Self::Continuation { position, message_id, parts, instruction },
            None => Self::Context { position, message_id, parts },
        })
    }
}

/// The estimated tokens of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTokens {
    /// The tokens of the system blocks.
    pub system: u64,
    /// The tokens of the tools.
    pub tools: u64,
    /// The tokens of the messages.
    pub messages: u64,
    /// The budget of the request.
    pub budget: u64,
    /// The window of the model, if it was known.
    pub window: Option<u64>,
    /// Whether the request was so small that it was not counted: one token for four letters.
    pub is_rough: bool,
}

impl RequestTokens {
    /// Returns the sum of all tokens.
    pub fn total(&self) -> u64 {
        self.system + self.tools + self.messages
    }

    fn to_object(self) -> Object {
        let mut object = Object::from([
            ("system", Json::from(self.system)),
            ("tools", self.tools.into()),
            ("messages", self.messages.into()),
            ("total", self.total().into()),
            ("budget", self.budget.into()),
            ("window", self.window.map_or(Json::Null, Json::from)),
        ]);
        object.set_or_remove("rough", self.is_rough.then(|| Json::from(true)));
        object
    }

    fn from_json(json: &Json) -> Option<Self> {
        let number = |key: &str| json.get(key).and_then(Json::as_u64);
        Some(Self {
            system: number("system")?,
            tools: number("tools")?,
            messages: number("messages")?,
            budget: number("budget")?,
            window: number("window"),
            is_rough: json.get("rough").and_then(Json::as_bool).unwrap_or_default(),
        })
    }
}

impl RequestRecord {
    /// Returns the record as one object with all fields.
    pub fn to_object(&self) -> Object {
        let mut object = Object::from([
            ("id", Json::from(self.id.as_str())),
            ("requestId", self.request_id.as_str().into()),
            ("runId", self.run_id.as_str().into()),
            ("ts", self.ts.to_json()),
        ]);
        match &self.shown {
            RequestMessages::Context { position, message_id, parts }
            | RequestMessages::Continuation { position, message_id, parts, .. } => {
                object.set("gen", position.generation.get());
                object.set("seq", position.seq.get());
                object.set("messageId", message_id.as_str());
                object.set("parts", *parts as u64);
            }
            RequestMessages::Summary(sha256) => object.set("summary", sha256.as_str()),
        }
        if let RequestMessages::Continuation { instruction, .. } = &self.shown {
            object.set("instruction", instruction.as_str());
        }
        for (key, value) in self.frame().into_entries() {
            object.set(key, value);
        }
        object.set("maxTokens", self.max_tokens);
        object.set("bytes", self.bytes);
        object.set("sha256", self.sha256.as_str());
        object.set("tokens", self.tokens.to_object());
        object.set("stem", self.stem_json());
        object.set("stable", self.shared_prefix.to_object());
        object
    }

    /// Returns the fields that seldom differ between requests.
    fn frame(&self) -> Object {
        let block = |(name, sha256): &(String, String)| {
            Json::from(Object::from([("name", name.as_str()), ("sha256", sha256.as_str())]))
        };
        let mut frame = Object::new();
        frame.set("system", self.system.iter().map(block).collect::<Vec<_>>());
        frame.set("tools", self.tools.as_str());
        let mut recipe = self.recipe.to_object();
        recipe.set("rendering", self.rendering);
        frame.set("recipe", recipe);
        frame.set("toolOutputChars", self.show_rules.tool_output_chars as u64);
        if !self.show_rules.has_request_facts {
            frame.set("requestFacts", false);
        }
        frame
    }

    fn stem_json(&self) -> Json {
        let (bytes, sha256) = &self.stem;
        Object::from([("bytes", Json::from(*bytes)), ("sha256", sha256.as_str().into())]).into()
    }

    /// Returns these fields as the text of a blob.
    pub(crate) fn frame_text(&self) -> String {
        Json::from(self.frame()).to_string()
    }

    /// Returns the record in the form of its line, with the frame as a blob's digest.
    pub(crate) fn to_line(&self) -> Object {
        let mut line = self.to_object();
        for (key, _) in self.frame().iter() {
            line.remove(key);
        }
        if let Some(tokens) = line.get_mut("tokens").and_then(Json::as_object_mut) {
            tokens.remove("total");
        }
        line.set("frame", digest(self.frame_text().as_bytes()));
        line
    }

    /// Reads a record from a line; `None` if it is another kind of line.
    pub(super) fn from_object(object: &Object) -> Option<Self> {
        let text = |key: &str| object.str(key).map(str::to_owned);
        let number = |key: &str| object.get(key).and_then(Json::as_u64);
        let block = |json: &Json| {
            let object = json.as_object()?;
            Some((object.str("name")?.to_owned(), object.str("sha256")?.to_owned()))
        };
        let stem = object.get("stem")?;
        Some(Self {
            id: text("id")?,
            request_id: text("requestId")?,
            run_id: text("runId")?,
            ts: Timestamp::from_json(object.get("ts")?)?,
            shown: RequestMessages::from_object(object)?,
            system: object.get("system")?.as_array()?.iter().map(block).collect::<Option<_>>()?,
            tools: text("tools")?,
            recipe: Recipe::from_object(object.get("recipe")?.as_object()?)?,
            rendering: {
                let recorded = object.get("recipe").and_then(|recipe| recipe.get("rendering"));
                recorded.and_then(Json::as_u64).unwrap_or(1)
            },
            max_tokens: number("maxTokens")?,
            show_rules: ShowRules {
                tool_output_chars: usize::try_from(number("toolOutputChars")?).ok()?,
                // Older records have no such field: the facts always stood beside the text.
                has_request_facts: object.get("requestFacts").and_then(Json::as_bool)
                    != Some(false),
            },
            bytes: number("bytes")?,
            sha256: text("sha256")?,
            tokens: RequestTokens::from_json(object.get("tokens")?)?,
            stem: (stem.get("bytes")?.as_u64()?, stem.get("sha256")?.as_str()?.to_owned()),
            shared_prefix: SharedPrefix::from_json(object.get("stable")?)?,
        })
    }

    /// Whether the call asked for an answer, and not for a summary.
    pub(crate) fn is_of_context(&self) -> bool {
        matches!(self.shown, RequestMessages::Context { .. })
    }
}

/// The result of a model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestAnswer {
    /// The provider answered to the end.
    Answered {
        /// The reason why the answer ended.
        finish_reason: String,
        /// The cost that the provider reports.
        usage: Option<Usage>,
        /// Our own count of the request, if it was counted. Together with the usage, it teaches later processes
        /// how the provider counts.
        counted: Option<u64>,
    },
    /// The call failed with this error code.
    Failed(String),
}

impl RequestAnswer {
    pub(crate) fn from_end(answered: &AnswerEnd, counted: Option<u64>) -> Self {
        let finish_reason = answered.finish_reason.name().to_owned();
        Self::Answered { finish_reason, usage: answered.usage, counted }
    }

    /// Returns the answer in the form of its line, without the id of the call.
    pub fn to_object(&self) -> Object {
        match self {
            Self::Failed(code) => Object::from([("error", code.as_str())]),
            Self::Answered { finish_reason, usage, counted } => {
                let mut object = Object::from([("finishReason", finish_reason.as_str())]);
                if let Some(usage) = usage {
                    object.set("inputTokens", usage.input);
                    object.set("cachedTokens", usage.cached);
                    object.set("outputTokens", usage.output);
                }
                object.set_or_remove("counted", counted.map(Json::from));
                object
            }
        }
    }

    pub(crate) fn to_line(&self, id: &str, now: Timestamp) -> Object {
        let mut object = Object::from([("answers", Json::from(id)), ("ts", now.to_json())]);
        for (key, value) in self.to_object().into_entries() {
            object.set(key, value);
        }
        object
    }

    pub(super) fn from_object(object: &Object) -> Option<(&str, Self)> {
        let number = |key: &str| object.get(key).and_then(Json::as_u64);
        let usage = || {
            let (input, cached) = (number("inputTokens")?, number("cachedTokens")?);
            Some(Usage { input, cached, output: number("outputTokens")? })
        };
        let answer = match (object.str("error"), object.str("finishReason")) {
            (Some(code), _) => Self::Failed(code.to_owned()),
            (None, reason) => Self::Answered {
                finish_reason: reason?.to_owned(),
                usage: usage(),
                counted: number("counted"),
            },
        };
        Some((object.str("answers")?, answer))
    }
}

/// A recorded model call.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The call that was sent.
    pub record: RequestRecord,
    /// The result of the call, or `None` if it is not known.
    pub answer: Option<RequestAnswer>,
}
