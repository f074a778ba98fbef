//! A context for tests of tools: it stands for a chat, and belongs to none.

use std::sync::Arc;

use ship_message::json::{Json, Object};
use ship_store::ChatKey;

use super::{HostFuture, ToolContext, ToolHost};
use crate::context_tool_input::ContextToolInput;
use crate::outbound::Outbound;

impl ToolContext {
    /// Makes a context without a run, to test a tool. Its fields can be set. It has no messages, skills and other
    /// contexts; what is delivered is answered as usual, and goes nowhere.
    ///
    /// ```
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Place { city: String }
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// use ship_agent::{Json, Tool, ToolContext};
    ///
    /// let weather = Tool::new("weather", "Tells the weather.", |place: Place, context| async move {
    ///     Ok(format!("It rains in {}, {}.", place.city, context.chat))
    /// });
    /// let context = ToolContext::detached("test:ann".parse()?);
    /// let output = weather.run(Json::parse(r#"{"city":"Hamburg"}"#)?, context.clone()).await?;
    /// assert_eq!(output, Json::from("It rains in Hamburg, test:ann."));
    ///
    /// let refused = weather.run(Json::parse(r#"{"city":7}"#)?, context).await.unwrap_err();
    /// assert!(refused.contains("`city`"), "the model learns which field does not fit");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detached(chat: ChatKey) -> Self {
        Self {
            chat,
            request_id: "req_detached".to_owned(),
            run_id: "run_detached".to_owned(),
            call_id: "call_detached".to_owned(),
            view: Arc::default(),
            current_user_message: None,
            host: Arc::new(DetachedHost),
        }
    }
}

/// The host of a call that belongs to no run.
struct DetachedHost;

impl ToolHost for DetachedHost {
    fn deliver(
        &self,
        _call_id: String,
        _sending: Outbound,
    ) -> HostFuture<'_, Result<Json, String>> {
        let answer = Json::Object(Object::from([("delivered", true)]));
        Box::pin(std::future::ready(Ok(answer)))
    }

    fn skills(&self) -> HostFuture<'_, Json> {
        Box::pin(std::future::ready(Json::Array(Default::default())))
    }

    fn set_skill(&self, name: String, _loaded: bool) -> HostFuture<'_, Result<Json, String>> {
        let reason = format!("there is no skill `{name}` in a detached context");
        Box::pin(std::future::ready(Err(reason)))
    }

    fn call_context_tool(&self, _call: ContextToolInput) -> HostFuture<'_, Result<Json, String>> {
        let reason = "a detached context knows no other contexts".to_owned();
        Box::pin(std::future::ready(Err(reason)))
    }
}
