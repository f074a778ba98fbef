//! What the scripted provider promises: it judges as the real ones do, counts, and fails as it is told.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic that shows the error is the best report"
)]

mod anthropic_calls;
mod anthropic_options;
mod anthropic_rules;
mod anthropic_thinking;
mod cached;
mod cases;
mod client;
mod faults;
mod oddities;
mod openai_options;
mod openai_rules;
mod recorded;
mod refusals;
mod server;
mod strict;
mod wordings;
