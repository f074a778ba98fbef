//! Merges objects deeply, as the AI SDK merges message metadata.

use std::collections::HashMap;

use super::{Json, Object};

/// Whether a key would change or reach the prototype of a JavaScript object.
pub(crate) fn is_prototype_key(key: &str) -> bool {
    matches!(key, "__proto__" | "constructor" | "prototype")
}

/// The indexes of an object's keys, for repeated merges into it.
#[derive(Debug, Default)]
pub(crate) struct KeyPlaces(HashMap<String, usize>);

impl KeyPlaces {
    pub(crate) fn of(object: &Object) -> Self {
        Self(object.keys().enumerate().map(|(at, key)| (key.to_owned(), at)).collect())
    }
}

impl Object {
    /// Merges `overrides` into this object: objects deeply, everything else by replacement. Keys that would change
    /// the prototype of a JavaScript object are left out. `places` must be those of this object.
    pub(crate) fn merge_deep(&mut self, overrides: Self, places: &mut KeyPlaces) {
        let mut pending = self.merge_flat(overrides, places);
        while let Some((target, overrides)) = pending.pop() {
            let mut places = KeyPlaces::of(target);
            pending.extend(target.merge_flat(overrides, &mut places));
        }
    }

    /// Merges one level. Returns the objects below it that still have to be merged.
    fn merge_flat(&mut self, overrides: Self, places: &mut KeyPlaces) -> Vec<(&mut Self, Self)> {
        let mut nested = Vec::new();
        for (key, value) in overrides.into_entries() {
            if is_prototype_key(&key) {
                continue;
            }
            let Some(&at) = places.0.get(key.as_ref()) else {
                places.0.insert(key.clone().into_owned(), self.0.len());
                self.0.push((key, value));
                continue;
            };
            match (&mut self.0[at].1, value) {
                (Json::Object(_), Json::Object(deeper)) => nested.push((at, deeper)),
                (old, value) => *old = value,
            }
        }
        if nested.is_empty() {
            return Vec::new();
        }
        // References to several entries can be taken only in one pass over them, in their order.
        nested.sort_by_key(|(at, _)| *at);
        let mut nested = nested.into_iter().peekable();
        let mut below = Vec::with_capacity(nested.len());
        for (at, (_, value)) in self.0.iter_mut().enumerate() {
            if let Json::Object(object) = value
                && let Some((_, deeper)) = nested.next_if(|(place, _)| *place == at)
            {
                below.push((object, deeper));
            }
        }
        below
    }
}
