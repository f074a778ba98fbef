//! The file store: the layout of `docs/format.md` on any [`Disk`](crate::disk::Disk).
//!
//! The modules build on one another. `env` creates folders and replaces files durably, `right` holds the locks of
//! writers, `group` shares one sync among waiting writers, and `log` is an append-only file that trusts only synced
//! bytes. On these stand `context`, `view`, `rotate` (with `elsewhere`, the source of copied lines) and `ledger`,
//! and beside them `archive` and `purge` for sealed logs. `chat` and `store` implement the traits.

mod archive;
mod blob_check;
mod blobs;
mod chat;
mod context;
mod cursor;
mod elsewhere;
mod env;
mod group;
mod holder;
mod journal;
mod kept;
mod key_index;
mod keys;
mod ledger;
mod ledger_reader;
mod log;
mod log_reading;
mod lookup;
mod open;
mod outlines;
mod overview;
mod prepare;
mod purge;
mod quarantine;
mod recent;
mod recovered_head;
mod repair;
mod right;
mod rotate;
mod seek;
mod seen;
mod store;
mod verify;
mod view;

pub use store::FileStore;
