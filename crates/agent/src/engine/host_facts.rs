//! Facts about a host, shared between processes. They are kept by provider, address and model.

use ship_message::json::{Json, Object};
use ship_provider::HostForms;
use ship_store::ChatKey;
use tokio::sync::Mutex;

use super::Engine;
use crate::run_log::{RunLogEntry, RunLogKind};
use crate::tokens::HostLimits;

/// The part, a sixteenth, by which a size or a rate must differ before it is written again: both change a little with
/// each answer.
const NOTEWORTHY: f64 = 1.0 / 16.0;

/// Knows which facts are on disk.
#[derive(Default)]
pub(crate) struct HostMemory {
    /// The facts as they were last read or written; `None` before that.
    stored: Mutex<Option<HostFacts>>,
}

/// The facts about a host.
#[derive(Clone, Debug, Default, PartialEq)]
struct HostFacts {
    limits: HostLimits,
    /// The window that the settings or the model's name gave when the limits were learned.
    configured: Option<u64>,
    /// The rate of the host's tokens to ours, as the calibration stores it.
    rate: Option<Json>,
    /// The forms that the host wants.
    forms: HostForms,
    /// Whether a person was told that the window is unknown.
    told_window: bool,
}

impl HostFacts {
    fn to_object(&self) -> Object {
        let mut facts = Object::new();
        self.limits.write_to(&mut facts);
        facts.set_or_remove("configured", self.configured.map(Json::from));
        facts.set_or_remove("rate", self.rate.clone());
        write_forms(self.forms, &mut facts);
        facts.set_or_remove("toldWindow", self.told_window.then(|| true.into()));
        facts
    }

    fn from_object(facts: &Object) -> Self {
        Self {
            limits: HostLimits::read_from(facts),
            configured: facts.get("configured").and_then(Json::as_u64),
            rate: facts.get("rate").cloned(),
            forms: facts
                .get("forms")
                .and_then(Json::as_array)
                .map(|forms| HostForms::named(forms.iter().filter_map(Json::as_str)))
                .unwrap_or_default(),
            told_window: facts.get("toldWindow").and_then(Json::as_bool) == Some(true),
        }
    }

    /// Whether other processes should know this instead of the facts that are stored.
    fn is_news_to(&self, stored: &Self) -> bool {
        let factor =
            |facts: &Self| facts.rate.as_ref().and_then(|rate| rate.get("factor")?.as_number());
        let differs = |new: f64, old: f64| (new - old).abs() > old * NOTEWORTHY;
        let sizes = |facts: &Self| HostLimits { accepted: 0, ..facts.limits };
        sizes(self) != sizes(stored)
            || (self.configured, self.forms) != (stored.configured, stored.forms)
            || self.told_window != stored.told_window
            || differs(self.limits.accepted as f64, stored.limits.accepted as f64)
            || match (factor(self), factor(stored)) {
                (Some(new), Some(old)) => differs(new, old),
                (new, old) => new.is_some() != old.is_some(),
            }
    }
}

fn write_forms(forms: HostForms, facts: &mut Object) {
    if forms != HostForms::default() {
        facts.set("forms", forms.names().map(Json::from).collect::<Vec<_>>());
    }
}

impl Engine {
    /// Reads what is known of the host, once in a process. A failure costs what was known, and is logged.
    pub(crate) async fn recall_host(&self, chat: &ChatKey) {
        let Some(host) = self.host_name() else { return };
        let mut stored = self.host_memory.stored.lock().await;
        if stored.is_some() {
            return;
        }
        let facts = match self.store.host_facts(&host).await {
            Ok(facts) => HostFacts::from_object(&facts),
            Err(error) => {
                self.log_lost_facts(chat, &error);
                HostFacts::default()
            }
        };
        // A person that changes `llm.window` knows better than an older refusal.
        if facts.configured == self.configured_window() {
            self.token_meter.adopt_limits(facts.limits);
        }
        if let Some(rate) = &facts.rate {
            let model = self.provider.model().to_owned();
            self.token_meter.merge_calibration(&Object::from([(model, rate.clone())]));
        }
        self.provider.adopt_forms(facts.forms);
        *stored = Some(facts);
    }

    /// Stores what is known of the host, if other processes should know. A person is told once that the window of the
    /// model is unknown.
    pub(crate) async fn keep_host_facts(&self, chat: &ChatKey) {
        let Some(host) = self.host_name() else { return };
        let mut stored = self.host_memory.stored.lock().await;
        let known = stored.clone().unwrap_or_default();
        let mut facts = HostFacts {
            limits: self.token_meter.limits(),
            configured: self.configured_window(),
            rate: self.token_meter.to_object().get(self.provider.model()).cloned(),
            forms: self.provider.forms(),
            told_window: known.told_window,
        };
        let is_unknown = self.window_tokens().or(self.rules.input_tokens_max).is_none();
        if is_unknown && facts.limits.accepted > 0 && !facts.told_window {
            facts.told_window = true;
            self.tell_window_is_unknown(chat);
        }
        if !facts.is_news_to(&known) {
            return;
        }
        match self.store.put_host_facts(&host, facts.to_object()).await {
            Ok(()) => *stored = Some(facts),
            Err(error) => self.log_lost_facts(chat, &error),
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

    /// Returns the name under which the host's facts are kept; `None` for a model without a host.
    fn host_name(&self) -> Option<String> {
        let provider = &self.provider;
        let address = self.project.mask(provider.address()?);
        Some(format!("{} {address} {}", provider.name(), provider.model()))
    }

    fn tell_window_is_unknown(&self, chat: &ChatKey) {
        let warning = self.project.mask(&format!(
            "it is not known how many tokens `{}` takes, so a request is compacted over {}; set `llm.window`",
            self.provider.model(),
            self.budget_tokens()
        ));
        self.budget_warnings.lock().push(warning.clone());
        self.log_warning(chat, warning);
    }

    fn log_lost_facts(&self, chat: &ChatKey, error: &dyn std::error::Error) {
        let problem = format!("what is known of the host is not kept: {error}");
        self.log_warning(chat, self.project.mask(&problem));
    }

    fn log_warning(&self, chat: &ChatKey, message: String) {
        let fields = vec![("message", Json::from(message))];
        let entry = RunLogEntry { kind: RunLogKind::Warning, fields, ..RunLogEntry::default() };
        self.log.write(chat, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(limit: Option<u64>, accepted: u64, factor: f64) -> HostFacts {
        HostFacts {
            limits: HostLimits { named: limit, accepted, ..HostLimits::default() },
            rate: Some(Object::from([("factor", factor)]).into()),
            ..HostFacts::default()
        }
    }

    #[test]
    fn facts_are_written_when_they_matter_and_read_as_they_were() {
        let stored = facts(Some(8_000), 5_000, 1.0);
        assert_eq!(HostFacts::from_object(&stored.to_object()), stored);
        assert!(
            !facts(Some(8_000), 5_300, 1.05).is_news_to(&stored),
            "each answer is a little other"
        );
        assert!(facts(Some(8_000), 5_400, 1.0).is_news_to(&stored));
        assert!(facts(Some(8_000), 5_000, 1.1).is_news_to(&stored));
        assert!(facts(None, 5_000, 1.0).is_news_to(&stored));
        let forms = HostForms::default().with(ship_provider::HostForm::NoTools);
        assert!(HostFacts { forms, ..stored.clone() }.is_news_to(&stored));
        assert!(HostFacts { told_window: true, ..stored.clone() }.is_news_to(&stored));
        assert!(stored.is_news_to(&HostFacts::default()));
    }
}
