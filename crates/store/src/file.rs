//! The file store: the layout of `docs/format.md` on any [`Disk`](crate::disk::Disk).
//!
//! The modules build on one another. `store_env` creates folders and replaces files durably, `right` holds the locks of
//! writers, `write_group` shares one sync among waiting writers, and `log` is an append-only file that trusts only
//! synced bytes. On these stand `context`, `view`, `rotate` (with `copied_lines`, which come from other logs) and
//! `ledger`, and beside them `archive` and `purge` for sealed logs. `chat` is all of one chat; `store`, `file_chat` and
//! `file_lane` implement the traits.

mod about;
mod archive;
mod aside_logs;
mod blob_check;
mod blobs;
mod chat;
mod chat_ledger;
mod chat_list;
mod context;
mod copied_lines;
mod derived_files;
mod file_chat;
mod file_lane;
mod holder;
mod idle_chats;
mod import;
mod inbox_cursor;
mod index_files;
mod journal;
mod known_chats;
mod known_file;
mod lease;
mod ledger;
mod ledger_keys;
mod ledger_reader;
mod line_pages;
mod log;
mod log_reading;
mod lookup;
mod memory;
mod message_count;
mod min_reader;
mod open_chats;
mod outlines;
mod overview;
mod published;
mod purge;
mod purge_list;
mod quarantine;
mod recent_lines;
mod records;
mod recovered_head;
mod repair;
mod right;
mod rotate;
mod sealed_chain;
mod seek;
mod seen_problems;
mod store;
mod store_env;
mod unpublished;
mod verify;
mod view;
mod view_cache;
mod write_group;

pub use store::FileStore;
