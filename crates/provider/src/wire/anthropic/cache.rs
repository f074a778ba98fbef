//! Sets marks: Anthropic caches everything up to a marked block for the next request.
//!
//! At most four are allowed. Either messages bring their own in `providerOptions`, and the first four count; or we
//! set them where they help a growing conversation: after the tools, after the system prompt, after the last
//! message, and after the user message before that, where the previous request had its last one.

use ship_message::json::Json;

use super::super::anthropic_block::{Block, Cache};
use super::super::anthropic_message::AnthropicMessages;
use super::super::json_text::is_true;
use super::super::provider_options::ANTHROPIC;

// Anthropic refuses a request with more.
const MARKS_MAX: usize = 4;

/// The marks that messages bring.
pub(super) struct CacheControl {
    marks: usize,
    is_ignored: bool,
}

impl CacheControl {
    /// Accepts the marks of messages, or ignores them because we set our own.
    pub(super) fn new(ignored: bool) -> Self {
        Self { marks: 0, is_ignored: ignored }
    }

    /// Returns the mark that options ask for. A fifth mark is dropped, but counted.
    pub(super) fn mark_from<'p>(&mut self, options: Option<&'p Json>) -> Option<Cache<'p>> {
        let options = options?.get(ANTHROPIC)?;
        let named = |key: &str| options.get(key).filter(|value| !value.is_null());
        let mark = named("cacheControl").or_else(|| named("cache_control"))?;
        if self.is_ignored || !is_true(mark) {
            return None;
        }
        self.marks += 1;
        (self.marks <= MARKS_MAX).then_some(Cache::Given(mark))
    }
}

/// Sets our marks, except the one after the tools.
pub(super) fn set_marks(conversation: &mut AnthropicMessages<'_>) {
    if let Some(system) = &mut conversation.system {
        mark_last(system);
    }
    let Some((last, before)) = conversation.messages.split_last_mut() else { return };
    mark_last(&mut last.blocks);
    if let Some(user) = before.iter_mut().rev().find(|message| message.role == "user") {
        mark_last(&mut user.blocks);
    }
}

fn mark_last(blocks: &mut [Block<'_>]) {
    if let Some(block) = blocks.iter_mut().rev().find(|block| block.may_be_marked()) {
        block.cache = Some(Cache::Mark);
    }
}
