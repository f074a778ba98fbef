//! Deep merging of objects, as the AI SDK merges message metadata.

use std::collections::HashMap;

use super::{Json, Object};

/// Whether a key would change the prototype of a JavaScript object, or reach it.
pub(crate) fn is_prototype_key(key: &str) -> bool {
    matches!(key, "__proto__" | "constructor" | "prototype")
}

impl Object {
    /// Merges `overrides` into this: objects deeply, everything else replaced. Keys that would change the
    /// prototype of a JavaScript object are left out.
    pub(crate) fn merge_deep(&mut self, overrides: Self) {
        let mut pending = vec![(self, overrides)];
        while let Some((target, overrides)) = pending.pop() {
            let nested = target.merge_flat(overrides);
            let mut nested = nested.into_iter().peekable();
            for (at, (_, value)) in target.0.iter_mut().enumerate() {
                if let Some((_, deeper)) = nested.next_if(|(place, _)| *place == at)
                    && let Json::Object(object) = value
                {
                    pending.push((object, deeper));
                }
            }
        }
    }

    /// Merges one level. Returns what is to be merged into the objects at the places given, in order.
    fn merge_flat(&mut self, overrides: Self) -> Vec<(usize, Self)> {
        let places: HashMap<String, usize> =
            self.keys().enumerate().map(|(at, key)| (key.to_owned(), at)).collect();
        let mut nested = Vec::new();
        for (key, value) in overrides.into_entries() {
            if is_prototype_key(&key) {
                continue;
            }
            let Some(&at) = places.get(key.as_ref()) else {
                self.0.push((key, value));
                continue;
            };
            match (&mut self.0[at].1, value) {
                (Json::Object(_), Json::Object(deeper)) => nested.push((at, deeper)),
                (old, value) => *old = value,
            }
        }
        nested.sort_by_key(|(at, _)| *at);
        nested
    }
}
