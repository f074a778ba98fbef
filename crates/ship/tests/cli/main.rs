//! The `ship` command from the outside: the real program, in folders of its own.

mod attachments;
mod chat;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod config_edit;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod contexts;
mod contexts_in_chat;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod damage;
mod error_codes;
mod every_option;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod examples;
mod export;
mod first_words;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod harness;
mod import;
mod init;
mod limits;
mod lines;
mod pipes;
mod print;
mod questions;
mod remedies;
mod search;
mod secrets;
mod settings;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod shell;
mod system;
mod terminal;
mod together;
#[expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
mod turns;
