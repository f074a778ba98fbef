//! The catalogue of every key of `ship.json`.
//!
//! A row has everything about a key: its purpose, name, type, default and bounds. The typed structs, the
//! defaults, the reader, `ship config`, the commented file of `ship init` and "did you mean" are made from the
//! rows, so they cannot disagree.
//!
//! A row without `pub` is read and checked, but has no effect in this version: no other module can read its field. To
//! set it is a warning, and `ship init` does not write it.

mod address;
mod choices;
mod key;
mod value;

pub use address::Address;
pub use choices::{
    GroupAccess, OnUncertain, OnUndecided, ProviderName, QueueMode, RequestFacts, TelegramMode,
    TokenBudget,
};
use key::settings;
pub(crate) use key::{SettingGroup, SettingKey, is_group, is_project_only, key, keys};
use ship_record::Durability;

use crate::Secret;

/// The upper bound of every duration: a week, in milliseconds.
const WEEK_MS: u64 = 7 * 24 * 3_600_000;

/// All settings of a project that are in force.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// `llm`
    pub llm: LlmSettings,
    /// `llm.price`
    pub price: PriceSettings,
    /// `context`
    pub context: ContextSettings,
    /// `limits`
    pub limits: LimitSettings,
    /// `lock`
    pub lock: LockSettings,
    /// `tools`
    pub tools: ToolSettings,
    /// `skills`
    pub skills: SkillSettings,
    /// `adapters`
    pub adapters: AdapterSettings,
    /// `start`
    pub start: StartSettings,
    /// `store` and `durability`
    pub storage: StorageSettings,
}

/// The bounds of a chat's contexts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ContextSettings {
    /// `context.history`
    pub history: HistorySettings,
    /// `context.contexts`
    pub contexts: ArchiveSettings,
    /// `context.recall`
    pub recall: RecallSettings,
    /// `context.chatQueue`
    pub chat_queue: ChatQueueSettings,
    /// `context.chatEgress`
    pub chat_egress: ChatEgressSettings,
    /// `context.memory`
    pub memory: MemorySettings,
    /// `context.run`
    pub run: RunSettings,
}

/// The settings of channels that are not built in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdapterSettings {
    /// `adapters.telegram`
    pub telegram: TelegramSettings,
}

