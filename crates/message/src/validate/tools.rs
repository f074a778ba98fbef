//! Checks tool calls and data parts against the schemas of the caller.

use super::ValidateOptions;
use crate::json::{Json, Object};
use crate::ui::{PartFields, ToolPart, ToolState, UiPart};

/// The schema of one tool.
pub trait ToolCheck {
    /// Checks an input, and returns it as the schema reads it.
    ///
    /// # Errors
    /// Fails with the reason why the input is invalid.
    fn input(&self, input: Option<&Json>) -> Result<Option<Json>, String>;

    /// Checks an output, if the tool has a schema for it.
    ///
    /// # Errors
    /// Fails with the reason why the output is invalid.
    fn output(&self, output: Option<&Json>) -> Result<(), String>;
}

/// The existing tools, by name.
pub trait ToolChecks {
    /// Returns the tool of this name.
    fn get(&self, name: &str) -> Option<&dyn ToolCheck>;
}

/// Checks one part against the schemas of the caller; a tool part may become a dynamic one.
pub(super) fn check_with_schemas(
    part: &mut UiPart,
    options: &ValidateOptions<'_>,
) -> Result<(), String> {
    match part {
        UiPart::Data(data) => {
            let Some(schemas) = options.data else { return Ok(()) };
            let name = data.name().to_owned();
            let value = data.data().cloned().unwrap_or_default();
            let kept = schemas(&name, &value)
                .unwrap_or_else(|| Err(format!("no data schema found for data part {name}")))?;
            data.object_mut().set("data", kept);
        }
        UiPart::Tool(tool) if !tool.is_dynamic() => {
            let Some(tools) = options.tools else { return Ok(()) };
            if check_tool(tool, tools)? == ToolPartVerdict::AsDynamic {
                let object = std::mem::take(tool.object_mut());
                *tool = as_dynamic(object);
            }
        }
        UiPart::Text(_)
        | UiPart::Reasoning(_)
        | UiPart::File(_)
        | UiPart::SourceUrl(_)
        | UiPart::SourceDocument(_)
        | UiPart::StepStart(_)
        | UiPart::Tool(_)
        | UiPart::Unknown(_) => {}
    }
    Ok(())
}

/// The form in which an accepted tool part stays.
#[derive(PartialEq)]
enum ToolPartVerdict {
    AsIs,
    /// The part does not fit today's tools, but it is history, so it stays without their types.
    AsDynamic,
}

fn check_tool(part: &ToolPart, tools: &dyn ToolChecks) -> Result<ToolPartVerdict, String> {
    let name = part.name().unwrap_or_default();
    let state = part.state();
    let Some(tool) = tools.get(name) else {
        return if state.is_terminal() {
            Ok(ToolPartVerdict::AsDynamic)
        } else {
            Err(format!("no tool schema found for tool part {name}"))
        };
    };
    let mut kept = ToolPartVerdict::AsIs;
    if let Err(reason) = check_input(part, state, tool) {
        let empty = part.input().and_then(Json::as_object).is_some_and(Object::is_empty);
        if state == ToolState::OutputError || (state == ToolState::OutputAvailable && empty) {
            kept = ToolPartVerdict::AsDynamic;
        } else {
            return Err(reason);
        }
    }
    if state == ToolState::OutputAvailable {
        tool.output(part.output())?;
    }
    Ok(kept)
}

fn check_input(part: &ToolPart, state: ToolState, tool: &dyn ToolCheck) -> Result<(), String> {
    // An approval may carry the input as the model wrote it; parsing that must give the stored input.
    let original = part.field("approval").and_then(|approval| approval.get("inputSchemaInput"));
    let input = part.input();
    let failed_without_input =
        state == ToolState::OutputError && original.is_none() && input.is_none();
    let unchecked = state == ToolState::InputStreaming || failed_without_input;
    if unchecked {
        return Ok(());
    }
    let read = tool.input(original.or(input))?;
    let equal = read.as_ref() == input && !input.is_some_and(hides_constructor);
    if original.is_some() && !equal {
        return Err("the input is not what its approval was given for".to_owned());
    }
    Ok(())
}

/// Whether a value has the key `constructor`. JavaScript compares constructors first, and an object in that
/// place equals only itself.
fn hides_constructor(value: &Json) -> bool {
    let mut found = false;
    value.for_each(|value| {
        let constructor = value.get("constructor");
        found |= matches!(constructor, Some(Json::Object(_) | Json::Array(_)));
    });
    found
}

fn as_dynamic(mut object: Object) -> ToolPart {
    let kind = object.remove("type");
    let name = kind.as_ref().and_then(Json::as_str).unwrap_or_default();
    let name = name.strip_prefix("tool-").unwrap_or(name).to_owned();
    object.set("type", "dynamic-tool");
    object.set("toolName", name);
    object.set("dynamic", false);
    ToolPart::from_object(object)
}
