//! The limits and habits of an agent; the names are those of ship.json.

use std::collections::BTreeSet;
use std::time::Duration;

use ship_context::ShowRules;
use ship_context::contexts::{SnapshotLimits, UtteranceLimits};
use ship_project::{ArchiveSettings, OnUndecided, RequestFacts, Settings, TokenBudget};

/// A log of more lines is compacted. No setting has it: it bounds how long it takes to open a chat.
const LOG_LINES_MAX: u64 = 20_000;

/// A log of more bytes is compacted.
const LOG_BYTES_MAX: u64 = 8_388_608;

/// Returns the part of `limits.cacheBytes` for what an agent remembers.
fn agent_share(cache_bytes: u64) -> u64 {
    cache_bytes / 16
}

/// Returns the part of `limits.cacheBytes` for search indexes.
fn search_share(cache_bytes: u64) -> u64 {
    cache_bytes / 8
}

/// Returns the part of `limits.cacheBytes` for the chats themselves: the rest.
pub(crate) fn store_share(cache_bytes: u64) -> u64 {
    cache_bytes - agent_share(cache_bytes) - search_share(cache_bytes)
}

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
    /// `llm.requestFacts`: where the request id and the time stand.
    pub request_facts: RequestFacts,
    /// `context.chatEgress.chatSendMaxCallsPerRun`: the number of `chat_send` calls in a run.
    pub chat_sends_max: usize,
    /// `context.chatEgress.chatSendIdempotency`: whether the same text is sent only once for one message.
    pub chat_send_once: bool,
    /// `context.contexts`: the rules for contexts.
    pub contexts: ContextRules,
    /// `context.recall.hint`: whether a message says how many earlier ones are about the same.
    pub recall_hint: bool,
    /// `lock.waitMs`: the time that an operation waits for another process that runs the chat.
    pub operation_wait: Duration,
    /// The part of `limits.cacheBytes` for what an agent remembers of requests, summaries and talk, and for events that
    /// wait for readers.
    pub memory_bytes: usize,
    /// The part of `limits.cacheBytes` for search indexes in memory.
    pub search_bytes: usize,
    /// `tools.approval`: tools that a person must allow.
    pub approval: BTreeSet<String>,
    /// `tools.client`: tools that run with the client.
    pub client: BTreeSet<String>,
    /// `tools.onUndecided`: the effect of a message while a call waits for a person or the client.
    pub on_undecided: OnUndecided,
}

impl Default for Rules {
    /// Returns the rules of a project that says nothing.
    fn default() -> Self {
        Self::from(&Settings::default())
    }
}

impl Rules {
    /// Returns the rules for what a model is shown.
    pub(crate) fn show_rules(&self) -> ShowRules {
        ShowRules {
            tool_output_chars: self.tool_output_chars,
            has_request_facts: self.request_facts == RequestFacts::Message,
        }
    }
}

impl From<&Settings> for Rules {
    fn from(settings: &Settings) -> Self {
        let Settings { context, limits, llm, .. } = settings;
        let run = &context.run;
        Self {
            max_steps: to_usize(run.max_steps),
            run_deadline: Duration::from_millis(run.deadline_ms),
            tool_deadline: Duration::from_millis(run.tool_deadline_ms),
            message_bytes: to_usize(limits.message_bytes),
            tool_output_chars: to_usize(limits.tool_output_chars),
            max_tokens: llm.max_tokens,
            retries: llm.retries,
            archive_on_compact: context.history.archive_on_compact,
            keep_last_messages: to_usize(context.history.keep_last_messages),
            window: llm.window,
            input_tokens_max: match context.history.max_input_tokens_approx {
                TokenBudget::Auto => None,
                TokenBudget::Tokens(tokens) => Some(tokens),
            },
            memory_bytes: to_usize(agent_share(limits.cache_bytes)),
            search_bytes: to_usize(search_share(limits.cache_bytes)),
            log_lines_max: LOG_LINES_MAX,
            log_bytes_max: LOG_BYTES_MAX,
            request_facts: llm.request_facts,
            chat_sends_max: to_usize(context.chat_egress.chat_send_max_calls_per_run),
            chat_send_once: context.chat_egress.chat_send_idempotency,
            contexts: ContextRules::from(&context.contexts),
            recall_hint: context.recall.hint,
            operation_wait: Duration::from_millis(settings.lock.wait_ms),
            approval: settings.tools.approval.iter().cloned().collect(),
            client: settings.tools.client.iter().cloned().collect(),
            on_undecided: settings.tools.on_undecided,
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

impl From<&ArchiveSettings> for ContextRules {
    fn from(settings: &ArchiveSettings) -> Self {
        Self {
            enabled: settings.enabled,
            active: UtteranceLimits {
                utterances_max: to_usize(settings.active_max_messages),
                chars_max: to_usize(settings.active_max_chars),
            },
            snapshot: SnapshotLimits {
                utterances: UtteranceLimits {
                    utterances_max: to_usize(settings.max_turns),
                    chars_max: to_usize(settings.max_chars),
                },
                search_text_chars_max: to_usize(settings.search_text_max_chars),
            },
        }
    }
}

/// Converts a setting to a number of things in memory.
pub(crate) fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_caches_are_the_setting_together() {
        for bytes in [0, 1, 15, 1_000, 268_435_456, u64::MAX] {
            let all = agent_share(bytes) + search_share(bytes) + store_share(bytes);
            assert_eq!(all, bytes);
        }
    }

    #[test]
    fn a_project_that_says_nothing_has_the_rules_that_the_documents_tell() {
        let rules = Rules::default();
        assert_eq!((rules.max_steps, rules.retries, rules.max_tokens), (50, 4, 8192));
        assert_eq!(
            [rules.run_deadline, rules.tool_deadline, rules.operation_wait],
            [1800, 120, 10].map(Duration::from_secs)
        );
        assert_eq!((rules.message_bytes, rules.tool_output_chars), (8_388_608, 12_000));
        assert_eq!((rules.memory_bytes, rules.search_bytes), (16_777_216, 33_554_432));
        assert_eq!((rules.archive_on_compact, rules.keep_last_messages), (true, 30));
        assert_eq!((rules.window, rules.input_tokens_max), (None, None));
        assert_eq!((rules.log_lines_max, rules.log_bytes_max), (20_000, 8_388_608));
        assert_eq!(rules.request_facts, RequestFacts::Message);
        assert_eq!((rules.chat_sends_max, rules.chat_send_once), (10, true));
        assert!(rules.approval.is_empty() && rules.client.is_empty());
        let ContextRules { enabled, active, snapshot } = rules.contexts;
        assert!(enabled);
        assert_eq!((active.utterances_max, active.chars_max), (80, 24_000));
        assert_eq!(
            (snapshot.utterances.utterances_max, snapshot.utterances.chars_max),
            (120, 48_000)
        );
        assert_eq!(snapshot.search_text_chars_max, 12_000);
    }
}
