//! The agent: everything between a message coming in and its answer being on disk.
//!
//! A channel hands in an [`Inbound`]. [`Agent::accept`] makes it durable, and only then may the channel acknowledge
//! it. [`Agent::run`] takes the chat's lane and does what the logs call for: it continues an interrupted run, or
//! answers new messages. Each run is recorded part by part, so that a crash at any point loses nothing and repeats
//! no effect. The message in the context log ends the run.
//!
//! An agent needs no project. Each part has a default: the chats are in memory, and the offline model answers:
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use ship_agent::{Agent, ChatKey};
//!
//! let agent = Agent::builder().role("You are a ship's cook.").build();
//! let chat: ChatKey = "http:ann".parse()?;
//! let reply = agent.send(&chat, "Which soup today?").await?;
//! assert!(reply.text().ends_with("You said: Which soup today?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program gives it tools and a model:
//!
//! ```no_run
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use ship_agent::{Agent, ApiKey, ChatKey, HttpProvider, HttpSettings};
//!
//! let mut settings = HttpSettings::anthropic("claude-sonnet-4-5");
//! settings.key = Some(ApiKey::new(std::env::var("ANTHROPIC_API_KEY")?));
//! let model = HttpProvider::anthropic(settings)?;
//! let agent = Agent::builder().role("You are a ship's cook.").provider(model).build();
//! let chat: ChatKey = "http:ann".parse()?;
//! let reply = agent.send(&chat, "Which soup today?").await?;
//! println!("{}", reply.into_result()?.text()); // A model that failed is an error here.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`HttpProvider::openai`] is for OpenAI and every host with its API, at `settings.base_url`. [`Agent::open`] makes the
//! agent of a project folder instead, with its settings, texts, skills and chats on disk. [`Agent::stream`] gives an
//! answer while it arrives.
//!
//! # Approvals, and tools of the client
//!
//! A tool that [`Rules::approval`] names runs only when a person has allowed the call. A tool that [`Rules::client`]
//! names runs in the program that shows the chat, such as a browser. Both park the run: its outcome is
//! [`Outcome::Parked`], and [`Reply::waiting_calls`] gives the calls. [`Agent::answer`] hands in a [`CallAnswer`] and
//! continues the run, at any later time and in any process.
//!
//! ```
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Bill { euros: u64 }
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! use ship_agent::{Agent, CallAnswer, ChatKey, Outcome, Rules, Stop, Tool};
//!
//! let pay = Tool::new("pay", "Pays a bill.", |bill: Bill, _context| async move {
//!     Ok(format!("{} euros are paid.", bill.euros))
//! });
//! let rules = Rules { approval: ["pay".to_owned()].into(), ..Rules::default() };
//! let agent = Agent::builder().tool(pay).rules(rules).build();
//! let chat: ChatKey = "http:ann".parse()?;
//!
//! let reply = agent.send(&chat, r#"/tool pay {"euros":5}"#).await?;
//! let call = reply.waiting_calls().next().ok_or("nothing waits")?;
//! assert_eq!((&reply.outcome, call.name()), (&Outcome::Parked, Some("pay")));
//!
//! let allowed = CallAnswer::decision(call, true);
//! assert_eq!(agent.answer(&chat, allowed, &Stop::default()).await?, Some(Outcome::Done));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Attachments
//!
//! A text is sent as it is. A message with files is an [`Inbound`] with [`Attachment`]s, which are as durable as its
//! text. Every model reads an [`Attachment::Text`]; a picture goes to models that take pictures, and others read a note
//! in its place.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let agent = ship_agent::Agent::builder().build();
//! use ship_agent::{Attachment, Inbound};
//!
//! let notes = Attachment::Text { name: "notes.txt".to_owned(), text: "Leeks, potatoes.".to_owned() };
//! let question = Inbound { attachments: vec![notes], ..Inbound::from("Which soup is this?") };
//! let reply = agent.send(&"http:ann".parse()?, question).await?;
//! # assert!(reply.text().contains("Which soup is this?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Chats and conversations
//!
//! Use **chats** for a server, a bot or a command: one agent serves any number of them, several processes may share
//! them, a killed run continues, and a chat has contexts to leave and to come back to. The store of the agent keeps
//! them, which [`AgentBuilder::store`] sets.
//!
//! Use a **conversation** for one task in one file that other programs read: a batch job, an evaluation, an export. An
//! agent is in one conversation at a time. A run that is killed does not continue there, and there are no contexts.
//!
//! ```
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chats/task-001.jsonl");
//! # let retry = folder.path().join("chats/task-001-retry.jsonl");
//! let agent = ship_agent::Agent::builder().role("You are a ship's cook.").build();
//! agent.conversation().send("This is in memory.").await?;
//!
//! agent.open_conversation(&path).await?; // Loads the file, or begins it.
//! let reply = agent.conversation().send("This is in a file.").await?;
//! assert!(reply.text().ends_with("You said: This is in a file."));
//!
//! agent.fork_conversation(&retry).await?;
//! agent.conversation().send("This is in the copy alone.").await?;
//!
//! agent.load_conversation(&path).await?;
//! assert_eq!(agent.conversation().messages().await?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Nothing here is global: tools get what they need as an argument, and time, ids, files and the model come in when
//! the agent is made.

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod blocking_work;
mod built_in_tools;
mod chat;
mod chats;
mod compact;
mod context_operation;
mod context_tool_input;
mod contexts;
mod conversation;
mod conversation_log;
mod digest;
mod engine;
mod error;
mod events;
mod explain;
mod history;
mod id_source;
mod import;
mod inbound;
mod inbox;
mod memory_budget;
mod news;
mod outbound;
mod project;
mod project_source;
mod recent_map;
mod records;
mod reply;
mod request;
mod rules;
mod run;
mod run_log;
mod run_notice;
mod search;
mod stop;
mod tokens;
mod tool;
mod tool_schema;

