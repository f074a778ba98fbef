//! The part of the format that only the comparison with the npm package reaches.
//!
//! [`openai`](super::openai) and [`anthropic`](super::anthropic) take everything that the AI SDK's
//! `generateText` takes, and a test compares the two byte for byte. Shipmate itself sends less: `compile`
//! gives every call its result, sends files by bytes or leaves them to the provider, and has no tools that a
//! provider runs. What is left of the SDK's rules stands here, apart from the code that writes our requests:
//!
//! - [`check`] refuses what the SDK does not take for messages;
//! - [`approvals`] gives a result to calls that a person has denied;
//! - [`files`] tells which addresses must be fetched, and keeps what was found there;
//! - [`options`] reads and merges `providerOptions`;
//! - [`provider_tools`], [`code_execution`] and [`callers`] write calls that Anthropic itself runs.
//!
//! Every request passes through these modules, but one of ours finds nothing to do there.

pub(super) mod approvals;
pub(super) mod callers;
pub(super) mod check;
mod code_execution;
pub(super) mod files;
pub(super) mod options;
pub(super) mod provider_tools;
