//! Remembers the forms that a host wants.
//!
//! Known forms follow from the settings or the address, and learned ones from refusals. Only learned ones are told
//! to other processes: a setting that is taken back must leave no trace. A form is learned when the host has shown
//! that it helps, by the request that tried it. So no request can take away what another has learned.

use std::sync::atomic::{AtomicU8, Ordering};

use super::api::Api;
use super::settings::HttpSettings;
use crate::{HostForm, HostForms};

/// The forms of a host.
#[derive(Debug)]
pub(super) struct FormMemory {
    api: Api,
    known: HostForms,
    /// Whether tools are sent whatever the host has said.
    wants_tools: bool,
    /// The learned forms, as bits.
    learned: AtomicU8,
}

impl FormMemory {
    pub(super) fn new(api: Api, host: &str, settings: &HttpSettings) -> Self {
        let mut known = HostForms::default();
        // OpenAI itself takes the new name for all its models; most other hosts know only the old one.
        if host == "api.openai.com" {
            known = known.with(HostForm::MaxCompletionTokens);
        }
        if settings.tools == Some(false) {
            known = known.with(HostForm::NoTools);
        }
        let wants_tools = settings.tools == Some(true);
        Self { api, known, wants_tools, learned: AtomicU8::default() }
    }

    /// Returns the forms that the host has shown to want.
    pub(super) fn learned(&self) -> HostForms {
        HostForms::from_bits(self.learned.load(Ordering::Relaxed))
    }

    /// Adds forms that the host has shown to want.
    pub(super) fn learn(&self, forms: HostForms) {
        self.learned.fetch_or(forms.bits(), Ordering::Relaxed);
    }

    /// Returns the forms of the next body.
    pub(super) fn current(&self) -> HostForms {
        let forms = self.learned().union(self.known);
        if self.wants_tools { forms.without(HostForm::NoTools) } else { forms }
    }

    /// Whether the API has a form, and the settings leave it to the host.
    fn may_try(&self, form: HostForm) -> bool {
        match form {
            HostForm::NoTools => !self.wants_tools,
            _ => self.api == Api::OpenAi,
        }
    }
}

/// The forms that one request tries after refusals.
#[derive(Debug)]
pub(super) struct FormTrial<'a> {
    memory: &'a FormMemory,
    tried: HostForms,
    /// The form of the latest body, if the host has not shown yet whether it helps.
    latest: Option<HostForm>,
}

impl<'a> FormTrial<'a> {
    pub(super) fn new(memory: &'a FormMemory) -> Self {
        Self { memory, tried: HostForms::default(), latest: None }
    }

    /// Learns that the latest form helps: the host has accepted the request, or complains of something else.
    pub(super) fn confirm(&mut self) {
        if let Some(form) = self.latest.take() {
            self.memory.learn(HostForms::default().with(form));
        }
    }

    /// Returns what `attempt` makes of the next of some forms that may cure a refusal. A form for which it makes
    /// nothing is passed over.
    pub(super) fn try_next<T, E>(
        &mut self,
        forms: &[HostForm],
        mut attempt: impl FnMut(HostForms) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if self.latest.is_some_and(|latest| forms.contains(&latest)) {
            self.latest = None;
        }
        self.confirm();
        for &form in forms {
            if self.tried.has(form) || !self.memory.may_try(form) {
                continue;
            }
            if let Some(made) = attempt(self.memory.current().with(form))? {
                self.tried = self.tried.with(form);
                self.latest = Some(form);
                return Ok(Some(made));
            }
        }
        Ok(None)
    }
}