pub use built_in_tools::built_in_tools;
pub use chat::{Activation, inbound_message_id};
pub use chats::{ChatList, ChatSummary, ListedChat};
pub use compact::{Compaction, CompactionPreview, CompactionUndo};
pub use context_operation::{
    ContextChange, ContextName, ContextOperation, Destination, OperationOutcome, OperationRefusal,
    WayBack,
};
pub use contexts::{ContextList, LastExchanges, UndoPreview};
pub use conversation::{ConversationError, ConversationHandle};
pub use engine::{Agent, AgentBuilder, CompactionTrigger};
pub use error::RunError;
pub use events::{AgentListener, LaneWaiting, Listener, RunEvent};
pub use explain::{NextRequest, PastRequest};
pub use history::{
    HistoryCursor, HistoryCursorError, HistoryMessage, HistoryPage, HistoryQuery, HistoryReader,
};
pub use id_source::{IdSource, RandomIds};
pub use import::{
    ContextFate, ImportFailure, ImportReport, ImportWishes, ImportedContext, read_conversations,
};
pub use inbound::{AcceptedMessage, Attachment, CallAnswer, Inbound};
pub use inbox::{ChatQueue, OpenRun, WaitingEntry};
pub use news::{ChatNews, ChatNewsItem};
pub use outbound::Outbound;
pub use project::{ModelChoice, OpenAgentError, chosen_model, open_store};
pub use project_source::{NoProject, ProjectSource};
pub use records::{
    RENDERING, RecordedRequest, RequestAnswer, RequestMessages, RequestRecord, RequestTokens,
    SharedPrefix,
};
pub use reply::{Outcome, Reply, UnfinishedReply};
pub use rules::{ContextRules, Rules};
pub use run::{RepairReport, ReplyStream, StopOutcome, UnfinishedChats, plan_repair};
pub use run_log::{NoLog, RunLog, RunLogEntry, RunLogKind};
pub use run_notice::{ContextNotice, RunNotice};
// Everything that a program needs to use an agent, so that it depends on this crate alone.
pub use search::{
    HitPlace, MessageHit, MessageSearch, NeighbourMessage, SearchQuery, SearchResult, SearchedBy,
};
pub use ship_exchange as exchange;
pub use ship_exchange::{BadItem, ConversationFile, FileFormat, Input, SurveyError};
pub use ship_message as message;
pub use ship_message::json::Json;
pub use ship_message::{Chunk, Role, UiMessage, UiPart};
pub use ship_project::{
    LoadProjectError, Project, RequestFacts, Skill, SkillSource, SkillState, SystemTexts,
    TextsAndSkills,
};
pub use ship_provider as provider;
pub use ship_provider::{ApiKey, HttpProvider, HttpSettings, Offline, Provider, Usage};
pub use ship_store as store;
pub use ship_store::{ChatKey, FileStore, Store, StoreOptions};
pub use stop::Stop;
pub use tokens::PieceTokens;
pub use tool::{Tool, ToolContext, ToolFuture};
