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
