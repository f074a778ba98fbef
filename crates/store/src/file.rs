//! The file store: the layout of `docs/format.md`, on any [`Disk`](crate::disk::Disk).
//!
//! Read it from the bottom: `env` makes folders and replaces files durably, `right` is who may
//! write, `group` lets one sync serve all who wait, `log` is an append-only file that is never believed
//! beyond what was synced. On these stand `context`, `view`, `rotate` and `ledger`, and `chat` and
//! `store` put the traits in front.

mod blobs;
mod chat;
mod context;
mod env;
mod group;
mod journal;
mod kept;
mod keys;
mod ledger;
mod log;
mod open;
mod prepare;
mod recent;
mod right;
mod rotate;
mod store;
mod verify;
mod view;

pub use store::FileStore;
