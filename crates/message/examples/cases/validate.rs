//! The answer to one case of the example `validate`.

use super::options;
use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_message::{ToolCheck, ToolChecks, ValidateOptions, validate_ui_messages};

pub(crate) fn answer(case: &mut Object) -> Object {
    let given = case.get("options").cloned();
    if needs_schema(given.as_ref()) {
        return options::skip();
    }
    let tools =
        given.as_ref().and_then(|given| given.get("tools")).filter(|tools| !tools.is_null());
    let known = tools.and_then(Json::as_object).into_iter().flat_map(Object::iter);
    let known = known.filter(|(_, tool)| options::is_true(tool)).map(|(name, _)| name.to_owned());
    let has_tools = tools.is_some();
    let tools = Tools(known.collect());
    // An empty object has a few functions by birth, and those that answer anything count as schemas.
    let no_schema = |name: &str, data: &Json| {
        matches!(name, "constructor" | "isPrototypeOf" | "toString").then(|| Ok(data.clone()))
    };
    let has_data_schemas = options::is_given(given.as_ref(), "dataSchemas");
    let options = ValidateOptions {
        metadata: None,
        data: if has_data_schemas { Some(&no_schema) } else { None },
        tools: if has_tools { Some(&tools) } else { None },
    };
    let messages = case.remove("messages").unwrap_or_default();
    Object::from([("valid", validate_ui_messages(messages, &options).is_ok())])
}

/// Whether a caller's schema is asked for: of the metadata, of a data part, or of a tool. A text stands for
/// something that the caller has.
fn needs_schema(given: Option<&Json>) -> bool {
    let option = |key: &str| given.and_then(|given| given.get(key));
    let data = match option("dataSchemas") {
        Some(Json::Object(schemas)) => !schemas.is_empty(),
        Some(Json::String(name)) => !name.is_empty(),
        _ => false,
    };
    let tools = match option("tools") {
        Some(Json::Object(tools)) => tools.iter().any(|(_, tool)| has_schema(tool)),
        Some(Json::String(name)) => !name.is_empty(),
        _ => false,
    };
    options::is_given(given, "metadataSchema") || data || tools
}

fn has_schema(tool: &Json) -> bool {
    let named = tool.as_str().is_some_and(|name| !name.is_empty());
    let schema = |key| options::is_given(Some(tool), key);
    named || schema("inputSchema") || schema("outputSchema")
}

/// The names of tools without schemas: they are known, and whatever they are given fits.
struct Tools(HashSet<String>);

struct AnyTool;

impl ToolChecks for Tools {
    fn get(&self, name: &str) -> Option<&dyn ToolCheck> {
        self.0.contains(name).then_some(&AnyTool as &dyn ToolCheck)
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
