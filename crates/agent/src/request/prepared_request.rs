//! The content of a request, and the request compiled from it.

use std::sync::{Arc, OnceLock};

use ship_context::compact::PrunedOutputs;
use ship_context::{SystemBlock, file_tokens_at_most, surely_fits};
use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};
use ship_provider::{ProviderError, Recipe, Request};

use super::message_counts::count_request;
use crate::blocking_work::{blocking, is_large};
use crate::chat::show_messages;
use crate::engine::{ActiveRun, Engine};
use crate::records::WrittenBody;
use crate::tokens::{OfferedTools, RequestPieces};

/// The content of a request before it is compiled.
#[derive(Clone)]
pub(crate) struct PreparedRequest {
    pub(crate) blocks: Vec<SystemBlock>,
    system: Vec<String>,
    pub(crate) shown: Vec<UiMessage>,
    pub(crate) tools: OfferedTools,
    size: OnceLock<MessagesSize>,
}

impl PreparedRequest {
    pub(crate) fn new(
        engine: &Engine,
        blocks: Vec<SystemBlock>,
        message: &[UiMessage],
        so_far: Option<&UiMessage>,
        pruned: &PrunedOutputs,
    ) -> Self {
        let limits = engine.rules.show_rules();
        Self {
            system: blocks.iter().map(|block| block.text.clone()).collect(),
            blocks,
            shown: show_messages(limits, message, so_far, pruned),
            tools: engine.offered_tools(),
            size: OnceLock::new(),
        }
    }

    /// Makes a request without the context and without tools.
    pub(crate) fn standalone(block: SystemBlock, message: UiMessage) -> Self {
        Self {
            system: vec![block.text.clone()],
            blocks: vec![block],
            shown: vec![message],
            tools: OfferedTools::default(),
            size: OnceLock::new(),
        }
    }

    /// Returns this request with one more message.
    pub(crate) fn continued(&self, message: UiMessage) -> Self {
        let mut continued = self.clone();
        continued.add_shown([message]);
        continued
    }

    /// Adds messages at the end.
    pub(crate) fn add_shown(&mut self, messages: impl IntoIterator<Item = UiMessage>) {
        self.shown.extend(messages);
        self.size = OnceLock::new();
    }

    /// Returns the size of the messages, which is measured once.
    fn size(&self) -> &MessagesSize {
        self.size.get_or_init(|| MessagesSize::of(&self.shown))
    }

    /// Whether the request is so small that it need not be counted, which takes a vocabulary. A token has at least
    /// one byte, and two in anything but noise; if a provider counts more, its refusal leads to a compaction.
    pub(crate) fn surely_fits(&self, engine: &Engine) -> bool {
        let budget = engine.budget_tokens();
        // The provider may count more than we do, for counted and uncounted requests alike.
        let budget = (budget as f64 / engine.token_meter.rate_at_least_one()) as u64;
        let system: usize = self.system.iter().map(String::len).sum();
        let tools: usize = self.tools.texts().iter().map(String::len).sum();
        let bytes = system + tools + self.size().bytes;
        // Three quarters lie between a token for every byte and one for every two: no text but noise takes more.
        surely_fits(bytes / 4 * 3, self.size().files_at_most, budget)
    }

