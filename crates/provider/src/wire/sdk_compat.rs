//! The part of the format that only the comparison with the npm package reaches.
//!
//! [`openai`](super::openai) and [`anthropic`](super::anthropic) accept everything that the AI SDK's `generateText`
//! accepts, and a test compares the two byte for byte. Shipmate itself sends less: `compile` gives every call its
//! result, sends files as bytes or leaves them to the provider, and has no tools that a provider runs. The other
//! rules of the SDK are here, apart from the code that writes our requests:
//!
//! - [`check`] refuses values that are not messages to the SDK;
//! - [`approvals`] gives a result to calls that a person has denied;
//! - [`files`] lists the addresses that must be fetched, and keeps the files;
//! - [`provider_tools`], [`code_execution`] and [`callers`] write calls that Anthropic itself runs.
//!
//! Every request passes through these modules, but our own requests give them nothing to do.

pub(super) mod approvals;
pub(super) mod callers;
pub(super) mod check;
mod code_execution;
pub(super) mod files;
pub(super) mod provider_tools;
