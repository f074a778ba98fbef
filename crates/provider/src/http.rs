//! Providers over HTTP: OpenAI's chat completions, which many hosts offer, and Anthropic's messages.
//!
//! A request is a body, sent byte for byte as it was compiled and unchanged in each attempt. The answer passes
//! through a chain of small modules, of which only the first knows the network:
//!
//! - [`connection`] sends and receives, with a deadline for every wait;
//! - [`sse`] makes events of bytes, and [`stream_reader`] tells a stream from what is none;
//! - [`openai`] and [`anthropic`] make chunks of events, writing to an [`answer_draft`];
//! - [`answer_fault`], [`verdict`] and [`attempt_failure`] tell what went wrong and whether another attempt may help,
//!   [`wanted_forms`] in which form, and [`retry`] when; [`form_memory`] remembers the forms that helped.
//!
//! Text and reasoning are passed on at once. From then on the request is not repeated, because the text would
//! be said twice; a later failure is [`ProviderError::Cut`]. Calls of tools are passed on only when the
//! answer has ended properly.
//!
//! Memory is bounded: an event has at most 16 MB, an answer 64 MB and 1024 calls, and the body of an error 64 KB.

mod answer_draft;
mod answer_fault;
mod anthropic;
mod api;
mod attempt_failure;
mod connection;
mod form_memory;
mod openai;
mod quoted_error;
mod refused_files;
mod replay;
mod retry;
mod settings;
mod sse;
mod stream_reader;
mod verdict;
mod wanted_forms;

#[cfg(test)]
mod tests;

#[doc(hidden)]
pub use replay::read_answer;
pub use retry::{Pace, SystemPace};
pub use settings::{ApiKey, HttpSettings};

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ship_message::Chunk;
use ship_message::json::{Json, Object};

use self::answer_draft::Origin;
use self::answer_fault::ProviderErrorText;
use self::api::Api;
use self::attempt_failure::{AttemptFailure, RequestParty, RetryAdvice};
use self::connection::Connection;
use self::form_memory::{FormMemory, FormTrial};
use self::refused_files::is_about_files;
use self::retry::{Attempts, Hints, RetryDecision};
use self::stream_reader::AnswerReceiver;
use crate::wire::{Format, MaxTokensField};
use crate::{
    AnswerEnd, AnswerFuture, ChunkSink, HostForm, HostForms, Provider, ProviderError, Recipe,
    Request, ResentSink, SendFiles, ToolNames,
};

/// The wait above which the person is told.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(1);

/// Returns a body in these forms in the place of a refused one, or `None` if it would be the same.
type Recompile<'a> =
    dyn FnMut(HostForms, &str) -> Result<Option<String>, ProviderError> + Send + 'a;

/// A provider that is asked over HTTP.
pub struct HttpProvider {
    api: Api,
    settings: HttpSettings,
    connection: Connection,
    host: String,
    /// The address of the API without anything secret.
    address: String,
    pace: Arc<dyn Pace>,
    forms: FormMemory,
}

impl HttpProvider {
    /// Makes a client for OpenAI, or another host with its chat completions. It does not connect yet.
    ///
    /// # Errors
    /// Fails if the base URL or the key cannot be used.
    pub fn openai(settings: HttpSettings) -> Result<Self, ProviderError> {
        Self::new(Api::OpenAi, settings)
    }

    /// Makes a client for Anthropic, or another host with its messages. It does not connect yet.
    ///
    /// # Errors
    /// Fails if the base URL or the key cannot be used.
    pub fn anthropic(settings: HttpSettings) -> Result<Self, ProviderError> {
        Self::new(Api::Anthropic, settings)
    }

    fn new(api: Api, settings: HttpSettings) -> Result<Self, ProviderError> {
        let url = api.endpoint(&settings.base_url)?;
        let address = api::public_address(&url);
        let headers = api.headers(settings.key.as_ref())?;
        let connection = Connection::new(url, headers, &settings);
        let host = connection.host();
        let pace = Arc::new(SystemPace::new());
        let forms = FormMemory::new(api, &host, &settings);
        Ok(Self { api, settings, connection, host, address, pace, forms })
    }

    /// Replaces the source of time and randomness, for tests.
    #[must_use]
    pub fn with_pace(self, pace: Arc<dyn Pace>) -> Self {
        Self { pace, ..self }
    }

    /// Returns the settings of the client.
    pub fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// Sends a compiled body, and passes the chunks of the answer to `sink`.
    ///
    /// A temporary failure is retried as long as only notices were passed on: a transient `data-notice` before each
    /// wait of more than a second. Dropping the future closes the connection.
    ///
    /// # Errors
    /// Fails if there is no answer, or only a part of it. Then no tool was called.
    pub async fn ask(
        &self,
        body: &str,
        sink: &mut (dyn FnMut(Chunk) + Send),
    ) -> Result<AnswerEnd, ProviderError> {
        self.ask_or_recompile(body, sink, &mut |_, _| Ok(None)).await
    }

