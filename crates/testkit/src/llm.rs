//! A provider that does what it is told: a real HTTP server that speaks the two wire formats.
//!
//! [`LlmServer`] listens on a port of its own and answers `POST …/chat/completions` as OpenAI does and
//! `POST …/v1/messages` as Anthropic does, streamed or whole. Three things make it worth more than a mock:
//!
//! * It **judges**. A request that the real service refuses is refused, with the status and the body that
//!   the real service gives. [`judge_openai`] and [`judge_anthropic`] do the same without a socket.
//! * It **counts**. Usage is what a tokenizer says, and cached tokens are those of a prefix that it has
//!   seen before, so that a test can notice a request that spoils the cache.
//! * It **misbehaves on command**. Every [`Answer`] is in the end a list of [`Step`]s on a TCP connection, and
//!   [`faults`] has one constructor for each way in which providers fail; [`overflow`] knows how each of them
//!   says that a request was too long.
//!
//! It shares no code with what it judges: it reads JSON with another parser, and knows the rules from
//! the providers' side only.
//!
//! ```
//! use ship_testkit::llm::{Answer, LlmServer, faults};
//!
//! let server = LlmServer::start();
//! server.then(faults::rate_limited_seconds(1));
//! server.then(Answer::text("Hello."));
//! // From here on every request is answered with the last thing that the user said.
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! ```

pub mod anthropic;
mod cache;
mod exchange;
pub mod faults;
mod http;
mod image;
pub mod openai;
pub mod overflow;
mod prompt;
mod record;
mod rules;
mod script;
mod server;
mod sign;
mod sse;
mod tokens;

pub use anthropic::judge_anthropic;
pub use exchange::Exchange;
pub use openai::judge_openai;
pub use record::Received;
pub use rules::{Accepted, Auth, Models, Oddity, Refusal, Rules, Strictness, Version};
pub use script::{Answer, Decide, Format, Gate, Piece, Speech, Status, Step, Stop, Usage};
pub use server::LlmServer;
pub use sign::{redacted, signature};
pub use sse::{Frame, Kind};
pub use tokens::count;
