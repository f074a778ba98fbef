//! The agent: what happens between a message coming in and its answer being on disk.
//!
//! A channel hands in an [`Inbound`]; [`Agent::accept`] makes it durable, and only then may the channel
//! acknowledge it. [`Agent::run`] takes the chat's lane and does whatever its logs say is to be done: go on
//! with a run that was cut off, or answer what has come in. Each run is recorded part by part, so that a
//! crash at any point loses nothing and repeats no effect; its message in the context log is what ends it.
//!
//! An agent needs no project either. [`Agent::new`] talks in memory, and in files that other programs read
//! when it is given some:
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chats/task-001.jsonl");
//! # let retry = folder.path().join("chats/task-001-retry.jsonl");
//! use ship_agent::Agent;
//! use ship_provider::Offline;
//!
//! let agent = Agent::new(Offline, vec![]);
//! agent.say("This is in memory.").await?;
//!
//! agent.new_conversation(&path).await?;
//! let reply = agent.say("This is in a file.").await?;
//! assert!(reply.text().ends_with("You said: This is in a file."));
//!
//! agent.fork_conversation(&retry).await?;
//! agent.say("This is in the copy alone.").await?;
//!
//! agent.load_conversation(&path).await?;
//! assert_eq!(agent.messages().await?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here is global: tools get what they need as an argument, and time, ids, files and the model come
//! in when the agent is made.

mod asking;
mod began;
mod budget;
mod calls;
mod compact;
mod contexts;
mod conversation;
mod deadline;
mod ending;
mod events;
mod finish;
mod fit;
mod held;
mod inbound;
mod inspect;
mod lost;
mod model;
mod names;
mod open;
mod past;
mod queue;
mod rebuild;
mod record;
mod recorded;
mod request;
mod run;
mod said;
mod scales;
mod send;
mod settle;
mod skills;
mod sources;
mod stable;
mod step;
mod stop;
mod surroundings;
mod tool;
mod tools;
mod warnings;
mod work;

pub use began::Activation;
pub use budget::CompactionTrigger;
pub use compact::{Compaction, CompactionPreview, CompactionUndo};
pub use contexts::{
    ContextChange, ContextList, ContextName, ContextOperation, OperationOutcome, OperationRefusal,
};
pub use conversation::{ConversationError, Reply};
pub use events::{Listener, Outcome, RunEvent};
pub use finish::STOPPED;
pub use inbound::{CallAnswer, Inbound};
pub use inspect::{NextRequest, PieceTokens};
pub use model::chosen_model;
pub use names::question_id;
pub use open::OpenAgentError;
pub use past::PastRequest;
pub use record::{RecordedRequest, RequestAnswer, RequestMessages, RequestRecord, RequestTokens};
pub use run::{Agent, AgentParts, RunError};
pub use send::Outbound;
pub use skills::{SkillState, SkillText};
pub use stable::SharedPrefix;
pub use stop::Stop;
pub use surroundings::{
    ContextRules, IdSource, NoLog, NoProject, ProjectSource, RandomIds, Rules, RunLog, RunLogEntry,
    Texts,
};
pub use tool::{Tool, ToolContext, ToolFuture};
pub use tools::{built_in_tools, context_tools};

/// The SHA-256 of bytes, in hex.
fn digest(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
