//! The texts from which a summary may take identifiers.

use ship_message::json::Json;
use ship_message::{UiMessage, UiPart};

use super::identifiers::names;

/// Everything that a model could read before it summarised: messages, system blocks, a person's instructions.
#[derive(Clone, Debug, Default)]
pub struct SourceText(String);

impl SourceText {
    /// Combines texts into one source.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.add(text));
        all
    }

    /// Adds the texts of a message, with the inputs and the outputs of its calls.
    pub fn add_message(&mut self, message: &UiMessage) {
        for part in message.parts() {
            match part {
                UiPart::Text(text) => self.add(text.text()),
                UiPart::Reasoning(reasoning) => self.add(reasoning.text()),
                UiPart::Tool(tool) => {
                    self.add_value(tool.input());
                    self.add_value(tool.output());
                    self.add(tool.error_text().unwrap_or_default());
                }
                UiPart::File(file) => {
                    self.add(file.filename().unwrap_or_default());
                    self.add(file.media_type());
                }
                UiPart::SourceUrl(_)
                | UiPart::SourceDocument(_)
                | UiPart::StepStart(_)
                | UiPart::Data(_)
                | UiPart::Unknown(_) => {}
            }
        }
    }

    fn add_value(&mut self, value: Option<&Json>) {
        match value {
            Some(Json::String(text)) => self.add(text.as_str()),
            // Each text by itself: in written JSON, the `n` of `\n` would be a letter of the next word.
            Some(Json::Array(values)) => {
                values.iter().for_each(|value| self.add_value(Some(value)))
            }
            Some(Json::Object(fields)) => fields.iter().for_each(|(name, value)| {
                self.add(name);
                self.add_value(Some(value));
            }),
            Some(value) => self.add(&value.to_string()),
            None => {}
        }
    }

    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// Whether an identifier is in one of the texts. A number may stand right before its unit, signs of emphasis
    /// around an identifier do not count, and a backslash is doubled in JSON.
    pub(super) fn has(&self, identifier: &str) -> bool {
        let bare = identifier.trim_matches(|c| "_~#=+&^".contains(c));
        let has = |text: &str| names(&self.0, text);
        has(identifier)
            || has(bare)
            || bare.contains(' ') && has(&bare.replace(' ', ""))
            || bare.contains('\\') && has(&bare.replace('\\', "\\\\"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_in_the_lines_of_a_tool_s_output_are_in_the_source() {
        let message = UiMessage::parse(
            r#"{"id":"a","role":"assistant","parts":[{"type":"tool-look","toolCallId":"c","state":"output-available",
            "input":{"path":"C:\\ship\\log.txt"},
            "output":{"files":["README.md\nsrc/main.rs\tsrc/lib.rs"],"at":{"day":"\n2026-02-05"},"size":48213}}]}"#,
        )
        .unwrap();
        let mut source = SourceText::default();
        source.add_message(&message);
        for one in
            ["README.md", "src/main.rs", "src/lib.rs", "2026-02-05", "48213", r"C:\ship\log.txt"]
        {
            assert!(source.has(one), "{one}");
        }
        assert!(!source.has("nsrc/main.rs") && !source.has("8213"));
    }
}
