//! The records and the leases of the project.

use std::pin::Pin;
use std::sync::Arc;

use ship_message::json::Object;
use ship_store::rules::check_version;
use ship_store::{
    Holder, Lease, LeaseError, ProjectRecords, RecordError, RecordName, RecordVersion,
    StorageError, StoreFuture, StoredRecord,
};
use tokio::sync::Semaphore;

use super::MapStore;
use super::calls::CallKind;
use super::tables::Tables;

impl Tables {
    fn version(&self, name: &RecordName) -> Option<RecordVersion> {
        self.records.get(name).map(|stored| stored.version.clone())
    }
}

impl ProjectRecords for MapStore {
    fn read(&self, name: &RecordName) -> StoreFuture<'_, Option<StoredRecord>, RecordError> {
        let name = name.clone();
        Box::pin(self.call(CallKind::Read, "read_record", move |tables| {
            Ok(tables.records.get(&name).cloned())
        }))
    }

    fn put(
        &self,
        name: &RecordName,
        value: Object,
        expected: Option<RecordVersion>,
    ) -> StoreFuture<'_, RecordVersion, RecordError> {
        let name = name.clone();
        Box::pin(self.call(CallKind::Write, "put_record", move |tables| {
            check_version(&name, tables.version(&name), expected)?;
            let version = RecordVersion::new(tables.next_number().to_string());
            tables.records.insert(name, StoredRecord { value, version: version.clone() });
            Ok(version)
        }))
    }

    fn remove(
        &self,
        name: &RecordName,
        expected: RecordVersion,
    ) -> StoreFuture<'_, (), RecordError> {
        let name = name.clone();
        Box::pin(self.call(CallKind::Write, "remove_record", move |tables| {
            check_version(&name, tables.version(&name), Some(expected))?;
            tables.records.remove(&name);
            Ok(())
        }))
    }

    fn names(&self, prefix: &str) -> StoreFuture<'_, Vec<RecordName>, StorageError> {
        let prefix = prefix.to_owned();
        Box::pin(self.call(CallKind::Read, "record_names", move |tables| {
            let names = tables.records.keys().filter(|name| name.as_str().starts_with(&prefix));
            Ok(names.cloned().collect())
        }))
    }

    fn lease(
        &self,
        name: &RecordName,
        purpose: &str,
    ) -> StoreFuture<'_, Arc<dyn Lease>, LeaseError> {
        let (name, purpose, since) = (name.clone(), purpose.to_owned(), self.now());
        Box::pin(async move {
            let take = |tables: &mut Tables| {
                if let Some((_, holder)) = tables.leases.get(&name) {
                    let (name, holder) = (name.clone(), Some(holder.clone()));
                    return Err(LeaseError::Held { name, holder });
                }
                let (id, process) = (tables.next_number(), self.process.clone());
                let holder = Holder { host: None, process, since, purpose };
                tables.leases.insert(name.clone(), (id, holder));
                Ok(id)
            };
            let id = self.call(CallKind::Write, "lease", take).await?;
            let (store, held) = (self.clone(), Semaphore::new(0));
            Ok(Arc::new(MapLease { store, name, id, held }) as Arc<dyn Lease>)
        })
    }
}

/// A lease that a process holds until it gives it back.
struct MapLease {
    store: MapStore,
    name: RecordName,
    id: u64,
    /// Closed once the lease is given back.
    held: Semaphore,
}

impl MapLease {
    fn give_back(&self) {
        let leases = &mut self.store.database.tables.lock().leases;
        if leases.get(&self.name).is_some_and(|(id, _)| *id == self.id) {
            leases.remove(&self.name);
        }
        self.held.close();
    }
}

impl Drop for MapLease {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Lease for MapLease {
    fn lost(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        // It has no permits, so this ends when it is closed.
        Box::pin(async { drop(self.held.acquire().await) })
    }

    fn release(&self) -> StoreFuture<'_, (), StorageError> {
        Box::pin(async {
            self.give_back();
            Ok(())
        })
    }
}
