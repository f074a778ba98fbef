//! The room for waiting messages in a request: half of what the system and the tools leave. The other half is for the
//! messages before them and for the work on the answer.
//!
//! The messages are counted as the compiled request will be. Counting takes a vocabulary, so a single message is not
//! counted, and neither are a few short ones.

use std::cell::LazyCell;

use ship_context::{SystemBlock, file_tokens_at_most, shown_to_model};
use ship_message::{UiMessage, UiPart};
use ship_store::{LedgerBody, LedgerLine};

use crate::blocking_work::in_place_if;
use crate::engine::Engine;
use crate::inbound::promoted_message;
use crate::tokens::{OfferedTools, RequestPieces};

/// The most tokens around a message, a block or a tool, which a format adds to its text.
const MARGIN: u64 = 32;

/// The room for waiting messages, and the messages that were taken in so far.
pub(crate) struct InputRoom<'a> {
    engine: &'a Engine,
    fixed: LazyCell<FixedPart, ReadFixedPart<'a>>,
    is_begun: bool,
    /// The most tokens of the messages, from their bytes.
    tokens_at_most: u64,
    /// The tokens of the counted messages.
    tokens: u64,
    uncounted: Vec<UiMessage>,
    /// The room in tokens, once it was needed.
    room: Option<u64>,
}

/// Reads the fixed part of a request when a second message waits: it is in files.
type ReadFixedPart<'a> = Box<dyn FnOnce() -> FixedPart + Send + 'a>;

/// The part of a request that is there without any message.
struct FixedPart {
    blocks: Vec<SystemBlock>,
    tools: OfferedTools,
    /// The room that is left for certain, without counting.
    room_at_least: u64,
}

impl<'a> InputRoom<'a> {
    /// Finds the room beside these system blocks.
    pub(crate) fn new(
        engine: &'a Engine,
        read_blocks: impl FnOnce() -> Vec<SystemBlock> + Send + 'a,
    ) -> Self {
        let fixed: ReadFixedPart<'a> = Box::new(|| FixedPart::new(engine, read_blocks()));
        Self {
            engine,
            fixed: LazyCell::new(fixed),
            is_begun: false,
            tokens_at_most: 0,
            tokens: 0,
            uncounted: Vec::new(),
            room: None,
        }
    }

    /// Takes in the message of a ledger line if there is room for it. The first one always has room, because
    /// otherwise no run would ever take it in.
    pub(crate) fn take(&mut self, line: &LedgerLine) -> bool {
        let LedgerBody::Entry(entry) = &line.body else { return true };
        let limits = self.engine.rules.show_rules();
        let shown = shown_to_model(&[promoted_message(entry, String::new(), None)], limits);
        self.tokens_at_most += shown.iter().map(tokens_at_most).sum::<u64>() + MARGIN;
        self.uncounted.extend(shown);
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        is_first || self.tokens_at_most <= self.fixed.room_at_least || self.fits_by_count()
    }

    fn fits_by_count(&mut self) -> bool {
        let meter = &self.engine.token_meter;
        let uncounted = std::mem::take(&mut self.uncounted);
        let count = || uncounted.iter().map(|message| meter.message_tokens(message)).sum::<u64>();
        self.tokens += in_place_if(uncounted.len() > 1, count);
        let room = self.room.get_or_insert_with(|| {
            let FixedPart { blocks, tools, .. } = &*self.fixed;
            self.engine.input_room(RequestPieces { blocks, messages: &[], tools })
        });
        self.tokens <= *room
    }
}

/// Returns the most tokens that a message can cost, without counting.
fn tokens_at_most(message: &UiMessage) -> u64 {
    let files = message.parts().iter().map(|part| match part {
        UiPart::File(file) => file_tokens_at_most(file) + MARGIN,
        _ => 0,
    });
    message.text().len() as u64 + files.sum::<u64>()
}

impl FixedPart {
    fn new(engine: &Engine, blocks: Vec<SystemBlock>) -> Self {
        let tools = engine.offered_tools();
        let texts = blocks.iter().map(|block| block.text.len());
        let schemas = tools.texts().iter().map(String::len);
        let tokens_at_most: u64 = texts.chain(schemas).map(|bytes| bytes as u64 + MARGIN).sum();
        let limits = engine.token_limits(false);
        let budget = limits.largest_request().map_or(limits.tokens, |it| it.min(limits.tokens));
        // The provider may count more than we do.
        let budget = (budget as f64 / engine.token_meter.rate_at_least_one()) as u64;
        Self { blocks, tools, room_at_least: budget.saturating_sub(tokens_at_most) / 2 }
    }
}
