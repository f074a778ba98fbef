//! A chat that outgrows its model goes on: compactions against a provider that counts and refuses.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod conversation;
mod long;
mod overflow;
mod rungs;
mod settled;
mod undo;
mod world;
