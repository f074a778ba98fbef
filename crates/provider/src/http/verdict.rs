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
    /// The answer may have at most this number of tokens.
    AnswerLimit(u64),
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
    /// The host wants another form of the same request: one of these, in the order in which they are tried.
    Form(&'static [HostForm]),
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
        if let Some(limit) = self.answer_limit() {
            return Verdict::AnswerLimit(limit);
        }
        let forms = self.wanted_forms();
        if !forms.is_empty() {
            return Verdict::Form(forms);
        }
        if let Some(verdict) = self.verdict_by_words() {
            return verdict;
        }
        match self.status {
            Some(401 | 403) => Verdict::Key,
            Some(402) => Verdict::Quota,
            // A wrong address gets the same status, so the remedy names both.
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
            "content filtering policy",
            "input was flagged",
            "responsibleaipolicy",
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

    /// Returns the number of tokens that an answer may have, if the request asked for more.
    fn answer_limit(&self) -> Option<u64> {
        // The words before and after the number.
        const SENTENCES: &[(&str, &str)] = &[
            // OpenAI, Anthropic, Groq
            ("supports at most ", " completion tokens"),
            (" > ", ", which is the maximum allowed number of output tokens"),
            ("max_tokens must be less than or equal to ", ""),
            ("max_completion_tokens must be less than or equal to ", ""),
            // DeepSeek, DashScope, Amazon
            ("range of max_tokens is [1, ", "]"),
            ("range of max_tokens should be [1, ", "]"),
            ("maximum tokens you requested exceeds the model limit of ", ""),
        ];
        if !matches!(self.status, Some(400 | 422)) {
            return None;
        }
        let message = self.message.to_ascii_lowercase().replace('`', "");
        let limit_in = |(before, after): &(&str, &str)| {
            message.match_indices(before).find_map(|(at, _)| {
                let text = &message[at + before.len()..];
                let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
                text[..end].parse().ok().filter(|_| text[end..].starts_with(after))
            })
        };
        SENTENCES.iter().find_map(limit_in).filter(|limit| *limit > 0)
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
}
