//! A message on a line, for a test to compare.

use ship_context::contexts::fetched_reference;
use ship_message::json::Json;
use ship_message::{ToolPart, UiMessage, UiPart};

/// A message on a line: its words and its calls, each with whether it was done.
pub(crate) fn line(message: &UiMessage) -> String {
    line_with(message, |tool| match tool.error_text() {
        Some(_) => "refused".to_owned(),
        None => fetched_reference(tool).map_or("done".to_owned(), |text| format!("->\n{text}\n")),
    })
}

/// A message on a line: its words and its calls, each with its output.
pub(crate) fn line_with_outputs(message: &UiMessage) -> String {
    line_with(message, |tool| match tool.error_text() {
        Some(error) => error.to_owned(),
        None => tool.output().map(Json::to_string).unwrap_or_default(),
    })
}

fn line_with(message: &UiMessage, result: impl Fn(&ToolPart) -> String) -> String {
    let mut parts = Vec::new();
    for part in message.parts() {
        match part {
            UiPart::Text(text) if !text.text().starts_with("Request ID:") => {
                parts.push(text.text().to_owned());
            }
            UiPart::Tool(tool) => {
                parts.push(format!("[{} {}]", tool.name().unwrap_or_default(), result(tool)));
            }
            _ => {}
        }
    }
    format!("{}: {}", message.role().name().unwrap_or("?"), parts.join(" "))
}
