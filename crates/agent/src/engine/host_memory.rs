//! The memory of a host, which all processes share.
//!
//! What another process has learned is taken over before each run and before each write. If two write at the same
//! moment, one of them is refused, reads what the other has written, and writes again.

use std::collections::HashSet;

use ship_message::json::{Json, Object};
use ship_provider::{HostForm, ProviderError};
use ship_store::{ChatKey, RecordError};
use tokio::sync::Mutex;

use super::Engine;
use super::host_facts::{HostFacts, write_forms};
use super::hosts_record::HostsRecord;
use crate::run_log::{RunLogEntry, RunLogKind};

/// The number of attempts to write facts while other processes write theirs.
const ATTEMPTS: usize = 10;

/// Knows which facts about the host are on disk.
#[derive(Default)]
pub(crate) struct HostMemory(Mutex<KnownFacts>);

/// The models of a host, by what it has shown.
#[derive(Default)]
pub(crate) struct HostModels {
    /// The models that have answered, the newest last.
    pub(crate) answered: Vec<String>,
    /// The models that it has refused as unknown.
    pub(crate) unknown: HashSet<String>,
}

#[derive(Default)]
struct KnownFacts {
    /// The facts as they were last read or written.
    stored: HostFacts,
    /// Whether the host has last refused the model as unknown; `None` before this process has heard of it.
    is_unknown: Option<bool>,
    /// Whether this process has told a person that the window is unknown.
    has_told_window: bool,
    /// Whether this process has logged that facts cannot be read or written.
    has_logged_loss: bool,
}

impl Engine {
    /// Takes over what other processes have learned of the host. A failure costs no more than that, and is logged.
    pub(crate) async fn recall_host(&self, chat: &ChatKey) {
        let Some(host) = self.host_name() else { return };
        let mut known = self.host_memory.0.lock().await;
        self.read_host_facts(&host, &mut known, chat).await;
    }

    /// Stores what is known of the host, if other processes should know. A person is told once that the window of the
    /// model is unknown.
    pub(crate) async fn keep_host_facts(&self, chat: &ChatKey) {
        let Some(host) = self.host_name() else { return };
        let mut known = self.host_memory.0.lock().await;
        self.tell_unknown_window_once(&mut known, chat);
        if !self.host_facts(&known).is_news_to(&known.stored) {
            return;
        }
        for _ in 0..ATTEMPTS {
            let Some(record) = self.read_host_facts(&host, &mut known, chat).await else { return };
            let facts = self.host_facts(&known);
            match record.put(self.store.records(), &host, facts.to_object()).await {
                // The next attempt begins with what another process has written.
                Err(RecordError::Conflict { .. }) => continue,
                Ok(()) => self.tell_lost_tools(&facts, &known, chat),
                Err(error) => {
                    self.tell_lost_tools(&facts, &known, chat);
                    return self.log_loss_once(&mut known, chat, &error);
                }
            }
            known.stored = facts;
            return;
        }
    }

    /// Tells a person that the agent has no tools, if the host has just refused them.
    fn tell_lost_tools(&self, facts: &HostFacts, known: &KnownFacts, chat: &ChatKey) {
        if facts.forms.has(HostForm::NoTools) && !known.stored.forms.has(HostForm::NoTools) {
            self.tell(chat, &format!(
                "the host accepts no tools for `{}`, so the agent has none; if that changes, delete \
                 `.ship/hosts.json`, or set `llm.tools` to true",
                self.provider.model()
            ));
        }
    }

    /// Reads the stored facts, and takes over those that another process has written since. Returns `None` if they
    /// could not be read.
    async fn read_host_facts(
        &self,
        host: &str,
        known: &mut KnownFacts,
        chat: &ChatKey,
    ) -> Option<HostsRecord> {
        let record = match HostsRecord::read(self.store.records()).await {
            Ok(record) => record,
            Err(error) => {
                self.log_loss_once(known, chat, &error);
                return None;
            }
        };
        let stored = HostFacts::from_object(&record.facts_of(host));
        // A person that changes `llm.window` knows better than an older refusal. A file that is gone says nothing.
        if stored.configured == self.configured_window() && stored != HostFacts::default() {
            self.token_meter.merge_limits(known.stored.limits, stored.limits);
        }
        if let Some(rate) = &stored.rate {
            let model = self.provider.model().to_owned();
            self.token_meter.merge_calibration(&Object::from([(model, rate.clone())]));
        }
        self.provider.adopt_forms(stored.forms);
        known.stored = stored;
        Some(record)
    }

