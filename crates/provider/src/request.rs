//! The request for a provider.

use ship_message::UiMessage;
use ship_message::json::{Json, Object};

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name: letters, digits, `_` and `-`.
    pub name: String,
    /// The purpose of the tool, and when to use it.
    pub description: String,
    /// The JSON Schema of the input.
    pub input_schema: Json,
}

impl ToolSpec {
    /// Returns the tool as JSON, as requests and `ship inspect` show it.
    pub fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("name", Json::from(self.name.as_str())),
            ("description", self.description.as_str().into()),
            ("inputSchema", self.input_schema.clone()),
        ]))
    }

    /// Reads the result of [`ToolSpec::to_json`]; `None` for anything else.
    pub fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            name: json.get("name")?.as_str()?.to_owned(),
            description: json.get("description")?.as_str()?.to_owned(),
            input_schema: json.get("inputSchema")?.clone(),
        })
    }
}

/// Everything that a model receives for one step.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The system blocks, each as its own text.
    pub system: &'a [String],
    /// The messages, oldest first.
    pub view: &'a [UiMessage],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// The number of tokens that the answer may have.
    pub max_tokens: u64,
}
