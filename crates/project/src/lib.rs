//! Reads a project folder: its settings, secrets, texts and skills, and its logs.
//!
//! ```
//! use ship_project::{Project, ProviderName};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("ship.json"), r#"{"context":{"history":{"keepLastMessages":20}}}"#)?;
//! let environment = [("ANTHROPIC_API_KEY".to_owned(), "sk-ant-123".to_owned())];
//! let project = Project::load(folder.path(), environment)?;
//! let kept = project.settings().context.history.keep_last_messages;
//! assert_eq!((kept, project.provider().provider), (20, ProviderName::Anthropic));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`find_root`] finds the project folder, and [`init`] gives a new project its first files.
//! - [`Project::load`] reads `ship.json` and `.env` under an environment. It gives typed [`Settings`], the source of
//!   each value, the choice of a provider, and the [`Secrets`] that must not be shown.
//! - [`SettingsEditor`] changes one setting in a file, and keeps its comments.
//! - [`read_system_texts`] and [`scan_skills`] read the texts and skills that people write for the agent, and [`TextCache`]
//!   reads them again only when they have changed.
//! - [`LogWriter`] writes the project's logs without secrets, and [`LogReader`] follows them.
//!
//! The crate never reads the process environment, the home folder or the clock by itself. They are arguments, so
//! that two projects can live in one process and a test controls everything it sees.

mod edit;
mod file_reader;
mod init;
mod load;
mod logs;
mod project;
mod project_root;
mod provider_choice;
mod secrets;
mod settings;
mod skills;
mod system_texts;
mod text_cache;

pub use edit::{EditSettingsError, SettingsEditor};
pub use init::{CreatedFile, CreatedKind, InitError, init};
pub use load::{
    DotEnvProblem, LoadProjectError, ProjectProblem, ProjectProblemKind, SettingScope,
    SettingSource, Warning, WarningKind, nearest_name,
};
pub use logs::{Level, LogEntry, LogOptions, LogReader, LogWriter};
pub use project::{EffectiveSetting, Project};
pub use project_root::find_root;
pub use provider_choice::{ProviderChoice, ProviderKey, choose_provider};
pub use secrets::{Secret, Secrets};
pub use settings::{
    AdapterSettings, Address, ArchiveSettings, ChatEgressSettings, ChatQueueSettings,
    ContextSettings, GroupAccess, HistorySettings, LimitSettings, LlmSettings, LockSettings,
    MemorySettings, OnUncertain, OnUndecided, PriceSettings, ProviderName, QueueMode,
    RecallSettings, RequestFacts, RunSettings, Settings, SkillSettings, StartSettings,
    StorageSettings, TelegramMode, TelegramSettings, TokenBudget, ToolSettings,
};
pub use skills::{Skill, SkillSource, SkillState, scan_skills};
pub use system_texts::{SystemTexts, read_system_texts};
pub use text_cache::{TextCache, TextsAndSkills};
