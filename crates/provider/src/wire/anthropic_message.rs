//! The messages of a request to Anthropic, in the form that is sent.

use super::anthropic_block::Block;
use ship_message::json::ObjectWriter;

/// A message in the form that is sent.
#[derive(Debug)]
pub(super) struct AnthropicMessage<'p> {
    pub(super) role: &'static str,
    pub(super) blocks: Vec<Block<'p>>,
    /// The options of system messages only.
    pub(super) clear_at: Option<&'p str>,
    pub(super) effort: Option<&'p str>,
}

impl<'p> AnthropicMessage<'p> {
    pub(super) fn new(role: &'static str, blocks: Vec<Block<'p>>) -> Self {
        Self { role, blocks, clear_at: None, effort: None }
    }

    pub(super) fn write_to(&self, out: &mut String) {
        let mut message = ObjectWriter::open(out);
        message.str("role", self.role);
        message.list("content", &self.blocks, Block::write_to);
        if let Some(clear_at) = self.clear_at {
            message.str("clear_at", clear_at);
        }
        if let Some(effort) = self.effort {
            message.object("output_config").str("effort", effort);
        }
    }
}

/// The messages of a request while they are being built.
#[derive(Debug, Default)]
pub(super) struct AnthropicMessages<'p> {
    pub(super) system: Option<Vec<Block<'p>>>,
    pub(super) messages: Vec<AnthropicMessage<'p>>,
    pub(super) betas: Vec<&'static str>,
    /// The index of the last message with a person's words.
    pub(super) last_person_message: usize,
}

impl AnthropicMessages<'_> {
    pub(super) fn require_beta(&mut self, beta: &'static str) {
        if !self.betas.contains(&beta) {
            self.betas.push(beta);
        }
    }
}
