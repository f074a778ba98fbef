//! What an agent has around it: its project's texts, its rules, its log, and where its ids come from.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ship_context::contexts::{SnapshotLimits, UtteranceLimits};
use ship_message::json::Json;
use ship_store::ChatKey;

use crate::SkillText;

/// The texts of a project that become system blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// `.ship/profile/Primary.md`
    pub profile_primary: Option<String>,
    /// `.ship/profile/other.md`
    pub profile_other: Option<String>,
    /// The chat's `memory/Primary.md`
    pub memory: Option<String>,
    /// `Agent.md`
    pub agent: Option<String>,
    /// Why a text is missing that is there, a sentence each.
    pub problems: Vec<String>,
}

/// Where an agent's texts and skills come from. Asked once for each run.
pub trait ProjectSource: Send + Sync {
    /// The project's folder, as the model is told.
    fn project_root(&self) -> String;

    /// The texts, for a chat.
    fn texts(&self, chat: &ChatKey) -> Texts;

    /// The skills there are.
    fn skills(&self) -> Vec<SkillText>;

    /// What looked wrong when the project was loaded, a sentence each, for the log. Whoever loaded it has
    /// seen it.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// A text without the secrets that may be in it.
    fn mask(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// No project at all: an agent in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProject;

impl ProjectSource for NoProject {
    fn project_root(&self) -> String {
        "(none)".to_owned()
    }

    fn texts(&self, _chat: &ChatKey) -> Texts {
        Texts::default()
    }

    fn skills(&self) -> Vec<SkillText> {
        Vec::new()
    }
}

/// The limits and habits of runs; the names are those of ship.json.
#[derive(Clone, Debug)]
pub struct Rules {
    /// `context.run.maxSteps`
    pub max_steps: usize,
    /// `context.run.deadlineMs`
    pub run_deadline: Duration,
    /// `context.run.toolDeadlineMs`
    pub tool_deadline: Duration,
    /// `limits.messageBytes`: how long the text of a message that comes in may be.
    pub message_bytes: usize,
    /// `limits.toolOutputChars`
    pub tool_output_chars: usize,
    /// `llm.maxTokens`
    pub max_tokens: u64,
    /// `llm.retries`
    pub retries: u64,
    /// `context.history.archiveOnCompact`: whether the originals of a summary are kept.
    pub archive_on_compact: bool,
    /// `context.history.keepLastMessages`
    pub keep_last_messages: usize,
    /// `llm.window`, which counts before what the provider knows.
    pub window: Option<u64>,
    /// `context.history.maxInputTokensApprox`; none for `"auto"`.
    pub input_tokens_max: Option<u64>,
    /// How many lines a context log may have before it is compacted whatever a request takes.
    pub log_lines_max: u64,
    /// How many bytes.
    pub log_bytes_max: u64,
    /// `llm.requestIdInSystem`
    pub request_id_in_system: bool,
    /// `context.chatEgress.chatSendMaxCallsPerRun`
    pub chat_sends_max: usize,
    /// `context.chatEgress.chatSendIdempotency`: whether the same text is sent only once for one message.
    pub chat_send_once: bool,
    /// `context.contexts`
    pub contexts: ContextRules,
    /// `lock.waitMs`: how long somebody waits who asks for an operation while somebody else runs the chat.
    pub operation_wait: Duration,
    /// `tools.approval`: tools that a person must allow.
    pub approval: BTreeSet<String>,
    /// `tools.client`: tools that run with the client.
    pub client: BTreeSet<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            max_steps: 50,
            run_deadline: Duration::from_millis(1_800_000),
            tool_deadline: Duration::from_millis(120_000),
            message_bytes: 8_388_608,
            tool_output_chars: 12_000,
            max_tokens: 8192,
            retries: 4,
            archive_on_compact: true,
            keep_last_messages: 30,
            window: None,
            input_tokens_max: None,
            log_lines_max: 20_000,
            log_bytes_max: 8_388_608,
            request_id_in_system: false,
            chat_sends_max: 10,
            chat_send_once: true,
            contexts: ContextRules::default(),
            operation_wait: Duration::from_millis(10_000),
            approval: BTreeSet::new(),
            client: BTreeSet::new(),
        }
    }
}

/// How much of contexts is shown and written down. None of it cuts what is stored.
#[derive(Clone, Copy, Debug)]
pub struct ContextRules {
    /// Whether the model has the tools to leave a context and come back.
    pub enabled: bool,
    /// `activeMaxMessages` and `activeMaxChars`: what is shown of the active context, and of a recent one.
    pub active: UtteranceLimits,
    /// `maxTurns`, `maxChars` and `searchTextMaxChars`: what is written down of an archived one.
    pub snapshot: SnapshotLimits,
}

impl Default for ContextRules {
    fn default() -> Self {
        Self {
            enabled: true,
            active: UtteranceLimits { turns_max: 80, chars_max: 24_000 },
            snapshot: SnapshotLimits {
                turns: UtteranceLimits { turns_max: 120, chars_max: 48_000 },
                search_text_chars_max: 12_000,
            },
        }
    }
}

/// Where new ids come from.
pub trait IdSource: Send + Sync {
    /// A number that was not given before.
    fn next(&self) -> u64;
}

/// Ids that nobody can guess or repeat.
#[derive(Debug, Default)]
pub struct RandomIds {
    count: AtomicU64,
}

impl IdSource for RandomIds {
    fn next(&self) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        // Every `RandomState` is keyed by the system's randomness and differs from the one before.
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_u64(self.count.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    }
}

/// Something for the log about a run.
#[derive(Clone, Debug, Default)]
pub struct RunLogEntry {
    /// What kind of line it is: `llm_request`, `llm_response`, `system_changed`,
    /// `repair`, `warning` or `error`.
    pub kind: &'static str,
    /// The request; empty when the line is about none.
    pub request_id: String,
    /// The run; empty when the line is about none.
    pub run_id: String,
    /// Sizes, names and counts.
    pub fields: Vec<(&'static str, Json)>,
    /// What people and models wrote. Whoever writes the line leaves it out when told to.
    pub texts: Vec<(&'static str, Json)>,
    /// The raw body of a request, as JSON text. Written only when asked for.
    pub payload: Option<String>,
}

/// Where a run tells what it does, for the log.
pub trait RunLog: Send + Sync {
    /// Writes one line.
    fn write(&self, chat: &ChatKey, note: RunLogEntry);
}

/// No log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLog;

impl RunLog for NoLog {
    fn write(&self, _: &ChatKey, _: RunLogEntry) {}
}
