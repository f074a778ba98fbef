//! A tool: a function that the model can call.

mod detached;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ship_message::UiMessage;
use ship_message::json::{Json, Object, to_json};
use ship_provider::ToolSpec;
use ship_store::ChatKey;

use crate::context_tool_input::ContextToolInput;
use crate::outbound::Outbound;
use crate::tool_schema::input_schema;

/// The operations on the chat that tools may use.
pub(crate) trait ToolHost: Send + Sync {
    fn deliver(&self, call_id: String, sending: Outbound) -> HostFuture<'_, Result<Json, String>>;
    fn skills(&self) -> HostFuture<'_, Json>;
    fn set_skill(&self, name: String, loaded: bool) -> HostFuture<'_, Result<Json, String>>;
    fn call_context_tool(&self, call: ContextToolInput) -> HostFuture<'_, Result<Json, String>>;
}

pub(crate) type HostFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The future of a tool: its output, or the reason why there is none. An error is text for the model.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Json, String>> + Send>>;

/// A function that the model may call.
///
/// The function gets everything that it may know as arguments. It runs in a task of its own: a panic fails only
/// that call, and a deadline ends it.
///
/// ```
/// use ship_agent::Tool;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Place {
///     /// The name of a city.
///     city: String,
/// }
///
/// let weather = Tool::new("weather", "Tells the weather in a city.", |place: Place, _context| async move {
///     Ok(format!("It rains in {}.", place.city))
/// });
/// ```
#[derive(Clone)]
pub struct Tool {
    spec: ToolSpec,
    is_safe_to_repeat: bool,
    run: Arc<dyn Fn(Json, ToolContext) -> ToolFuture + Send + Sync>,
}

impl Tool {
    /// Makes a tool from a function. The model gets the JSON Schema of `Input`, with the doc comments of its
    /// fields. The output is anything that can be serialised.
    ///
    /// An error is text for the model, so an error of another type is turned into one:
    ///
    /// ```
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct File { path: String }
    /// # use ship_agent::Tool;
    /// let read = Tool::new("read", "Reads a file.", |file: File, _context| async move {
    ///     std::fs::read_to_string(&file.path).map_err(|error| error.to_string())
    /// });
    /// ```
    ///
    /// An input that does not fit `Input` never reaches the function: the model is told the place and the reason.
    pub fn new<Input, Output, Running>(
        name: impl Into<String>,
        description: impl Into<String>,
        run: impl Fn(Input, ToolContext) -> Running + Send + Sync + 'static,
    ) -> Self
    where
        Input: DeserializeOwned + JsonSchema,
        Output: Serialize,
        Running: Future<Output = Result<Output, String>> + Send + 'static,
    {
        Self::with_schema(name, description, input_schema::<Input>(), move |input, context| {
            match read_input(&input) {
                Ok(input) => {
                    let running = run(input, context);
                    Box::pin(async move { write_output(&running.await?) })
                }
                Err(reason) => Box::pin(std::future::ready(Err(reason))),
            }
        })
    }

    /// Makes a tool with a schema that is known only at run time. The input is passed on unchecked.
    pub fn with_schema(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Json,
        run: impl Fn(Json, ToolContext) -> ToolFuture + Send + Sync + 'static,
    ) -> Self {
        let spec = ToolSpec { name: name.into(), description: description.into(), input_schema };
        Self { spec, is_safe_to_repeat: false, run: Arc::new(run) }
    }

    /// Declares that a call may be repeated if a crash left open whether it took effect.
    #[must_use]
    pub fn safe_to_repeat(self) -> Self {
        Self { is_safe_to_repeat: true, ..self }
    }

    /// Returns the description of the tool for the model.
    pub fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// Whether a call may be repeated if a crash left open whether it took effect.
    pub fn is_safe_to_repeat(&self) -> bool {
        self.is_safe_to_repeat
    }

    /// Calls the function with an input.
    pub fn run(&self, input: Json, context: ToolContext) -> ToolFuture {
        (self.run)(input, context)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec.name).finish()
    }
}

