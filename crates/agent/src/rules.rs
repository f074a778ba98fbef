//! The limits and habits of an agent; the names are those of ship.json.

use std::collections::BTreeSet;
use std::time::Duration;

use ship_context::contexts::{SnapshotLimits, UtteranceLimits};

/// The limits and habits of runs; the names are those of ship.json.
#[derive(Clone, Debug)]
pub struct Rules {
    /// `context.run.maxSteps`: the number of model calls in a run.
    pub max_steps: usize,
    /// `context.run.deadlineMs`: the time that a run may work.
    pub run_deadline: Duration,
    /// `context.run.toolDeadlineMs`: the time that a tool call may take.
    pub tool_deadline: Duration,
    /// `limits.messageBytes`: the maximal length of an incoming message.
    pub message_bytes: usize,
    /// `limits.toolOutputChars`: the length to which a tool's output is cut for the model.
    pub tool_output_chars: usize,
    /// `llm.maxTokens`: the maximal length of an answer.
    pub max_tokens: u64,
    /// `llm.retries`: the number of times that a failed call is repeated.
    pub retries: u64,
    /// `context.history.archiveOnCompact`: whether the originals of a summary are kept.
    pub archive_on_compact: bool,
    /// `context.history.keepLastMessages`: the number of messages that a summary leaves.
    pub keep_last_messages: usize,
    /// `llm.window`, which overrides what the provider knows.
    pub window: Option<u64>,
    /// `context.history.maxInputTokensApprox`; `None` for `"auto"`.
    pub input_tokens_max: Option<u64>,
    /// The number of lines above which a context log is compacted, regardless of the size of requests.
    pub log_lines_max: u64,
    /// The number of bytes above which it is compacted.
    pub log_bytes_max: u64,
    /// `llm.requestIdInSystem`: whether the request id stands in the first system block.
    pub request_id_in_system: bool,
    /// `context.chatEgress.chatSendMaxCallsPerRun`: the number of `chat_send` calls in a run.
    pub chat_sends_max: usize,
    /// `context.chatEgress.chatSendIdempotency`: whether the same text is sent only once for one message.
    pub chat_send_once: bool,
    /// `context.contexts`: the rules for contexts.
    pub contexts: ContextRules,
    /// `lock.waitMs`: the time that an operation waits for another process that runs the chat.
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

/// The limits for showing and describing contexts. None of them cuts what is stored.
#[derive(Clone, Copy, Debug)]
pub struct ContextRules {
    /// Whether the model has the tools to leave a context and come back.
    pub enabled: bool,
    /// `activeMaxMessages` and `activeMaxChars`: the shown part of the active context, and of a recent one.
    pub active: UtteranceLimits,
    /// `maxTurns`, `maxChars` and `searchTextMaxChars`: the limits of an archived context's snapshot.
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
