//! The project record of what is known of hosts, with one object for each host.
//!
//! The record is derived: without it, each host is learned anew, at the price of a refused request. So a record that
//! cannot be read is set aside by the next write, and is never an error.

use ship_message::json::{Json, Object};
use ship_store::{ProjectRecords, RecordError, RecordName, RecordVersion, StoredRecord};

/// The version that this program writes.
const VERSION: u64 = 1;
/// The number of hosts that are remembered; the one that was written first is dropped.
const HOSTS_MAX: usize = 64;

/// The record as it was read.
#[derive(Default)]
pub(super) struct HostsRecord {
    value: Object,
    version: Option<RecordVersion>,
    is_damaged: bool,
}

impl HostsRecord {
    /// Reads the record; a missing or damaged one knows no host.
    pub(super) async fn read(records: &dyn ProjectRecords) -> Result<Self, RecordError> {
        match records.read(&name()).await {
            Ok(Some(StoredRecord { value, version })) => {
                Ok(Self { value, version: Some(version), is_damaged: false })
            }
            Ok(None) => Ok(Self::default()),
            Err(RecordError::Damaged { .. }) => Ok(Self { is_damaged: true, ..Self::default() }),
            Err(error) => Err(error),
        }
    }

    /// Returns what is known of a host; nothing if the record is of a newer program.
    pub(super) fn facts_of(&self, host: &str) -> Object {
        let hosts = self.value.get("hosts").filter(|_| !self.is_newer());
        hosts.and_then(|hosts| hosts.get(host)?.as_object().cloned()).unwrap_or_default()
    }

    /// Returns what is known of the hosts whose names begin with `prefix`, by the rest of their names.
    pub(super) fn facts_behind<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Object)> {
        let hosts = self.value.get("hosts").filter(|_| !self.is_newer());
        let hosts = hosts.and_then(Json::as_object).into_iter().flat_map(Object::iter);
        hosts
            .filter_map(move |(host, facts)| Some((host.strip_prefix(prefix)?, facts.as_object()?)))
    }

    /// Replaces what is known of a host, and leaves the other hosts as they are. The record of a newer program stays.
    pub(super) async fn put(
        self,
        records: &dyn ProjectRecords,
        host: &str,
        facts: Object,
    ) -> Result<(), RecordError> {
        if self.is_newer() {
            return Ok(());
        }
        if self.is_damaged {
            records.set_aside(&name()).await?;
        }
        records.put(&name(), self.with_facts(host, facts), self.version.clone()).await?;
        Ok(())
    }

    fn is_newer(&self) -> bool {
        self.value.get("v").and_then(Json::as_u64).is_some_and(|version| version > VERSION)
    }

    fn with_facts(&self, host: &str, facts: Object) -> Object {
        let known = self.value.get("hosts").and_then(Json::as_object);
        let mut hosts = known.cloned().unwrap_or_default();
        // The newest stands last.
        hosts.remove(host);
        hosts.set(host.to_owned(), facts);
        let surplus = hosts.len().saturating_sub(HOSTS_MAX);
        let kept = hosts.iter().skip(surplus);
        let hosts: Object = kept.map(|(host, facts)| (host.to_owned(), facts.clone())).collect();
        Object::from([("v", Json::from(VERSION)), ("hosts", hosts.into())])
    }
}

fn name() -> RecordName {
    "hosts".parse().expect("a name of a record")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ship_store::{FileStore, Store as _, StoreOptions};

    use super::*;

    fn facts(limit: u64) -> Object {
        Object::from([("limit", limit)])
    }

    async fn put(store: &FileStore, host: &str, limit: u64) {
        let record = HostsRecord::read(store.records()).await.unwrap();
        record.put(store.records(), host, facts(limit)).await.unwrap();
    }

    async fn facts_of(store: &FileStore, host: &str) -> Object {
        HostsRecord::read(store.records()).await.unwrap().facts_of(host)
    }

    #[tokio::test]
    async fn each_host_has_facts_of_its_own_and_the_oldest_are_dropped() {
        let store = FileStore::in_memory(StoreOptions::default());
        assert!(facts_of(&store, "a").await.is_empty());
        for (host, limit) in [("a", 1), ("b", 2), ("a", 3)] {
            put(&store, host, limit).await;
        }
        assert_eq!(
            (facts_of(&store, "a").await, facts_of(&store, "b").await),
            (facts(3), facts(2))
        );
        for nth in 1..HOSTS_MAX {
            put(&store, &format!("host {nth}"), 4).await;
        }
        assert!(facts_of(&store, "b").await.is_empty(), "it was the oldest");
        assert_eq!(facts_of(&store, "a").await, facts(3));
    }

    #[tokio::test]
    async fn a_damaged_file_is_set_aside_and_a_newer_one_stays() {
        let project = tempfile::tempdir().unwrap();
        let store = FileStore::new(project.path(), StoreOptions::default()).unwrap();
        fs::create_dir(project.path().join(".ship")).unwrap();
        let file = project.path().join(".ship/hosts.json");
        for damaged in ["", "{\"v\":1,\"hosts\":{\"a\"", "[]"] {
            fs::write(&file, damaged).unwrap();
            assert!(facts_of(&store, "a").await.is_empty());
            put(&store, "a", 1).await;
            let aside = project.path().join(".ship/hosts.damaged.json");
            assert_eq!(fs::read_to_string(aside).unwrap(), damaged);
            assert_eq!(facts_of(&store, "a").await, facts(1));
        }
        let newer = "{\"v\":2,\"hosts\":[]}";
        fs::write(&file, newer).unwrap();
        assert!(facts_of(&store, "a").await.is_empty());
        put(&store, "a", 1).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), newer);
    }
}