    /// Returns the facts that this process would store.
    fn host_facts(&self, known: &KnownFacts) -> HostFacts {
        HostFacts {
            limits: self.token_meter.limits(),
            configured: self.configured_window(),
            rate: self.token_meter.to_object().get(self.provider.model()).cloned(),
            // The provider may have left out forms that its settings exclude. They are still what the host wants.
            forms: self.provider.forms().union(known.stored.forms),
            told_window: known.has_told_window || known.stored.told_window,
            is_unknown: known.is_unknown.unwrap_or(known.stored.is_unknown),
        }
    }

    /// Returns the facts about the host as `inspect` shows them; `None` for a model without a host.
    pub(crate) fn describe_host(&self) -> Option<Object> {
        let address = self.provider.address()?;
        let mut facts = Object::from([("address", self.project.mask(address))]);
        self.token_meter.limits().write_to(&mut facts);
        if self.token_meter.has_learnt() {
            facts.set("rate", self.token_meter.rate());
        }
        write_forms(self.provider.forms(), &mut facts);
        Some(facts)
    }

    /// Learns from the end of a model call whether the host has the model.
    pub(crate) async fn learn_of_model(&self, answered: Result<(), &ProviderError>) {
        let is_unknown = match answered {
            Ok(()) => false,
            Err(ProviderError::Model { .. }) => true,
            Err(_) => return,
        };
        self.host_memory.0.lock().await.is_unknown = Some(is_unknown);
    }

    /// Returns the models of which the host of this one has shown whether it has them. It is only a help: a record that
    /// cannot be read has none.
    pub(crate) async fn models_of_host(&self) -> HostModels {
        let Some(prefix) = self.host_prefix() else { return HostModels::default() };
        let record = HostsRecord::read(self.store.records()).await.unwrap_or_default();
        let mut models = HostModels::default();
        for (model, facts) in record.facts_behind(&prefix) {
            let facts = HostFacts::from_object(facts);
            if facts.is_unknown {
                models.unknown.insert(model.to_owned());
            } else if facts.limits.accepted > 0 {
                models.answered.push(model.to_owned());
            }
        }
        models
    }

    /// Returns the name under which the host's facts are kept; `None` for a model without a host.
    fn host_name(&self) -> Option<String> {
        Some(self.host_prefix()? + self.provider.model())
    }

    /// Returns the beginning that the names of all models of a host have.
    fn host_prefix(&self) -> Option<String> {
        let address = self.project.mask(self.provider.address()?);
        Some(format!("{} {address} ", self.provider.name()))
    }

    /// Tells a person before the first request that the window is unknown, as far as it is known then. The log is not
    /// written, because a chat that is only opened leaves no trace.
    pub(crate) async fn tell_unknown_window_early(&self, chat: &ChatKey) {
        self.recall_host(chat).await;
        let mut known = self.host_memory.0.lock().await;
        if self.host_name().is_some() && self.has_untold_window(&known) {
            known.has_told_window = true;
            self.budget_warnings.push(self.project.mask(&self.describe_unknown_window()));
        }
    }

    /// Tells a person that the window is unknown once a request was answered: once for all processes, or once in each
    /// if that cannot be stored.
    fn tell_unknown_window_once(&self, known: &mut KnownFacts, chat: &ChatKey) {
        if self.token_meter.limits().accepted > 0 && self.has_untold_window(known) {
            known.has_told_window = true;
            self.tell(chat, &self.describe_unknown_window());
        }
    }

    fn has_untold_window(&self, known: &KnownFacts) -> bool {
        let is_known = self.window_tokens().or(self.rules.input_tokens_max).is_some();
        !is_known && !known.has_told_window && !known.stored.told_window
    }

    fn describe_unknown_window(&self) -> String {
        format!(
            "the window of `{}` is unknown, so requests are compacted above {} tokens; set `llm.window` to change that",
            self.provider.model(),
            self.budget_tokens()
        )
    }

    /// Tells a person something about the host, and logs it.
    fn tell(&self, chat: &ChatKey, warning: &str) {
        let warning = self.project.mask(warning);
        self.budget_warnings.push(warning.clone());
        self.log_warning(chat, warning);
    }

    fn log_loss_once(&self, known: &mut KnownFacts, chat: &ChatKey, error: &dyn std::error::Error) {
        if !std::mem::replace(&mut known.has_logged_loss, true) {
            let problem = format!("cannot save what is known of the host: {error}");
            self.log_warning(chat, self.project.mask(&problem));
        }
    }

    fn log_warning(&self, chat: &ChatKey, message: String) {
        let fields = vec![("message", Json::from(message))];
        let entry = RunLogEntry { kind: RunLogKind::Warning, fields, ..RunLogEntry::default() };
        self.log.write(chat, entry);
    }
}
