//! The commands, one file for each.

pub(crate) mod answer_cost;
pub(crate) mod chat;
pub(crate) mod chats;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod config_edit;
pub(crate) mod context;
pub(crate) mod context_news;
pub(crate) mod frozen_holder;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod inspect;
pub(crate) mod interrupt;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mentions;
pub(crate) mod message_draft;
pub(crate) mod message_exchange;
pub(crate) mod message_line;
mod polling;
pub(crate) mod repair;
pub(crate) mod run_activity;
pub(crate) mod send;
pub(crate) mod standard_input;
pub(crate) mod verify;
