//! Reads a project folder: its settings, secrets, texts and skills, and its logs.
//!
//! - [`find_root`] finds the project folder, and [`init`] gives a new project its first files.
//! - [`Project::load`] reads `ship.json` and `.env` under an environment. It gives typed [`Settings`], the source of
//!   each value, the choice of a provider, and the [`Secrets`] that must not be shown.
//! - [`read_system_texts`] and [`scan_skills`] read the texts and skills that people write for the agent.
//! - [`LogWriter`] writes the project's logs without secrets, and [`LogReader`] follows them.
//!
//! The crate never reads the process environment, the home folder or the clock by itself. They are arguments, so
//! that two projects can live in one process and a test controls everything it sees.

mod files;
mod init;
mod load;
mod logs;
mod project;
mod provider;
mod root;
mod secrets;
mod settings;
mod skills;
mod texts;

pub use files::FileError;
pub use init::{CreatedFile, CreatedKind, InitError, init};
pub use load::{
    DotEnvProblem, LoadProjectError, ProjectProblem, ProjectProblemKind, SettingSource, Warning,
    WarningKind, nearest_name,
};
pub use logs::{Level, LogEntry, LogOptions, LogReader, LogWriter};
pub use project::{Effective, Project};
pub use provider::{ProviderChoice, ProviderKey, choose_provider};
pub use root::find_root;
pub use secrets::{Secret, Secrets};
pub use settings::{
    AdapterSettings, Address, ArchiveSettings, ChatEgressSettings, ChatQueueSettings,
    ContextSettings, GroupAccess, HistorySettings, LimitSettings, LlmSettings, LockSettings,
    MemorySettings, OnUncertain, ProviderName, QueueMode, RunSettings, Settings, SkillSettings,
    StartSettings, StorageSettings, TelegramMode, TelegramSettings, TokenBudget, ToolSettings,
};
pub use skills::{Skill, SkillSource, SkillState, scan_skills};
pub use texts::{SystemTexts, read_system_texts};