    /// Returns the pieces that take tokens.
    pub(crate) fn pieces(&self) -> RequestPieces<'_> {
        RequestPieces { blocks: &self.blocks, messages: &self.shown, tools: &self.tools }
    }

    /// Compiles the request. The answer may be as long as `answer_max` and as the window has room for.
    pub(crate) async fn compile_within_window(
        &self,
        work: &ActiveRun,
        answer_max: u64,
    ) -> Result<CompiledRequest<'_>, ProviderError> {
        let engine = &work.locked.engine;
        let before = engine.request_cache.body(work.locked.chat.key());
        let written = self.compile(engine, answer_max, before.clone()).await?;
        let Some(window) = engine.window_tokens() else { return Ok(written) };
        let bytes = written.body.text.len();
        // A token has at least one byte, so most requests need not be counted. An unknown provider may count half as
        // many again, as in `TokenMeter::count_at_most`.
        if surely_fits(bytes + bytes / 2, answer_max, window) {
            return Ok(written);
        }
        count_request(work, self).await;
        if self.body_tokens_below(engine, bytes).saturating_add(answer_max) <= window {
            return Ok(written);
        }
        // A count that is too high must not leave the answer without any room. If the count was right, the provider
        // refuses the request, and the run makes the context smaller.
        let (meter, body) = (Arc::clone(&engine.token_meter), written.body);
        let (at_most, body) = blocking(move || (meter.count_at_most(&body.text), body)).await;
        let room = window.saturating_sub(at_most).max(window / 16).max(1);
        if room >= answer_max {
            return Ok(CompiledRequest { body, ..written });
        }
        self.compile(engine, room, before).await
    }

    /// Returns a number of tokens that a body of so many bytes does not reach, from the counts of its pieces. What is
    /// around them, such as names and the escapes of their quotes, is taken for three tokens a byte: beside its own, an
    /// escape may part two words that were one.
    fn body_tokens_below(&self, engine: &Engine, bytes: usize) -> u64 {
        let system: usize = self.system.iter().map(String::len).sum();
        let content = system + self.size().sent;
        let around = bytes.saturating_sub(content) as u64;
        let counted = engine.token_meter.count_pieces(self.pieces()).total();
        engine.token_meter.at_most(counted + 3 * around)
    }

    /// Compiles the request for an answer of at most so many tokens. The new body probably begins with `before`.
    pub(crate) async fn compile(
        &self,
        engine: &Engine,
        max_tokens: u64,
        before: Option<Arc<WrittenBody>>,
    ) -> Result<CompiledRequest<'_>, ProviderError> {
        let longest = engine.token_meter.limits().answer;
        let max_tokens = longest.map_or(max_tokens, |longest| longest.min(max_tokens));
        let recipe = engine.provider.recipe();
        let digested = move |text| WrittenBody::of(text, before.as_deref());
        let body = match is_large(self.size().bytes) {
            false => digested(recipe.body(&self.request(max_tokens))?),
            true => {
                let (prepared, recipe) = (self.clone(), recipe.clone());
                let write = move || recipe.body(&prepared.request(max_tokens)).map(digested);
                blocking(write).await?
            }
        };
        Ok(CompiledRequest { request: self.request(max_tokens), recipe, body: Arc::new(body) })
    }

    fn request(&self, max_tokens: u64) -> Request<'_> {
        Request { system: &self.system, view: &self.shown, tools: self.tools.specs(), max_tokens }
    }
}

/// A request with its recipe and its body.
pub(crate) struct CompiledRequest<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) recipe: Recipe,
    pub(crate) body: Arc<WrittenBody>,
}

/// The approximate size of all messages in a request.
#[derive(Clone, Default)]
struct MessagesSize {
    /// The bytes without files.
    bytes: usize,
    /// Those of them that every request has.
    sent: usize,
    /// The most tokens of the files, which the length of their addresses does not show.
    files_at_most: u64,
}

impl MessagesSize {
    fn of(messages: &[UiMessage]) -> Self {
        messages.iter().fold(Self::default(), |size, message| {
            let message = MessageSize::of(message);
            Self {
                bytes: size.bytes + message.sent + message.other,
                sent: size.sent + message.sent,
                files_at_most: size.files_at_most.saturating_add(message.files_at_most),
            }
        })
    }
}

/// The approximate size of a message in a request, which is kept with the message.
struct MessageSize {
    /// The bytes of texts and calls, which every request has.
    sent: usize,
    /// The bytes of all other parts but files, and of what a format adds.
    other: usize,
    /// The most tokens of the files.
    files_at_most: u64,
}

impl MessageSize {
    fn of(message: &UiMessage) -> Arc<Self> {
        message.derived(|_| true, || Self::measured(message))
    }

    fn measured(message: &UiMessage) -> Self {
        let size = |json: &Json| match json {
            Json::String(text) => text.as_str().len(),
            json => json.to_string().len(),
        };
        let mut measured = Self { sent: 0, other: PART_BYTES, files_at_most: 0 };
        for part in message.parts() {
            measured.other += PART_BYTES;
            match part {
                UiPart::Text(text) => measured.sent += text.text().len(),
                UiPart::Tool(tool) => {
                    measured.sent += tool.input().map_or(0, size)
                        + tool.output().map_or(0, size)
                        + tool.name().map_or(0, str::len);
                }
                UiPart::StepStart(_) => {}
                UiPart::File(file) => {
                    let tokens = file_tokens_at_most(file);
                    measured.files_at_most = measured.files_at_most.saturating_add(tokens);
                }
                part => measured.other += part.clone().into_json().to_string().len(),
            }
        }
        measured
    }
}

/// The bytes that a format adds to each message and part.
const PART_BYTES: usize = 32;
