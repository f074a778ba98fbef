//! A tool: something the model can have done.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::Json;
use ship_provider::ToolSpec;
use ship_store::ChatKey;

use crate::outbound::Outbound;

/// What a tool can have done to the chat.
pub(crate) trait ToolHost: Send + Sync {
    fn deliver(&self, call_id: String, sending: Outbound) -> HostFuture<'_, Result<Json, String>>;
    fn skills(&self) -> HostFuture<'_, Json>;
    fn set_skill(&self, name: String, loaded: bool) -> HostFuture<'_, Result<Json, String>>;
    fn contexts(&self, call: ContextToolInput) -> HostFuture<'_, Result<Json, String>>;
}

pub(crate) type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool at work: its output, or why there is none. An error is information for the model.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Json, String>> + Send>>;

/// Something the model can have done.
///
/// A tool gets everything it may know as an argument. It runs in a task of its own: a panic fails that call
/// alone, and a deadline ends it.
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> ToolSpec;

    /// Whether a call may be made again when nobody knows whether it took effect.
    fn is_safe_to_repeat(&self) -> bool {
        false
    }

    /// Does it.
    fn run(self: Arc<Self>, input: Json, context: ToolContext) -> ToolFuture;
}

/// What a tool may know and do.
#[derive(Clone)]
pub struct ToolContext {
    /// The chat it was called in.
    pub chat: ChatKey,
    /// The request that the run answers.
    pub request_id: String,
    /// The run.
    pub run_id: String,
    /// The call.
    pub call_id: String,
    /// What was said, as the run sees it.
    pub view: Arc<[Arc<UiMessage>]>,
    /// Which of them is the message that the run answers.
    pub current_user_message: Option<usize>,
    pub(crate) operations: Arc<dyn ToolHost>,
}

impl ToolContext {
    /// Delivers something to the chat. What this run has delivered before is not delivered again, unless
    /// the rules say so.
    ///
    /// # Errors
    /// When the run has sent as often as it may, or the ledger cannot be written.
    pub async fn deliver(&self, sending: Outbound) -> Result<Json, String> {
        self.operations.deliver(self.call_id.clone(), sending).await
    }

    /// Does what one of the tools for contexts was called for.
    pub(crate) async fn contexts(&self, name: &'static str, input: Json) -> Result<Json, String> {
        self.operations.contexts(ContextToolInput { name, input }).await
    }

    /// Tells of the skills there are.
    pub async fn skills(&self) -> Json {
        self.operations.skills().await
    }

    /// Loads a skill into the system blocks, or lets it go.
    ///
    /// # Errors
    /// When there is no such skill, or it cannot be used.
    pub async fn set_skill(&self, name: String, loaded: bool) -> Result<Json, String> {
        self.operations.set_skill(name, loaded).await
    }
}

/// A call of one of the tools for contexts.
pub(crate) struct ContextToolInput {
    pub(crate) name: &'static str,
    pub(crate) input: Json,
}
