//! The facts about a host, as they are kept by provider, address and model.

use ship_message::json::{Json, Object};
use ship_provider::HostForms;

use crate::tokens::HostLimits;

/// The part, a sixteenth, by which a size or a rate must differ before it is written again: both change a little
/// with each answer.
const NOTEWORTHY: f64 = 1.0 / 16.0;

/// The facts about a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HostFacts {
    pub(super) limits: HostLimits,
    /// The window that the settings or the model's name gave when the limits were learned.
    pub(super) configured: Option<u64>,
    /// The rate of the host's tokens to ours, as the calibration stores it.
    pub(super) rate: Option<Json>,
    /// The forms that the host wants.
    pub(super) forms: HostForms,
    /// Whether a person was told that the window is unknown.
    pub(super) told_window: bool,
    /// Whether the host has refused the model as unknown, and has not answered since.
    pub(super) is_unknown: bool,
}

impl HostFacts {
    pub(super) fn to_object(&self) -> Object {
        let mut facts = Object::new();
        self.limits.write_to(&mut facts);
        facts.set_or_remove("configured", self.configured.map(Json::from));
        facts.set_or_remove("rate", self.rate.clone());
        write_forms(self.forms, &mut facts);
        facts.set_or_remove("toldWindow", self.told_window.then(|| true.into()));
        facts.set_or_remove("unknownModel", self.is_unknown.then(|| true.into()));
        facts
    }

    pub(super) fn from_object(facts: &Object) -> Self {
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
            is_unknown: facts.get("unknownModel").and_then(Json::as_bool) == Some(true),
        }
    }

    /// Whether other processes should know this instead of the facts that are stored.
    pub(super) fn is_news_to(&self, stored: &Self) -> bool {
        let factor =
            |facts: &Self| facts.rate.as_ref().and_then(|rate| rate.get("factor")?.as_number());
        let differs = |new: f64, old: f64| (new - old).abs() > old * NOTEWORTHY;
        let sizes = |facts: &Self| HostLimits { accepted: 0, ..facts.limits };
        sizes(self) != sizes(stored)
            || (self.configured, self.forms) != (stored.configured, stored.forms)
            || self.told_window != stored.told_window
            || self.is_unknown != stored.is_unknown
            || differs(self.limits.accepted as f64, stored.limits.accepted as f64)
            || match (factor(self), factor(stored)) {
                (Some(new), Some(old)) => differs(new, old),
                (new, old) => new.is_some() != old.is_some(),
            }
    }
}

pub(super) fn write_forms(forms: HostForms, facts: &mut Object) {
    if forms != HostForms::default() {
        facts.set("forms", forms.names().map(Json::from).collect::<Vec<_>>());
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
        let unknown = HostFacts { is_unknown: true, ..stored.clone() };
        assert!(unknown.is_news_to(&stored));
        assert_eq!(HostFacts::from_object(&unknown.to_object()), unknown);
        assert!(stored.is_news_to(&HostFacts::default()));
    }
}
