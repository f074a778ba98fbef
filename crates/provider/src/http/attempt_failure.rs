//! Explains why an attempt failed, and whether another may help.

use std::time::Duration;

use super::answer_fault::{AnswerFault, ProviderErrorText};
use super::api::Api;
use super::connection::ConnectionError;
use super::quoted_error::quote;
use super::retry::Hints;
use super::verdict::Verdict;
use crate::overflow::Overflow;
use crate::{HostForm, ProviderError};

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct AttemptFailure {
    /// The error that is reported if there is no other attempt.
    pub(crate) error: ProviderError,
    /// A short reason for notices and for an answer that broke off.
    pub(crate) reason: String,
    /// Whether another attempt is made.
    pub(crate) retry: RetryAdvice,
}

/// Says whether another attempt is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    /// Another attempt would fail too.
    No,
    /// Another attempt may succeed, but not before the time that the provider asks for.
    After(Option<Duration>),
    /// One more attempt is made: if it fails in the same way, so would others.
    Once,
    /// Another attempt is made at once, with a body in the first of these forms that makes a difference.
    Form(&'static [HostForm]),
}

/// The receiver of the request, for error messages.
pub(crate) struct RequestParty<'a> {
    pub(crate) api: Api,
    pub(crate) host: &'a str,
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a str>,
}

impl RequestParty<'_> {
    fn provider(&self) -> String {
        self.api.name().to_owned()
    }

    /// Describes a missing or interrupted answer.
    pub(crate) fn connection_failure(&self, error: ConnectionError) -> AttemptFailure {
        let host = self.host;
        let retry = RetryAdvice::After(None);
        match error {
            ConnectionError::Late(deadline, after) => {
                // The number of attempts is known when the last one has failed.
                let error = ProviderError::TimedOut {
                    provider: self.provider(),
                    host: host.to_owned(),
                    deadline,
                    after,
                    attempts: 1,
                };
                let reason = format!("no answer in time (`{}`)", deadline.setting());
                AttemptFailure { error, reason, retry }
            }
            ConnectionError::Unreachable(cause) => {
                let cause = quote(&cause, self.key);
                self.unavailable_failure(
                    format!("cannot connect to {host} (`llm.baseUrl`): {cause}"),
                    None,
                    retry,
                )
            }
            ConnectionError::Broken(cause) => {
                let cause = quote(&cause, self.key);
                self.unavailable_failure(
                    format!("the connection to {host} broke: {cause}"),
                    None,
                    retry,
                )
            }
            ConnectionError::NoClient(cause) => {
                let reason = format!("this machine cannot open connections: {cause}");
                let error =
                    ProviderError::Failed { provider: self.provider(), reason: reason.clone() };
                AttemptFailure { error, reason, retry: RetryAdvice::No }
            }
        }
    }

    /// Describes a faulty answer.
    pub(crate) fn answer_failure(&self, fault: AnswerFault) -> AttemptFailure {
        match fault {
            AnswerFault::Reported(report) => self.reported_failure(&report, Hints::default()),
            // A server with another protocol would answer in the same way again.
            AnswerFault::Protocol(received) => self.protocol_failure(received, RetryAdvice::No),
            AnswerFault::BadEvent(received) => self.protocol_failure(received, RetryAdvice::Once),
            AnswerFault::Empty => {
                self.protocol_failure("nothing at all".to_owned(), RetryAdvice::After(None))
            }
            AnswerFault::Unfinished => {
                let reason = "the answer ended before it was complete".to_owned();
                self.unavailable_failure(reason, None, RetryAdvice::After(None))
            }
        }
    }

    /// Describes an error that the provider reports.
    pub(crate) fn reported_failure(
        &self,
        report: &ProviderErrorText,
        hints: Hints,
    ) -> AttemptFailure {
        let words = self.reported_message(report);
        let verdict = report.verdict();
        let retry = match (&verdict, hints.should_retry) {
            // No wait helps against these, even if a header says so.
            (Verdict::Overflow(_) | Verdict::AnswerLimit(_) | Verdict::Quota | Verdict::Key, _) => {
                RetryAdvice::No
            }
            (Verdict::Form(forms), _) => RetryAdvice::Form(forms),
            (Verdict::Passing, None) | (_, Some(true)) => RetryAdvice::After(hints.retry_after),
            (_, None | Some(false)) => RetryAdvice::No,
        };
        let provider = self.provider();
        let error = match verdict {
            Verdict::Overflow(Overflow { prompt, completion, limit }) => {
                ProviderError::Overflow { prompt, completion, limit }
            }
            Verdict::AnswerLimit(limit) => {
                ProviderError::AnswerTooLong { provider, limit, message: words.clone() }
            }
            Verdict::Quota => ProviderError::Quota { provider, message: words.clone() },
            Verdict::Key if self.key.is_none_or(str::is_empty) => ProviderError::NoKey {
                provider,
                host: self.host.to_owned(),
                message: words.clone(),
            },
            Verdict::Key => ProviderError::Key { provider, message: words.clone() },
            Verdict::Policy => ProviderError::Policy { provider, message: words.clone() },
            Verdict::Country => ProviderError::Country { provider, message: words.clone() },
            Verdict::Model => ProviderError::Model {
                provider,
                host: self.host.to_owned(),
                model: self.model.to_owned(),
                message: words.clone(),
            },
            Verdict::Passing => return self.unavailable_failure(words, report.status, retry),
            Verdict::Failed => ProviderError::Failed { provider, reason: words.clone() },
            Verdict::OtherServer => return self.protocol_failure(words, retry),
            Verdict::Refused | Verdict::Form(_) => {
                ProviderError::Refused { provider, status: report.status, message: words.clone() }
            }
        };
        AttemptFailure { error, reason: words, retry }
    }

    /// Returns the provider's message, or at least the meaning of the status.
    fn reported_message(&self, report: &ProviderErrorText) -> String {
        let message = quote(&report.message, self.key);
        let status = report.status.and_then(|status| reqwest::StatusCode::from_u16(status).ok());
        match status {
            None if message.is_empty() => "no reason given".to_owned(),
            None => message,
            Some(status) if message.is_empty() => format!("it answered {}", status_text(status)),
            Some(status) => format!("{message} ({})", status.as_u16()),
        }
    }

    fn unavailable_failure(
        &self,
        last: String,
        status: Option<u16>,
        retry: RetryAdvice,
    ) -> AttemptFailure {
        let error = ProviderError::Unavailable {
            provider: self.provider(),
            attempts: 1,
            status,
            last: last.clone(),
        };
        AttemptFailure { error, reason: last, retry }
    }

    fn protocol_failure(&self, received: String, retry: RetryAdvice) -> AttemptFailure {
        let error = ProviderError::Protocol {
            provider: self.provider(),
            host: self.host.to_owned(),
            received: received.clone(),
        };
        AttemptFailure { error, reason: received, retry }
    }
}

impl AttemptFailure {
    /// Returns the error after this number of attempts.
    pub(crate) fn into_error(self, tried: u32) -> ProviderError {
        let mut error = self.error;
        if let ProviderError::Unavailable { attempts, .. }
        | ProviderError::TimedOut { attempts, .. } = &mut error
        {
            *attempts = tried;
        }
        error
    }
}

fn status_text(status: reqwest::StatusCode) -> String {
    // Some statuses, such as Anthropic's 529, have no standard name.
    match status.canonical_reason() {
        Some(name) => format!("{} {name}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
