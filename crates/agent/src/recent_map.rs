//! A map of limited size, for what may be forgotten: it keeps the entries that were used last.
//!
//! It has two generations. An entry that is used moves to the young one. When that is full, it becomes the old one, and
//! the entries of the old one are forgotten. So no order of use has to be kept.

use std::collections::HashMap;
use std::hash::Hash;

/// A map that keeps at least the last entries used, of a given number, and at most twice as many.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    kept: usize,
}

impl<K: Hash + Eq + Clone, V> RecentMap<K, V> {
    /// Makes a map that keeps at least the last `kept` entries used.
    pub(crate) fn new(kept: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), kept }
    }

    /// Returns the value of a key, and notes that it is used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        if let Some(value) = self.old.remove(key) {
            self.insert(key.clone(), value);
        }
        self.young.get(key)
    }

    /// Returns the value of a key for changes, and notes that it is used.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.get(key)?;
        self.young.get_mut(key)
    }

    /// Sets the value of a key. Returns whether the key is new, as far as the map remembers.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let was_old = self.old.remove(&key).is_some();
        if self.young.len() >= self.kept && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        let was_young = self.young.insert(key, value).is_some();
        !was_old && !was_young
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_map_stays_small() {
        let mut map = RecentMap::new(10);
        assert!(map.is_empty() && map.insert(0, 0));
        for key in 1..1_000 {
            assert!(map.insert(key, key));
            assert_eq!(map.get(&0), Some(&0), "it is used all the time");
            assert!(map.young.len() + map.old.len() <= 20);
        }
        assert_eq!(map.get(&1), None);
        assert_eq!(map.get(&995), Some(&995));
        assert!(!map.insert(999, 7), "it is known");
        assert_eq!(map.get(&999), Some(&7));
        map.remove(&999);
        assert_eq!(map.get(&999), None);
    }
}