settings! {
    /// The model and its provider.
    LlmSettings at (llm) {
        /// The provider. Unset: chosen by OPENAI_API_KEY, else ANTHROPIC_API_KEY; offline without a key.
        "llm.provider" pub provider: Option<ProviderName> = None;
        /// The model's name at the provider.
        "llm.model" pub model: Option<String> = None;
        /// The API's address, if it is not the provider's own: a local server, for instance.
        "llm.baseUrl" pub base_url: Option<Address> = None;
        /// The API key. Keep it in .env, and write "${NAME}" here.
        "llm.apiKey" pub api_key: Option<Secret> = None;
        /// The model's context window, in tokens. Unset: derived from the model's name.
        "llm.window" pub window: Option<u64> = None, 1..=1_000_000_000;
        /// The longest answer, in tokens.
        "llm.maxTokens" pub max_tokens: u64 = 8192, 1..=1_000_000_000;
        /// The sampling temperature. Unset: the provider's default.
        "llm.temperature" pub temperature: Option<f64> = None, 0..=2;
        /// Whether the model gets tools. Unset: yes, unless its host refuses them. Without tools, it sees earlier calls as text.
        "llm.tools" pub tools: Option<bool> = None;
        /// How long to wait for a connection, in milliseconds.
        "llm.connectMs" pub connect_ms: u64 = 10_000, 1..=WEEK_MS;
        /// How long to wait for an answer to begin, in milliseconds.
        "llm.firstByteMs" pub first_byte_ms: u64 = 60_000, 1..=WEEK_MS;
        /// How long an answer may pause, in milliseconds.
        "llm.idleMs" pub idle_ms: u64 = 60_000, 1..=WEEK_MS;
        /// How often to retry a failed call, within three minutes.
        "llm.retries" pub retries: u64 = 4, 0..=100;
        /// Whether logs include the text of messages. SMA_LOG_LLM_MESSAGES=0 turns this off, too.
        "llm.logMessages" pub log_messages: bool = true;
        /// Where the model sees the request's id and time: "message", with the person's text; "system", in the first system
        /// block, which defeats the prompt cache; or "off".
        "llm.requestFacts" pub request_facts: RequestFacts = RequestFacts::Message;
    }

    /// The price of a million tokens, in your currency. With input and output set, each answer shows its cost.
    PriceSettings at (price) {
        /// A million input tokens.
        "llm.price.input" pub input: Option<f64> = None, 0..=1_000_000;
        /// A million input tokens that the provider reads from its cache. Unset: the price of the others.
        "llm.price.cachedInput" pub cached_input: Option<f64> = None, 0..=1_000_000;
        /// A million output tokens.
        "llm.price.output" pub output: Option<f64> = None, 0..=1_000_000;
    }

    /// How much of a chat the model sees, and when older messages are summarised.
    HistorySettings at (context.history) {
        /// How many messages stay word for word when older ones are summarised.
        "context.history.keepLastMessages" pub keep_last_messages: u64 = 30, 0..=1_000_000;
        /// Requests with more tokens than this are compacted; "auto": as the model's window allows.
        "context.history.maxInputTokensApprox" pub max_input_tokens_approx: TokenBudget = TokenBudget::Auto, 1..=1_000_000_000;
        /// Whether to keep the original messages when they are summarised.
        "context.history.archiveOnCompact" pub archive_on_compact: bool = true;
    }

    /// The contexts of a chat. These limits only bound what is shown, not what is stored.
    ArchiveSettings at (context.contexts) {
        /// Whether a chat may have several contexts. `rewind` works either way.
        "context.contexts.enabled" pub enabled: bool = true;
        /// The most messages that `context show` and recall `recent` return.
        "context.contexts.activeMaxMessages" pub active_max_messages: u64 = 80, 1..=1_000_000;
        /// The most characters that `context show` and recall `recent` return.
        "context.contexts.activeMaxChars" pub active_max_chars: u64 = 24_000, 1..=1_000_000_000;
        /// The most turns in a snapshot and in recall `full`.
        "context.contexts.maxTurns" pub max_turns: u64 = 120, 1..=1_000_000;
        /// The most characters in a snapshot and in recall `full`.
        "context.contexts.maxChars" pub max_chars: u64 = 48_000, 1..=1_000_000_000;
        /// How many characters of each context a search by text reads.
        "context.contexts.searchTextMaxChars" pub search_text_max_chars: u64 = 12_000, 1..=1_000_000_000;
    }

    /// What the model is told of earlier messages that it does not see.
    RecallSettings at (context.recall) {
        /// Whether a message says how many earlier ones are about the same. Costs a search for each message.
        "context.recall.hint" pub hint: bool = false;
    }

    /// How messages wait for their turn.
    ChatQueueSettings at (context.chat_queue) {
        /// This many chats run side by side.
        "context.chatQueue.maxConcurrency" max_concurrency: u64 = 8, 1..=100_000;
        /// What a message does that arrives while its chat runs.
        "context.chatQueue.mode" mode: QueueMode = QueueMode::Steer;
        /// How long `collect` waits for more, in milliseconds.
        "context.chatQueue.debounceMs" debounce_ms: u64 = 500, 0..=WEEK_MS;
        /// This many messages may wait in one chat.
        "context.chatQueue.maxQueued" max_queued: u64 = 1000, 1..=1_000_000_000;
    }

    /// What the agent may send.
    ChatEgressSettings at (context.chat_egress) {
        /// The most calls of `chat_send` in one run.
        "context.chatEgress.chatSendMaxCallsPerRun" pub chat_send_max_calls_per_run: u64 = 10, 0..=1_000_000;
        /// Whether to send the same text only once for the same message.
        "context.chatEgress.chatSendIdempotency" pub chat_send_idempotency: bool = true;
        /// What to do with a message that may or may not have been delivered.
        "context.chatEgress.onUncertain" on_uncertain: OnUncertain = OnUncertain::Resend;
    }

    /// What an agent remembers of a chat in `memory/Primary.md`.
    MemorySettings at (context.memory) {
        /// Whether what is worth remembering is taken out of a chat before it is summarised; costs a model call.
        "context.memory.autoExtractEnabled" auto_extract_enabled: bool = false;
        /// From this many new messages on.
        "context.memory.extractMinEntries" extract_min_entries: u64 = 40, 1..=1_000_000;
        /// The memory holds at most this many characters.
        "context.memory.maxPrimaryChars" max_primary_chars: u64 = 15_000, 1..=10_000_000;
        /// Whether a memory that grew beyond that is rewritten shorter.
        "context.memory.compressOnOverflow" compress_on_overflow: bool = true;
        /// Whether the longer one is kept beside it.
        "context.memory.backupBeforeCompress" backup_before_compress: bool = true;
    }

    /// Limits of one run: everything the agent does to answer.
    RunSettings at (context.run) {
        /// The most model calls in a run.
        "context.run.maxSteps" pub max_steps: u64 = 50, 1..=1_000_000;
        /// The longest run, in milliseconds.
        "context.run.deadlineMs" pub deadline_ms: u64 = 1_800_000, 1..=WEEK_MS;
        /// The longest tool call, in milliseconds.
        "context.run.toolDeadlineMs" pub tool_deadline_ms: u64 = 120_000, 1..=WEEK_MS;
    }

    /// Limits on sizes.
    LimitSettings at (limits) {
        /// The longest message to accept, in bytes.
        "limits.messageBytes" pub message_bytes: u64 = 8_388_608, 1..=1_073_741_824;
        /// How many characters of a tool's output the model sees; the rest is stored.
        "limits.toolOutputChars" pub tool_output_chars: u64 = 12_000, 1..=1_000_000_000;
        /// The memory for what was read of all chats together, in bytes. With less, more is read again.
        "limits.cacheBytes" pub cache_bytes: u64 = 268_435_456, 0..=1_099_511_627_776;
    }

    /// Sharing a project between processes.
    LockSettings at (lock) {
        /// How long to wait for another process, in milliseconds.
        "lock.waitMs" pub wait_ms: u64 = 10_000, 0..=WEEK_MS;
    }

    /// Tools that need you: to run or to approve.
    ToolSettings at (tools) {
        /// Tools that the client runs, by name.
        "tools.client" pub client: Vec<String> = Vec::new();
        /// Tools that a person must approve each time, by name.
        "tools.approval" pub approval: Vec<String> = Vec::new();
        /// What a message does while such a call waits: the call is not made, or the message waits too.
        "tools.onUndecided" pub on_undecided: OnUndecided = OnUndecided::GoOn;
    }

    /// Skills besides those in `.claude/skills` and `.ship/skills`.
    SkillSettings at (skills) {
        /// More folders of skills, relative to the project.
        "skills.paths" pub paths: Vec<String> = Vec::new();
        /// Whether those folders may be outside the project.
        "skills.allowExternalPaths" pub allow_external_paths: bool = false;
    }

    /// The connection to Telegram.
    TelegramSettings at (adapters.telegram) {
        /// Whether `ship serve` connects to Telegram.
        "adapters.telegram.enabled" enabled: bool = false;
        /// The token that BotFather gave. Better kept in .env and written here as "${NAME}".
        "adapters.telegram.botToken" bot_token: Option<Secret> = None;
        /// Where the Bot API is, when it is not at Telegram.
        "adapters.telegram.apiRoot" api_root: Option<Address> = None;
        /// How messages come: asked for, or sent to POST /telegram/webhook.
        "adapters.telegram.mode" mode: TelegramMode = TelegramMode::Poll;
        /// What Telegram must send along with a webhook.
        "adapters.telegram.webhookSecret" webhook_secret: Option<Secret> = None;
        /// Which messages of a group the agent answers.
        "adapters.telegram.groupAccess" group_access: GroupAccess = GroupAccess::Mention;
        /// How long after an answer no new mention is needed, in milliseconds.
        "adapters.telegram.followupWindowMs" followup_window_ms: u64 = 600_000, 0..=WEEK_MS;
    }

    /// Where `ship serve` listens.
    StartSettings at (start) {
        /// The address to listen at.
        "start.host" host: String = "127.0.0.1".to_owned();
        /// The port; 0 for any that is free.
        "start.port" port: u64 = 3000, 0..=65_535;
        /// Origins of other web pages that may talk to it, such as `https://chat.example`.
        "start.allowedOrigins" allowed_origins: Vec<String> = Vec::new();
    }

    /// How chats are stored.
    StorageSettings at (storage) {
        /// A database, such as "postgres://…". Unset: files in the project's folder.
        "store" url: Option<Address> = None;
        /// What an accepted message survives: a power cut (sync), or only a killed process (flush).
        "durability" pub durability: Durability = Durability::Sync;
    }
}
