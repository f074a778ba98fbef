//! What a provider is asked.

use ship_message::UiMessage;
use ship_message::json::{Array, Json, Object};

use crate::compile;

/// A tool as a model is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// When to use it, and what it does.
    pub description: String,
    /// The JSON Schema of its input.
    pub input_schema: Json,
}

impl ToolSpec {
    /// The tool as JSON, as requests and `ship inspect` show it.
    pub fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("name", Json::from(self.name.as_str())),
            ("description", self.description.as_str().into()),
            ("inputSchema", self.input_schema.clone()),
        ]))
    }

    /// Reads what [`ToolSpec::to_json`] gives; nothing if it is something else.
    pub fn from_json(json: &Json) -> Option<Self> {
        Some(Self {
            name: json.get("name")?.as_str()?.to_owned(),
            description: json.get("description")?.as_str()?.to_owned(),
            input_schema: json.get("inputSchema")?.clone(),
        })
    }
}

/// Everything a model is given for one step.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The system blocks, each its own.
    pub system: &'a [String],
    /// What was said, oldest first.
    pub view: &'a [UiMessage],
    /// The tools it may call.
    pub tools: &'a [ToolSpec],
    /// How many tokens the answer may have.
    pub max_tokens: u64,
}

impl Request<'_> {
    /// The request in no provider's format: for a model that needs none.
    pub fn plain_body(&self) -> String {
        let mut out = String::from("{\"system\":");
        let system: Array = self.system.iter().map(|text| Json::from(text.as_str())).collect();
        Json::from(system).write_to(&mut out);
        out.push_str(",\"messages\":[");
        for (i, message) in compile::converted(self.view).iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            message.write_to(&mut out);
        }
        out.push_str("],\"tools\":");
        let tools: Array = self.tools.iter().map(ToolSpec::to_json).collect();
        Json::from(tools).write_to(&mut out);
        out.push_str(",\"maxTokens\":");
        Json::from(self.max_tokens).write_to(&mut out);
        out.push('}');
        out
    }
}
