//! The pieces of a request, and what each of them takes.

use ship_context::SystemBlock;
use ship_message::UiMessage;
use ship_provider::ToolSpec;

use super::rough::{rough, rough_message};
use crate::records::RequestTokens;

/// What the pieces of a request weigh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestLoad {
    /// System blocks and tools.
    pub(crate) fixed: u64,
    /// Each message as it is shown, what the run has said so far included.
    pub(crate) messages: Vec<u64>,
}

impl RequestLoad {
    pub(crate) fn total(&self) -> u64 {
        self.fixed + self.messages.iter().sum::<u64>()
    }
}

/// The pieces of a request, wherever they come from.
#[derive(Clone, Copy)]
pub(crate) struct RequestPieces<'a> {
    pub(crate) blocks: &'a [SystemBlock],
    pub(crate) messages: &'a [UiMessage],
    pub(crate) tools: &'a [ToolSpec],
}

impl RequestPieces<'_> {
    /// What they take about, told without a vocabulary.
    pub(crate) fn rough(self) -> PieceTokens {
        PieceTokens {
            system: self.blocks.iter().map(|block| rough(&block.text)).collect(),
            messages: self.messages.iter().map(rough_message).collect(),
            tools: self.tools.iter().map(|tool| rough(&tool.to_json().to_string())).collect(),
        }
    }
}

/// What each piece of a request takes, as the provider will count it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PieceTokens {
    /// Each system block.
    pub system: Vec<u64>,
    /// Each message.
    pub messages: Vec<u64>,
    /// Each tool.
    pub tools: Vec<u64>,
}

impl PieceTokens {
    /// All of it.
    pub fn total(&self) -> u64 {
        let Self { system, messages, tools } = self;
        system.iter().chain(messages).chain(tools).sum()
    }

    /// The same pieces, each in its proportion, so that they add up to these sums.
    pub(crate) fn adding_up_to(&self, sums: &RequestTokens) -> Self {
        Self {
            system: spread(sums.system, &self.system),
            messages: spread(sums.messages, &self.messages),
            tools: spread(sums.tools, &self.tools),
        }
    }
}

/// Spreads a sum over pieces in their proportion. What rounding leaves goes to the pieces behind.
fn spread(sum: u64, pieces: &[u64]) -> Vec<u64> {
    let whole = pieces.iter().map(|piece| u128::from(*piece)).sum::<u128>().max(1);
    let (mut seen, mut given) = (0, 0);
    let share = |piece: &u64| {
        seen += u128::from(*piece);
        // No more than the sum, because no more was seen than the whole.
        let so_far = u64::try_from(u128::from(sum) * seen / whole).unwrap_or(sum);
        let share = so_far - given;
        given = so_far;
        share
    };
    pieces.iter().map(share).collect()
}
