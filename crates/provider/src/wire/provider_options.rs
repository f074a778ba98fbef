//! `providerOptions`: the options of a message or a part for one provider.

use std::borrow::Cow;

use ship_message::ModelValue;
use ship_message::json::{Json, Object};

use super::json_text::json_of;

/// The key of Anthropic's options.
pub(super) const ANTHROPIC: &str = "anthropic";

/// The depth to which two sets of options are merged; below it the later one wins. Real options are
/// not nested so deep.
const MERGE_DEPTH_MAX: usize = 64;

/// The options of a message or a part, if it has any.
#[derive(Clone, Debug, Default)]
pub(super) struct ProviderOptions<'a>(Option<Cow<'a, Json>>);

impl<'a> ProviderOptions<'a> {
    pub(super) fn new(value: Option<ModelValue<'a>>) -> Self {
        Self(value.map(json_of))
    }

    pub(super) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the options for one provider.
    pub(super) fn of(&self, provider: &str) -> Option<&Object> {
        self.0.as_ref()?.get(provider)?.as_object()
    }

    /// Returns an option for one provider; null counts as absent.
    pub(super) fn get(&self, provider: &str, key: &str) -> Option<&Json> {
        self.of(provider)?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn json(&self) -> Option<&Json> {
        self.0.as_deref()
    }

    /// Adds options as defaults: if both have an option, the one here wins.
    pub(super) fn or(self, below: &Self) -> Self {
        match (below.json(), self.json()) {
            (None, _) => self,
            (Some(below), None) => Self(Some(Cow::Owned(below.clone()))),
            (Some(below), Some(over)) => Self(Some(Cow::Owned(merge(below, over, 0)))),
        }
    }
}

fn merge(below: &Json, over: &Json, depth: usize) -> Json {
    let (Json::Object(below), Json::Object(fields)) = (below, over) else { return over.clone() };
    if depth == MERGE_DEPTH_MAX {
        return over.clone();
    }
    // The SDK skips these keys, which would change the prototype of a JavaScript object.
    let is_mergeable = |key: &str| !matches!(key, "__proto__" | "constructor" | "prototype");
    let mut result = Object::with_capacity(below.len() + fields.len());
    for (key, value) in below.iter() {
        let over = fields.get(key).filter(|_| is_mergeable(key));
        let value = over.map_or_else(|| value.clone(), |over| merge(value, over, depth + 1));
        result.set(key.to_owned(), value);
    }
    for (key, value) in fields.iter().filter(|(key, _)| is_mergeable(key) && !below.has(key)) {
        result.set(key.to_owned(), value.clone());
    }
    Json::Object(result)
}
