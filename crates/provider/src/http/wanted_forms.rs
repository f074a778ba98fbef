//! Finds out which form of a request a host wants, from the words in which it refuses another.

use super::answer_fault::ProviderErrorText;
use crate::HostForm;

/// The words of hosts and models that take no tools, without quotation marks.
const TAKES_NO_TOOLS: &[&str] = &[
    "does not support tool",
    "do not support tool",
    "not support function call",
    "support tool use",
    "support tool calling",
    "tools are not supported",
    "tools is not supported",
    "tool use is not supported",
    "tool calling is not supported",
    "tool calls are not supported",
    "function calling is not supported",
    "function calling is not enabled",
    "tool choice requires --enable-auto-tool-choice",
    "tools param requires",
];

/// The words of templates and hosts that do not know the role of results, without quotation marks.
const KNOWS_NO_TOOL_ROLE: &[&str] = &[
    "unknown role: tool",
    "unknown role tool",
    "invalid role: tool",
    "invalid role tool",
    "unsupported role: tool",
    "unsupported role tool",
    "tool role not supported",
    "tool role is not supported",
    "role tool is not supported",
    "only user and assistant roles are supported",
    "only user, system and assistant roles are supported",
    "only system, user and assistant roles are supported",
];

impl ProviderErrorText {
    /// Returns the forms that may cure a refusal, in the order in which they are tried. There are none for a refusal
    /// of another kind.
    pub(super) fn wanted_forms(&self) -> &'static [HostForm] {
        // A server whose template refuses a message reports its own failure (500); a router that finds no host with
        // tools says 404. The words decide. Other statuses are about the sender, or an outage.
        if !matches!(self.status, Some(400 | 404 | 422 | 500 | 501)) {
            return &[];
        }
        let says = |words: &[&str]| words.iter().any(|word| self.message_has(word));
        let has_code = |code: &str| self.marks.iter().any(|mark| mark == code);
        if self.is_about_max_tokens() {
            &[HostForm::MaxCompletionTokens]
        } else if self.param == "stream_options" || says(&["stream_options"]) {
            &[HostForm::NoStreamOptions]
        } else if self.plain_message_has(TAKES_NO_TOOLS) || self.refuses_field("tools") {
            &[HostForm::NoTools]
        } else if self.refuses_field("tool_choice") {
            // Only a request without tools has no `tool_choice` either.
            &[HostForm::NoTools]
        } else if has_code("3280") || self.is_about_call_ids() {
            &[HostForm::ShortCallIds]
        } else if has_code("3230") || says(&["after role 'tool'"]) {
            &[HostForm::AssistantAfterTool]
        } else if says(&["roles must alternate"]) {
            // Some templates pass over calls and results, and others count them as turns.
            &[HostForm::AssistantAfterTool, HostForm::NoTools]
        } else if self.knows_no_tool_role() {
            &[HostForm::NoTools]
        } else {
            &[]
        }
    }

    /// Whether the message has some words, which are in lower case.
    fn message_has(&self, words: &str) -> bool {
        self.message.to_ascii_lowercase().contains(words)
    }

    /// Whether the message has one of some words beside its quotation marks.
    fn plain_message_has(&self, words: &[&str]) -> bool {
        let plain = self.message.to_ascii_lowercase().replace(['\'', '"', '`'], "");
        words.iter().any(|words| plain.contains(words))
    }

    fn is_about_max_tokens(&self) -> bool {
        let is_unsupported = self.marks.iter().any(|mark| mark == "unsupported_parameter");
        self.refuses_field("max_tokens") || is_unsupported && self.message_has("'max_tokens'")
    }

    /// Whether the ids of calls are refused, by Mistral or by the template of its models.
    fn is_about_call_ids(&self) -> bool {
        let names = ["tool call id", "tool_call_id", "tool_call.id", "tool_calls"];
        let lengths = ["length of 9", "length 9", "9 characters"];
        names.iter().any(|name| self.message_has(name))
            && lengths.iter().any(|length| self.message_has(length))
    }

    fn knows_no_tool_role(&self) -> bool {
        let message = self.message.to_ascii_lowercase();
        let is_in_list = message.contains(".role: input should be") && !message.contains("'tool'");
        let is_param = self.param.ends_with("role") && message.contains("invalid value: 'tool'");
        is_in_list || is_param || self.plain_message_has(KNOWS_NO_TOOL_ROLE)
    }

    /// Whether the host does not take a field of the body, as OpenAI, Pydantic or LiteLLM says it.
    fn refuses_field(&self, field: &str) -> bool {
        let codes = ["unsupported_parameter", "unknown_parameter"];
        let has_code = self.marks.iter().any(|mark| codes.contains(&mark.as_str()));
        let sentences = [
            format!("unsupported parameter: '{field}'"),
            format!("unknown parameter: '{field}'"),
            format!("unrecognized request argument supplied: {field}"),
            format!("body.{field}: extra inputs are not permitted"),
        ];
        let message = self.message.to_ascii_lowercase();
        let list = message.split_once("does not support parameters: [").map(|(_, list)| list);
        let list = list.and_then(|list| list.split(']').next()).unwrap_or_default();
        has_code && self.param == field
            || sentences.iter().any(|sentence| message.contains(sentence))
            || list.contains(&format!("'{field}'"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(status: u16, body: &str) -> Vec<&'static str> {
        let error = ProviderErrorText::from_body(status, body.as_bytes());
        error.wanted_forms().iter().map(|form| form.name()).collect()
    }

    fn forms_for_words(message: &str) -> Vec<&'static str> {
        forms(400, &format!(r#"{{"error":{{"message":"{message}"}}}}"#))
    }

    #[test]
    fn a_field_that_pydantic_does_not_permit_is_left_out() {
        for (field, form) in [
            ("stream_options", "noStreamOptions"),
            ("tools", "noTools"),
            ("tool_choice", "noTools"),
            ("max_tokens", "maxCompletionTokens"),
        ] {
            let list = format!(
                r#"{{"detail":[{{"type":"extra_forbidden","loc":["body","{field}"],"msg":"Extra inputs are not permitted","input":1}}]}}"#
            );
            assert_eq!(forms(422, &list), [form], "FastAPI: {field}");
            let mistral = format!(
                r#"{{"object":"error","message":{list},"type":"invalid_request_error","param":null,"code":null}}"#
            );
            assert_eq!(forms(422, &mistral), [form], "Mistral: {field}");
        }
    }

    #[test]
    fn a_parameter_that_a_model_does_not_support_is_left_out_or_renamed() {
        let max_tokens = "litellm.BadRequestError: AzureException - Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        assert_eq!(forms_for_words(max_tokens), ["maxCompletionTokens"]);
        let tools = "Unsupported parameter: 'tools' is not supported with this model.";
        assert_eq!(forms_for_words(tools), ["noTools"]);
        let litellm = "litellm.UnsupportedParamsError: openai does not support parameters: ['temperature', 'tools'], for model=o1-mini.";
        assert_eq!(forms_for_words(litellm), ["noTools"]);
        let groq = "`tool calling` is not supported with this model";
        assert_eq!(forms_for_words(groq), ["noTools"]);
        assert!(forms_for_words("Unsupported parameter: 'temperature'").is_empty());
    }

    #[test]
    fn templates_are_understood_at_any_status_that_hosts_give_their_words() {
        for (words, wanted) in [
            ("Tool call IDs should be alphanumeric strings with length 9!", &["shortCallIds"][..]),
            (
                "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
                &["assistantAfterTool", "noTools"],
            ),
            ("Only user and assistant roles are supported!", &["noTools"]),
            ("Unknown role: 'tool'", &["noTools"]),
            ("body.messages.2.role: Input should be 'system', 'user' or 'assistant'", &["noTools"]),
            ("System role not supported", &[]),
        ] {
            for status in [400, 500] {
                let body = format!(r#"{{"error":{{"message":"{words}"}}}}"#);
                assert_eq!(forms(status, &body), wanted, "{status} {words}");
            }
        }
    }
}
