//! Counts the tokens of a message: everything in it that is sent, once.
//!
//! The form that the model is shown counts. A call without text is not free, a picture does not cost its base64,
//! and data parts and sources are not sent. Reasoning is counted although only the model that wrote it gets it
//! back: in most chats that is the model that is asked.

use ship_message::json::Json;
use ship_message::{PartFields, ReasoningPart, Role, ToolPart, UiMessage, UiPart};

use super::Tokenizer;
use super::file::file_tokens;
use super::tokenizer::MESSAGE_TOKENS;

/// The tokens between a part and the next.
const PART_TOKENS: u64 = 3;

/// The tokens around a call and around its result, such as ids.
const CALL_TOKENS: u64 = 12;

impl Tokenizer {
    /// Counts a message in the form that [`shown_to_model`](crate::shown_to_model) gives.
    pub fn message_tokens(&self, message: &UiMessage) -> u64 {
        if message.role() == Role::Assistant && message.parts().is_empty() {
            // Such a message is not sent.
            return 0;
        }
        let parts = message.parts().iter();
        let tokens: u64 = match message.role() {
            Role::Assistant => parts.map(|part| self.assistant_part_tokens(part)).sum(),
            Role::User | Role::System | Role::Unknown => {
                parts.map(|part| self.user_part_tokens(part)).sum()
            }
        };
        MESSAGE_TOKENS + tokens
    }

    /// Counts a part of a person's message, of which only words and files are sent.
    fn user_part_tokens(&self, part: &UiPart) -> u64 {
        match part {
            UiPart::Text(text) => PART_TOKENS + self.count(text.text()),
            UiPart::File(file) => PART_TOKENS + file_tokens(self, file),
            UiPart::Reasoning(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Data(_)
            | UiPart::Tool(_)
            | UiPart::Unknown(_) => 0,
        }
    }

    fn assistant_part_tokens(&self, part: &UiPart) -> u64 {
        match part {
            UiPart::Reasoning(reasoning) => PART_TOKENS + self.reasoning_tokens(reasoning),
            UiPart::Tool(tool) => self.call_tokens(tool),
            // Every step is sent as a message of its own.
            UiPart::StepStart(_) => MESSAGE_TOKENS,
            UiPart::Text(_)
            | UiPart::File(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => self.user_part_tokens(part),
        }
    }

    /// Counts reasoning. Hidden reasoning is sent back as data of about four bytes for a token.
    fn reasoning_tokens(&self, part: &ReasoningPart) -> u64 {
        let hidden = part
            .provider_metadata()
            .and_then(|metadata| metadata.get("anthropic")?.get("redactedData")?.as_str())
            .map_or(0, |data| data.len() as u64 / 4);
        self.count(part.text()) + hidden
    }

    fn call_tokens(&self, tool: &ToolPart) -> u64 {
        let denial = tool.field("approval").and_then(|approval| approval.get("reason"));
        let texts = [tool.name(), tool.error_text(), denial.and_then(Json::as_str)];
        let values = [tool.input(), tool.output()];
        let texts: u64 = texts.into_iter().flatten().map(|text| self.count(text)).sum();
        let values: u64 = values.into_iter().flatten().map(|value| self.value_tokens(value)).sum();
        2 * CALL_TOKENS + texts + values
    }

    /// Counts a value: a text is sent as it is, any other value as JSON.
    fn value_tokens(&self, value: &Json) -> u64 {
        match value.as_str() {
            Some(text) => self.count(text),
            None => self.count(&value.stringify()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> u64 {
        Tokenizer::default().message_tokens(&UiMessage::parse(text).unwrap())
    }

    fn assistant(part: &str) -> u64 {
        tokens(&format!(r#"{{"id":"a","role":"assistant","parts":[{part}]}}"#))
    }

    #[test]
    fn a_call_without_a_word_beside_it_counts() {
        let count = |text| Tokenizer::default().count(text);
        let call = r#"{"type":"tool-shell","toolCallId":"c","state":"output-available","input":{"command":"ls -la /tmp"},"output":"total 0"}"#;
        let content = count("shell") + count(r#"{"command":"ls -la /tmp"}"#) + count("total 0");
        assert_eq!(assistant(call), MESSAGE_TOKENS + 2 * CALL_TOKENS + content);
        let failed = r#"{"type":"dynamic-tool","toolName":"shell","toolCallId":"c","state":"output-error","input":{},"errorText":"there is no such folder"}"#;
        let content = count("shell") + count("{}") + count("there is no such folder");
        assert_eq!(assistant(failed), MESSAGE_TOKENS + 2 * CALL_TOKENS + content);
    }

    #[test]
    fn thoughts_count_and_so_do_hidden_ones() {
        let plain = assistant(r#"{"type":"reasoning","text":"They want the second file."}"#);
        assert_eq!(plain, MESSAGE_TOKENS + PART_TOKENS + 6);
        let data = "A".repeat(4_000);
        let hidden = assistant(&format!(
            r#"{{"type":"reasoning","text":"","providerMetadata":{{"anthropic":{{"redactedData":"{data}"}}}}}}"#
        ));
        assert_eq!(hidden, MESSAGE_TOKENS + PART_TOKENS + 1_000);
    }

    #[test]
    fn what_is_not_sent_does_not_count() {
        for part in [
            r#"{"type":"data-chart","data":{"points":[1,2,3]}}"#,
            r#"{"type":"source-url","sourceId":"s","url":"https://example.com"}"#,
            r#"{"type":"something-new","text":"words"}"#,
            "null",
        ] {
            assert_eq!(assistant(part), MESSAGE_TOKENS, "{part}");
        }
        let metadata = r#"{"id":"u","role":"user","metadata":{"username":"ann"},"parts":[]}"#;
        assert_eq!(tokens(metadata), MESSAGE_TOKENS);
        let thought =
            r#"{"id":"u","role":"user","parts":[{"type":"reasoning","text":"of a person"}]}"#;
        assert_eq!(tokens(thought), MESSAGE_TOKENS);
    }

    #[test]
    fn a_broken_message_takes_little_and_breaks_nothing() {
        for text in ["{}", r#"{"role":"robot","parts":7}"#, r#"{"role":"user"}"#] {
            assert_eq!(tokens(text), MESSAGE_TOKENS, "{text}");
        }
    }
}
