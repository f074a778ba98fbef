//! Determines the meaning of an error that a provider reports: from status, type and code, and from the text only
//! where these do not suffice.

use super::answer_fault::ProviderErrorText;
use crate::HostForm;
use crate::overflow::{Overflow, overflow};

/// The meaning of an error for us.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The request is too long.
    Overflow(Overflow),
    /// The account has reached its spending limit.
    Quota,
    /// The key lacks the permission.
    Key,
    /// The model or the address does not exist.
    Model,
    /// The provider's policy refuses the content.
    Policy,
    /// The provider does not serve the country of the sender.
    Country,
    /// The host wants another form of the same request.
    Form(HostForm),
    /// The problem is temporary.
    Passing,
    /// The provider failed, and it is unknown whether the problem is temporary.
    Failed,
    /// The answer comes from another kind of server.
    OtherServer,
    /// The request would be refused again.
    Refused,
}

impl ProviderErrorText {
    /// Determines the meaning of the error.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Some(overflow) = overflow(self.status, &self.body, self.place) {
            return Verdict::Overflow(overflow);
        }
        if self.is_quota() {
            return Verdict::Quota;
        }
        if let Some(form) = self.wanted_form() {
            return Verdict::Form(form);
        }
        if let Some(verdict) = self.verdict_by_words() {
            return verdict;
        }
        match self.status {
            Some(401 | 403) => Verdict::Key,
            Some(402) => Verdict::Quota,
            Some(404) => Verdict::Model,
            // The clients of OpenAI and Anthropic try again at the same statuses.
            Some(408 | 409 | 429 | 500..) => Verdict::Passing,
            Some(300..=399) => Verdict::OtherServer,
            Some(_) => Verdict::Refused,
            None => self.verdict_by_mark(),
        }
    }

    /// Determines the meaning of refusals that share a status with others.
    fn verdict_by_words(&self) -> Option<Verdict> {
        const COUNTRY: &[&str] =
            &["unsupported_country", "territory not supported", "location is not supported"];
        const POLICY: &[&str] = &[
            "content_policy",
            "content_filter",
            "content policy",
            "content management policy",
            "responsibleaipolicy",
            "content filtering policy",
            "input was flagged",
            "safety system",
            "usage policy",
        ];
        const MODEL: &[&str] = &[
            "unsupported_model",
            "model_not_supported",
            "model_not_found",
            "model is not supported",
            "unsupported model",
        ];
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| {
            words.iter().any(|word| {
                message.contains(word) || self.marks.iter().any(|mark| mark.contains(word))
            })
        };
        match self.status {
            Some(400 | 403) if says(COUNTRY) => Some(Verdict::Country),
            None | Some(400 | 403 | 422) if says(POLICY) => Some(Verdict::Policy),
            Some(400 | 403 | 404 | 422) if says(MODEL) => Some(Verdict::Model),
            _ => None,
        }
    }

    /// Determines the meaning from the type: an error inside an answer has no status.
    fn verdict_by_mark(&self) -> Verdict {
        let has = |words: &[&str]| {
            self.marks.iter().any(|mark| words.iter().any(|word| mark.contains(word)))
        };
        if has(&["overloaded", "server_error", "api_error", "rate_limit", "timeout"])
            || has(&["unavailable", "internal", "exhausted", "conflict"])
        {
            Verdict::Passing
        } else if has(&["authentication", "permission", "invalid_api_key"]) {
            Verdict::Key
        } else if has(&["not_found"]) {
            Verdict::Model
        } else if has(&["invalid", "badrequest", "bad_request", "unsupported"]) {
            Verdict::Refused
        } else {
            Verdict::Failed
        }
    }

    fn is_quota(&self) -> bool {
        const MARKS: [&str; 4] = [
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "enforced_spend_limit_reached",
        ];
        // Anthropic reports an empty account only in the text.
        self.marks.iter().any(|mark| MARKS.contains(&mark.as_str()))
            || self.message.to_ascii_lowercase().contains("credit balance is too low")
    }

    /// Returns the form that the host wants instead of the one that it refuses, if it says.
    fn wanted_form(&self) -> Option<HostForm> {
        if !matches!(self.status, Some(400 | 404 | 422 | 500 | 501)) {
            return None;
        }
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let has_code = |code: &str| self.marks.iter().any(|mark| mark == code);
        let is_about_id = says(&["tool call id", "tool_call_id", "tool_call.id", "tool_calls"])
            && says(&["length of 9", "9 characters"]);
        if self.is_about_max_tokens() {
            Some(HostForm::MaxCompletionTokens)
        } else if self.param == "stream_options" || says(&["stream_options"]) {
            Some(HostForm::NoStreamOptions)
        } else if says(TAKES_NO_TOOLS) {
            Some(HostForm::NoTools)
        } else if has_code("3280") || is_about_id {
            Some(HostForm::ShortCallIds)
        } else if has_code("3230") || says(&["after role 'tool'", "roles must alternate"]) {
            Some(HostForm::AssistantAfterTool)
        } else {
            None
        }
    }

    fn is_about_max_tokens(&self) -> bool {
        self.status == Some(400)
            && self.marks.iter().any(|mark| mark == "unsupported_parameter")
            && (self.param == "max_tokens" || self.message.contains("'max_tokens'"))
    }
}

/// The words of hosts and models that take no tools.
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
