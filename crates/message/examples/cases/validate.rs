//! The answer to one case of the example `validate`.

use super::options;
use ship_message::json::{Json, Object};
use ship_message::{ToolCheck, ToolChecks, ValidateOptions, validate_ui_messages};

pub(crate) fn answer(case: &mut Object) -> Object {
    let given = case.get("options").cloned();
    if needs_schema(given.as_ref()) {
        return options::skip();
    }
    let tools = Tools(given.as_ref().and_then(|given| given.get("tools")).cloned());
    let no_schema = |_: &str, _: &Json| None;
    let has_tools = options::is_given(given.as_ref(), "tools");
    let has_data_schemas = options::is_given(given.as_ref(), "dataSchemas");
    let options = ValidateOptions {
        metadata: None,
        data: if has_data_schemas { Some(&no_schema) } else { None },
        tools: if has_tools { Some(&tools) } else { None },
    };
    let messages = case.remove("messages").unwrap_or_default();
    Object::from([("valid", validate_ui_messages(messages, &options).is_ok())])
}

/// Whether a caller's schema is asked for: of the metadata, of a data part, or of a tool. Schemas and
/// tools that are not written out as objects are names of ones the caller has.
fn needs_schema(given: Option<&Json>) -> bool {
    let schemas = given.and_then(|given| given.get("dataSchemas"));
    let data = match schemas {
        None | Some(Json::Null) => false,
        Some(Json::Object(schemas)) => !schemas.is_empty(),
        Some(_) => true,
    };
    let tools = match given.and_then(|given| given.get("tools")) {
        None | Some(Json::Null) => false,
        Some(Json::Object(tools)) => tools.iter().any(|(_, tool)| has_schema(tool)),
        Some(_) => true,
    };
    options::is_given(given, "metadataSchema") || data || tools
}

fn has_schema(tool: &Json) -> bool {
    let written_out = matches!(tool, Json::Object(_) | Json::Null);
    let schema = |key| options::is_given(Some(tool), key);
    !written_out || schema("inputSchema") || schema("outputSchema")
}

/// Tools without schemas: they are known, and whatever they are given fits.
struct Tools(Option<Json>);

struct AnyTool;

impl ToolChecks for Tools {
    fn get(&self, name: &str) -> Option<&dyn ToolCheck> {
        let tool = self.0.as_ref()?.get(name)?;
        (!tool.is_null()).then_some(&AnyTool as &dyn ToolCheck)
    }
}

impl ToolCheck for AnyTool {
    fn input(&self, input: Option<&Json>) -> Result<Option<Json>, String> {
        Ok(input.cloned())
    }

    fn output(&self, _output: Option<&Json>) -> Result<(), String> {
        Ok(())
    }
}
