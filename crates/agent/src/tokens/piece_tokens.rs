//! The pieces of a request and their tokens.

use ship_context::SystemBlock;
use ship_message::UiMessage;

use super::offered_tools::OfferedTools;
use super::rough::{rough_message_tokens, rough_tokens};
use crate::records::RequestTokens;

/// The tokens of a request: the fixed part and each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestLoad {
    /// The tokens of system blocks and tools.
    pub(crate) fixed: u64,
    /// The tokens of each message as it is shown, including the run's own so far.
    pub(crate) messages: Vec<u64>,
}

impl RequestLoad {
    pub(crate) fn total(&self) -> u64 {
        self.fixed + self.messages.iter().sum::<u64>()
    }
}

/// The pieces of a request, from any source.
#[derive(Clone, Copy)]
pub(crate) struct RequestPieces<'a> {
    pub(crate) blocks: &'a [SystemBlock],
    pub(crate) messages: &'a [UiMessage],
    pub(crate) tools: &'a OfferedTools,
}

impl RequestPieces<'_> {
    /// Returns their approximate tokens, counted without a vocabulary.
    pub(crate) fn rough_tokens(self) -> PieceTokens {
        PieceTokens {
            system: self.blocks.iter().map(|block| rough_tokens(&block.text)).collect(),
            messages: self.messages.iter().map(rough_message_tokens).collect(),
            tools: self.tools.texts().iter().map(|tool| rough_tokens(tool)).collect(),
        }
    }
}

/// The tokens of each piece of a request, as the provider will count them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PieceTokens {
    /// The tokens of each system block.
    pub system: Vec<u64>,
    /// The tokens of each message.
    pub messages: Vec<u64>,
    /// The tokens of each tool.
    pub tools: Vec<u64>,
}

impl PieceTokens {
    /// Returns the sum of all tokens.
    pub fn total(&self) -> u64 {
        let Self { system, messages, tools } = self;
        system.iter().chain(messages).chain(tools).sum()
    }

    /// Returns the same pieces scaled so that they add up to these sums.
    pub(crate) fn scale_to(&self, sums: &RequestTokens) -> Self {
        Self {
            system: divide_sum(sums.system, &self.system),
            messages: divide_sum(sums.messages, &self.messages),
            tools: divide_sum(sums.tools, &self.tools),
        }
    }
}

/// Divides a sum among pieces in proportion. The remainder of rounding goes to later pieces.
fn divide_sum(sum: u64, pieces: &[u64]) -> Vec<u64> {
    let whole = pieces.iter().map(|piece| u128::from(*piece)).sum::<u128>().max(1);
    let (mut seen, mut given) = (0, 0);
    let share = |piece: &u64| {
        seen += u128::from(*piece);
        // This is at most the sum, because at most the whole was seen.
        let so_far = u64::try_from(u128::from(sum) * seen / whole).unwrap_or(sum);
        let share = so_far - given;
        given = so_far;
        share
    };
    pieces.iter().map(share).collect()
}