    /// Does the same as [`Self::ask`]. If the host refuses the form of the body, `recompile` gives another body.
    async fn ask_or_recompile(
        &self,
        body: &str,
        sink: &mut (dyn FnMut(Chunk) + Send),
        recompile: &mut Recompile<'_>,
    ) -> Result<AnswerEnd, ProviderError> {
        let mut attempts =
            Attempts::new(&*self.pace, self.settings.retries, self.settings.retry_budget);
        let mut has_given = false;
        let mut had_bad_event = false;
        let mut body = Cow::Borrowed(body);
        let mut trial = FormTrial::new(&self.forms);
        loop {
            let mut given = |chunk| {
                has_given = true;
                sink(chunk);
            };
            let failure = match self.attempt(&body, &mut given).await {
                Ok(answered) => {
                    trial.confirm();
                    return Ok(answered);
                }
                Err(failure) => failure,
            };
            if has_given {
                // A host that begins to answer has accepted the form.
                trial.confirm();
                let provider = self.api.name().to_owned();
                return Err(ProviderError::Cut { provider, reason: failure.reason });
            }
            let retry = match failure.retry {
                RetryAdvice::Once if std::mem::replace(&mut had_bad_event, true) => RetryAdvice::No,
                RetryAdvice::Once => RetryAdvice::After(None),
                ref retry => retry.clone(),
            };
            match retry {
                RetryAdvice::No | RetryAdvice::Once => {
                    if is_of_another_kind(&failure.error) {
                        trial.confirm();
                    }
                    return Err(failure.into_error(attempts.failures + 1));
                }
                RetryAdvice::Form(forms) => {
                    match trial.try_next(forms, |forms| recompile(forms, &body))? {
                        Some(other) => body = Cow::Owned(other),
                        None => return Err(failure.error),
                    }
                }
                RetryAdvice::After(retry_after) => {
                    self.wait(&mut attempts, retry_after, failure, sink).await?
                }
            }
        }
    }

    /// Makes one attempt, up to the end of the answer.
    async fn attempt(
        &self,
        body: &str,
        sink: &mut (dyn FnMut(Chunk) + Send),
    ) -> Result<AnswerEnd, AttemptFailure> {
        let party = self.request_party();
        let trouble = |trouble| party.connection_failure(trouble);
        let mut incoming = self.connection.post(body.to_owned()).await.map_err(trouble)?;
        if !incoming.status().is_success() {
            let status = incoming.status().as_u16();
            let hints = Hints::read(incoming.headers());
            let body = incoming.error_body().await;
            return Err(party.reported_failure(&ProviderErrorText::from_body(status, &body), hints));
        }
        let mut receiver = AnswerReceiver::new(self.api.reader(self.origin()));
        let mut chunks = Vec::new();
        loop {
            let taken = match incoming.next().await {
                Ok(Some(piece)) => {
                    let progress = receiver.progress();
                    let taken = receiver.push(piece.as_ref(), &mut chunks);
                    if receiver.progress() != progress {
                        incoming.note_progress();
                    }
                    taken
                }
                Ok(None) => receiver.end(&mut chunks).map(Some),
                Err(cause) => match receiver.end_broken(&mut chunks) {
                    Some(answered) => Ok(Some(answered)),
                    None => return Err(trouble(cause)),
                },
            };
            // The chunks before a fault were part of the answer too.
            chunks.drain(..).for_each(&mut *sink);
            if let Some(answered) = taken.map_err(|fault| party.answer_failure(fault))? {
                return Ok(answered);
            }
        }
    }

    /// Waits before the next attempt, if there is one, and reports the wait.
    async fn wait(
        &self,
        attempts: &mut Attempts<'_>,
        retry_after: Option<Duration>,
        failure: AttemptFailure,
        sink: &mut (dyn FnMut(Chunk) + Send),
    ) -> Result<(), ProviderError> {
        match attempts.after_failure(retry_after) {
            RetryDecision::GiveUp => Err(failure.into_error(attempts.failures)),
            RetryDecision::TooLong(retry_after) => {
                let provider = self.api.name().to_owned();
                Err(ProviderError::TooLongToWait {
                    provider,
                    wait: retry_after,
                    message: failure.reason,
                })
            }
            RetryDecision::Wait(wait) => {
                if wait > QUIET_WAIT_MAX {
                    sink(wait_notice(wait, attempts.failures, &failure));
                }
                self.pace.wait(wait).await;
                Ok(())
            }
        }
    }

    /// Returns the recipe of a body in these forms.
    fn recipe_in(&self, forms: HostForms) -> Recipe {
        Recipe {
            format: Some(match self.api {
                Api::OpenAi => Format::OpenAi,
                Api::Anthropic => Format::Anthropic,
            }),
            max_tokens_field: match forms.has(HostForm::MaxCompletionTokens) {
                true => MaxTokensField::MaxCompletionTokens,
                false => MaxTokensField::MaxTokens,
            },
            forms: forms.without(HostForm::MaxCompletionTokens),
            temperature: self.settings.temperature,
            cache_marks: true,
            ..Recipe::plain(self.api.name(), &self.settings.model)
        }
    }

