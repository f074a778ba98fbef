//! Messages as the AI SDK has them.

pub mod json;