/// Reads the input of a call. Models leave out the input of a tool without fields.
fn read_input<Input: DeserializeOwned>(input: &Json) -> Result<Input, String> {
    let empty = Json::Object(Object::default());
    let input = match input {
        Json::Object(_) => input,
        Json::Null => &empty,
        // An array would be read as the fields of `Input` in their order.
        Json::Array(_) => return Err(no_object("an array")),
        Json::String(_) => return Err(no_object("a string")),
        Json::Number(_) => return Err(no_object("a number")),
        Json::Bool(_) => return Err(no_object("a boolean")),
    };
    let value =
        Value::try_from(input).map_err(|error| format!("the input cannot be read: {error}"))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        match error.path().to_string().as_str() {
            "." => format!("the input cannot be read: {}", error.inner()),
            place => format!("the input cannot be read at `{place}`: {}", error.inner()),
        }
    })
}

fn no_object(found: &str) -> String {
    format!("the input is {found}; an object is expected")
}

fn write_output(output: &impl Serialize) -> Result<Json, String> {
    to_json(output).map_err(|error| format!("the tool's output cannot be written as JSON: {error}"))
}

/// The knowledge and the abilities of a tool. Tests make one with [`ToolContext::detached`].
#[derive(Clone)]
pub struct ToolContext {
    /// The chat in which it was called.
    pub chat: ChatKey,
    /// The request that the run answers.
    pub request_id: String,
    /// The id of the run.
    pub run_id: String,
    /// The id of the call.
    pub call_id: String,
    /// The messages, as the run sees them.
    pub view: Arc<[UiMessage]>,
    /// The index of the message that the run answers.
    pub current_user_message: Option<usize>,
    pub(crate) host: Arc<dyn ToolHost>,
}

impl ToolContext {
    /// Delivers a text to the chat. A text that this run has already delivered is not delivered again, unless
    /// the rules say so.
    ///
    /// # Errors
    /// Fails if the run has sent as often as it may, or if the ledger cannot be written.
    pub async fn deliver(&self, sending: Outbound) -> Result<Json, String> {
        self.host.deliver(self.call_id.clone(), sending).await
    }

    /// Performs a call of one of the tools for contexts.
    pub(crate) async fn call_context_tool(&self, call: ContextToolInput) -> Result<Json, String> {
        self.host.call_context_tool(call).await
    }

    /// Returns the existing skills.
    pub async fn skills(&self) -> Json {
        self.host.skills().await
    }

    /// Loads a skill into the system blocks, or unloads it.
    ///
    /// # Errors
    /// Fails if there is no such skill, or if it cannot be used.
    pub async fn set_skill(&self, name: String, loaded: bool) -> Result<Json, String> {
        self.host.set_skill(name, loaded).await
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Trip {
        city: String,
        stops: Vec<Stop>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Stop {
        days: u32,
    }

    fn read(input: &str) -> Result<Trip, String> {
        read_input(&Json::parse(input).unwrap())
    }

    #[test]
    fn an_input_that_does_not_fit_is_told_with_its_place_and_the_reason() {
        assert_eq!(
            read(r#"{"city":"Hamburg","stops":[{"days":1},{"days":"two"}]}"#).unwrap_err(),
            "the input cannot be read at `stops[1].days`: invalid type: string \"two\", expected u32"
        );
        assert_eq!(
            read(r#"{"stops":[]}"#).unwrap_err(),
            "the input cannot be read: missing field `city`"
        );
        assert_eq!(read("null").unwrap_err(), "the input cannot be read: missing field `city`");
    }

    #[test]
    fn an_input_that_is_no_object_is_refused() {
        for (input, found) in [
            (r#"["Hamburg",[]]"#, "an array"),
            (r#""x""#, "a string"),
            ("1", "a number"),
            ("true", "a boolean"),
        ] {
            let refused = read(input).unwrap_err();
            assert_eq!(refused, format!("the input is {found}; an object is expected"));
        }
    }

    #[test]
    fn an_input_that_fits_is_read() {
        let trip = Trip { city: "Hamburg".to_owned(), stops: vec![Stop { days: 1 }] };
        assert_eq!(read(r#"{"city":"Hamburg","stops":[{"days":1}],"why":"?"}"#), Ok(trip));
    }

    #[test]
    fn an_input_that_nests_too_deep_is_refused() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let refused = read(&format!(r#"{{"city":{deep}}}"#)).unwrap_err();
        assert!(refused.contains("128 levels"), "{refused}");
    }
}
