//! A map of limited size, for what may be forgotten: it keeps the entries that were used last.
//!
//! It has two generations. An entry that is used moves to the young one. When that is full, it becomes the old one, and
//! the entries of the old one are forgotten. So no order of use has to be kept. A generation is full when it has so many
//! entries, or when the maps that share a budget take all of it.

use std::collections::HashMap;
use std::hash::Hash;

use crate::memory_budget::{MemoryBudget, Weighed};

/// A map that keeps the last entries used: at most twice a given number, and no more than a budget has room for, except
/// the last one.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V> {
    young: Generation<K, V>,
    old: Generation<K, V>,
    kept: usize,
    budget: Option<MemoryBudget>,
}

/// Some entries with their bytes, and the sum of these.
#[derive(Debug)]
struct Generation<K, V> {
    entries: HashMap<K, (V, usize)>,
    bytes: usize,
}

impl<K, V> Default for Generation<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), bytes: 0 }
    }
}

impl<K: Hash + Eq, V> Generation<K, V> {
    /// Adds an entry that is not there.
    fn add(&mut self, key: K, value: V, bytes: usize) {
        self.entries.insert(key, (value, bytes));
        self.bytes += bytes;
    }

    fn remove(&mut self, key: &K) -> Option<(V, usize)> {
        let (value, bytes) = self.entries.remove(key)?;
        self.bytes -= bytes;
        Some((value, bytes))
    }
}

impl<K: Hash + Eq + Clone, V: Weighed> RecentMap<K, V> {
    /// Makes a map that keeps at least the last `kept` entries used.
    pub(crate) fn new(kept: usize) -> Self {
        Self::with(None, kept)
    }

    /// Makes a map that keeps the last `kept` entries used, as far as a budget has room.
    pub(crate) fn within(budget: &MemoryBudget, kept: usize) -> Self {
        Self::with(Some(budget.clone()), kept)
    }

    fn with(budget: Option<MemoryBudget>, kept: usize) -> Self {
        let (young, old) = Default::default();
        Self { young, old, kept, budget }
    }

    /// Returns the value of a key, and notes that it is used.
    pub(crate) fn get(&mut self, key: &K) -> Option<&V> {
        if let Some((value, bytes)) = self.old.remove(key) {
            if self.young.entries.len() >= self.kept {
                self.turn();
            }
            self.young.add(key.clone(), value, bytes);
        }
        self.young.entries.get(key).map(|(value, _)| value)
    }

    /// Changes the value of a key, and notes that it is used. Does nothing if there is none.
    pub(crate) fn change(&mut self, key: &K, change: impl FnOnce(&mut V)) {
        if let Some(mut value) = self.remove(key) {
            change(&mut value);
            self.insert(key.clone(), value);
        }
    }

    /// Sets the value of a key. Returns whether the key is new, as far as the map remembers.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let is_new = self.remove(&key).is_none();
        let bytes = value.bytes();
        if self.young.entries.len() >= self.kept {
            self.turn();
        }
        // The second turn leaves nothing.
        for _ in 0..2 {
            if self.budget.as_ref().is_some_and(|budget| budget.lacks(bytes)) {
                self.turn();
            }
        }
        if let Some(budget) = &self.budget {
            budget.take(bytes);
        }
        self.young.add(key, value, bytes);
        is_new
    }

    /// Forgets a key, and returns its value.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let (value, bytes) = self.young.remove(key).or_else(|| self.old.remove(key))?;
        if let Some(budget) = &self.budget {
            budget.give_back(bytes);
        }
        Some(value)
    }

    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.young.entries.is_empty() && self.old.entries.is_empty()
    }
}

impl<K, V> RecentMap<K, V> {
    /// Forgets the old entries, and makes the young ones old.
    fn turn(&mut self) {
        let gone = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        if let Some(budget) = &self.budget {
            budget.give_back(gone.bytes);
        }
    }
}

impl<K, V> Drop for RecentMap<K, V> {
    fn drop(&mut self) {
        self.turn();
        self.turn();
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
            assert!(map.young.entries.len() + map.old.entries.len() <= 20);
        }
        assert_eq!(map.get(&1), None);
        assert_eq!(map.get(&995), Some(&995));
        assert!(!map.insert(999, 7), "it is known");
        assert_eq!(map.get(&999), Some(&7));
        map.remove(&999);
        assert_eq!(map.get(&999), None);
    }

    impl Weighed for String {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn maps_that_share_a_budget_take_no_more_than_it_together() {
        let budget = MemoryBudget::new(1_000);
        let mut maps = [(); 2].map(|()| RecentMap::within(&budget, 1_000));
        let held = |map: &RecentMap<u64, String>| map.young.bytes + map.old.bytes;
        for key in 0..500_u64 {
            let map = &mut maps[usize::from(key % 3 == 0)];
            map.insert(key, "x".repeat((key % 90) as usize));
            assert_eq!(map.get(&key).map(String::len), Some((key % 90) as usize));
            map.change(&key, |text| text.push('y'));
            assert!(maps.iter().map(held).sum::<usize>() <= 1_000, "{key}");
        }
        let [one, other] = maps;
        assert!(held(&one) > 0 && held(&other) > 0);
        drop(one);
        assert!(budget.lacks(1_001 - held(&other)) && !budget.lacks(1_000 - held(&other)));
    }

    #[test]
    fn the_last_entry_stays_even_if_it_is_too_large() {
        let mut map = RecentMap::within(&MemoryBudget::new(0), 10);
        for key in 0..5_u64 {
            map.insert(key, "too large".to_owned());
            assert!(map.get(&key).is_some());
            assert!(key == 0 || map.get(&(key - 1)).is_none());
        }
    }
}
