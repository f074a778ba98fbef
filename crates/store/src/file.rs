//! The file store: the layout of `docs/format.md`, on any [`Disk`](crate::disk::Disk).
//!
//! Read it from the bottom: `env` makes folders and replaces files durably, `right` is who may
//! write, `group` lets one sync serve all who wait, `log` is an append-only file that is never believed
//! beyond what was synced. On these stand `context`, `view`, `rotate` (with `elsewhere`, where copied lines
//! come from) and `ledger`, beside them `archive` and `purge` for sealed logs, and `chat` and `store` put the
//! traits in front.

mod archive;
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
mod log;
mod lookup;
mod open;
mod overview;
mod prepare;
mod purge;
mod quarantine;
mod recent;
mod repair;
mod right;
mod rotate;
mod seek;
mod seen;
mod store;
mod verify;
mod view;

pub use store::FileStore;