    fn origin(&self) -> Origin {
        let provider = self.api.name();
        Origin { provider, model: self.settings.model.clone(), serial: self.pace.random() }
    }

    fn request_party(&self) -> RequestParty<'_> {
        RequestParty {
            api: self.api,
            host: &self.host,
            model: &self.settings.model,
            key: self.settings.key.as_ref().map(ApiKey::secret),
        }
    }
}

impl Provider for HttpProvider {
    fn name(&self) -> &str {
        self.api.name()
    }

    fn model(&self) -> &str {
        &self.settings.model
    }

    fn address(&self) -> Option<&str> {
        Some(&self.address)
    }

    fn window_tokens(&self) -> Option<u64> {
        self.settings.window
    }

    fn forms(&self) -> HostForms {
        self.forms.learned()
    }

    fn adopt_forms(&self, forms: HostForms) {
        self.forms.learn(forms);
    }

    fn recipe(&self) -> Recipe {
        self.recipe_in(self.forms.current())
    }

    fn answer<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
    ) -> AnswerFuture<'a> {
        self.answer_or_resend(request, body, sink, Box::new(|_, _| ()))
    }

    fn answer_or_resend<'a>(
        &'a self,
        request: &'a Request<'_>,
        body: &'a str,
        sink: ChunkSink<'a>,
        mut resent: ResentSink<'a>,
    ) -> AnswerFuture<'a> {
        let names = ToolNames::of(request.tools);
        let mut sink = with_own_names(names, sink);
        Box::pin(async move {
            let mut recompile = |forms, refused: &str| {
                let recipe = self.recipe_in(forms);
                Ok(compile_without_refused(&recipe, request, refused)?
                    .inspect(|body| resent(recipe, body)))
            };
            let error = match self.ask_or_recompile(body, &mut *sink, &mut recompile).await {
                Ok(answered) => return Ok(answered),
                Err(error) => error,
            };
            if !is_about_files(&error) {
                return Err(error);
            }
            // A single file that the model refuses would stop the chat for good.
            let without_files = |forms| Recipe { files: SendFiles::No, ..self.recipe_in(forms) };
            // The recipe may have changed since the first body, so that one is no measure.
            let with_files = self.recipe().body(request)?;
            let recipe = without_files(self.forms.current());
            let Some(plain) = compile_without_refused(&recipe, request, &with_files)? else {
                return Err(error);
            };
            resent(recipe, &plain);
            let mut recompile = |forms, refused: &str| {
                let recipe = without_files(forms);
                Ok(compile_without_refused(&recipe, request, refused)?
                    .inspect(|body| resent(recipe, body)))
            };
            self.ask_or_recompile(&plain, &mut *sink, &mut recompile).await
        })
    }
}

/// Writes another body in the place of a refused one; `None` if it would be the same.
fn compile_without_refused(
    recipe: &Recipe,
    request: &Request<'_>,
    refused: &str,
) -> Result<Option<String>, ProviderError> {
    Ok(Some(recipe.body(request)?).filter(|body| body != refused))
}

/// Whether a refusal has a reason that the form of a request has nothing to do with, so that the form was accepted.
fn is_of_another_kind(error: &ProviderError) -> bool {
    let is_other = matches!(
        error,
        ProviderError::Overflow { .. }
            | ProviderError::AnswerTooLong { .. }
            | ProviderError::NoKey { .. }
            | ProviderError::Key { .. }
            | ProviderError::Quota { .. }
            | ProviderError::Policy { .. }
            | ProviderError::Country { .. }
    );
    is_other || is_about_files(error)
}

/// Gives calls the names that the tools have here.
fn with_own_names<'a>(names: ToolNames, mut sink: ChunkSink<'a>) -> ChunkSink<'a> {
    Box::new(move |mut chunk| {
        if let Chunk::ToolInputAvailable { tool_name, .. }
        | Chunk::ToolInputError { tool_name, .. } = &mut chunk
        {
            let own = names.own_name(tool_name).to_owned();
            *tool_name = own;
        }
        sink(chunk);
    })
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("api", &self.api)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Makes a notice of a wait. It is shown and not stored.
fn wait_notice(wait: Duration, attempt: u32, failure: &AttemptFailure) -> Chunk {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let seconds = wait.as_secs_f64().ceil();
    let text = format!("retrying in {seconds} s ({})", failure.error.short_reason());
    let data = Object::from([
        ("kind", Json::from("retry")),
        ("waitMs", millis.into()),
        ("attempt", u64::from(attempt).into()),
        ("reason", failure.reason.as_str().into()),
        ("text", text.into()),
    ]);
    Chunk::Data(Object::from([
        ("type", Json::from("data-notice")),
        ("data", data.into()),
        ("transient", true.into()),
    ]))
}
