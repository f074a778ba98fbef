//! The two containers: arrays, and objects that keep the order of their keys.
//!
//! An object is a list of pairs. Objects in messages have a handful of keys, where a scan beats any
//! map; the few operations that would be quadratic on a large one switch to a hash set.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use super::Json;

/// The number of keys up to which comparing each with each is cheaper than hashing.
const SCAN_KEYS_MAX: usize = 16;

/// The key of an object entry. The names that messages use are not allocated.
pub type ObjectKey = Cow<'static, str>;

/// A list of values.
#[derive(Default)]
pub struct Array(pub(super) Vec<Json>);

/// A JSON object: keys with values, in the order in which they were first set.
#[derive(Default)]
pub struct Object(pub(super) Vec<(ObjectKey, Json)>);

impl Object {
    /// Makes an empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty object with room for `entries`.
    pub fn with_capacity(entries: usize) -> Self {
        Self(Vec::with_capacity(entries))
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value of `key` for changes.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value of `key` if it is a string.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Json::as_str)
    }

    /// Whether `key` exists, even with the value `null`.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key` at its old place, or else at the end.
    pub fn set(&mut self, key: impl Into<ObjectKey>, value: impl Into<Json>) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(old) => *old = value.into(),
            None => self.0.push((key, value.into())),
        }
    }

    /// Sets `key`, or removes it if there is no value.
    pub fn set_or_remove(&mut self, key: impl Into<ObjectKey>, value: Option<Json>) {
        match value {
            Some(value) => self.set(key, value),
            None => {
                self.remove(&key.into());
            }
        }
    }

    /// Removes `key` and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Frees the memory of entries that were removed.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Keeps only the entries that `keep` accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Json) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// Returns the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> + DoubleEndedIterator {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the object has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Makes the last of several equal keys win, at the place of the first, as JavaScript does.
    pub(super) fn merge_equal_keys(&mut self) {
        if self.0.len() <= SCAN_KEYS_MAX {
            let unique =
                (1..self.0.len()).all(|i| self.0[..i].iter().all(|(k, _)| *k != self.0[i].0));
            if unique {
                return;
            }
        }
        let mut places: HashMap<ObjectKey, usize> = HashMap::with_capacity(self.0.len());
        let mut merged: Vec<(ObjectKey, Json)> = Vec::with_capacity(self.0.len());
        for (key, value) in std::mem::take(&mut self.0) {
            match places.get(&key) {
                Some(&at) => merged[at].1 = value,
                None => {
                    places.insert(key.clone(), merged.len());
                    merged.push((key, value));
                }
            }
        }
        self.0 = merged;
    }
}

impl<K: Into<ObjectKey>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut object =
            Self(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect());
        object.merge_equal_keys();
        object
    }
}

impl<K: Into<ObjectKey>, V: Into<Json>, const N: usize> From<[(K, V); N]> for Object {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl Object {
    /// Returns the entries and consumes the object.
    pub fn into_entries(mut self) -> Vec<(ObjectKey, Json)> {
        std::mem::take(&mut self.0)
    }
}

impl Array {
    /// Returns the values and consumes the array.
    pub fn into_vec(mut self) -> Vec<Json> {
        std::mem::take(&mut self.0)
    }
}

impl From<Vec<Json>> for Array {
    fn from(values: Vec<Json>) -> Self {
        Self(values)
    }
}

impl FromIterator<Json> for Array {
    fn from_iter<I: IntoIterator<Item = Json>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Deref for Array {
    type Target = Vec<Json>;

    fn deref(&self) -> &Vec<Json> {
        &self.0
    }
}

impl DerefMut for Array {
    fn deref_mut(&mut self) -> &mut Vec<Json> {
        &mut self.0
    }
}

// The ordinary way to drop a tree recurses, and a hostile message nests deeper than the stack. So a container moves
// its child containers to a list of its own and drops them one by one.

impl Drop for Array {
    fn drop(&mut self) {
        if self.0.iter().any(Json::is_container) {
            drop_flat(std::mem::take(&mut self.0));
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if self.0.iter().any(|(_, value)| value.is_container()) {
            drop_flat(std::mem::take(&mut self.0).into_iter().map(|(_, value)| value).collect());
        }
    }
}

fn drop_flat(mut pending: Vec<Json>) {
    while let Some(value) = pending.pop() {
        match value {
            Json::Array(mut array) => pending.append(&mut array.0),
            Json::Object(mut object) => {
                pending.extend(std::mem::take(&mut object.0).into_iter().map(|(_, value)| value));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }
}
