//! What `./bench` measures and what `./soak` torments, one module for each part of the engine.
//!
//! Times on a shared machine mean little, so every promise is a ratio of two things measured in the same
//! run: ours beside the floor, ours beside another program, a large chat beside a small one.

pub mod compact;
pub mod compact_soak;
pub mod contexts;
pub mod contexts_soak;
pub mod idle;
pub mod import;
pub mod injuries_soak;
pub mod large;
pub mod many;
pub mod message;
pub mod message_soak;
pub mod provider;
pub mod provider_soak;
pub mod queue;
pub mod real_model_soak;
pub mod report;
pub mod search;
pub mod ship;
pub mod store;
pub mod store_soak;
pub mod strict_hosts_soak;
pub mod subscribers;
pub mod tokens;
pub mod two_processes_soak;

mod processor;
mod real_chat;
mod real_hosts;
mod talk;
mod terminal;
mod tests;
mod traced;

pub use tests::build_tests;
