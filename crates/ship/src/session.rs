//! The start of every command except `init`: the project, the chat and the store.

use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_agent::{Agent, AgentBuilder, ModelChoice, chosen_model, open_store};
use ship_context::contexts::UtteranceLimits;
use ship_project::{Project, ProviderName, Secrets, find_root, read_system_texts};
use ship_store::{ChatKey, Clock, StorageProblemKind, Store, SystemClock, Timestamp, chat_folder};

use crate::arguments::Arguments;
use crate::chat_flags::ChatFlags;
use crate::failure::Failure;
use crate::output;

/// The channel of the chats in a terminal.
const TERMINAL: &str = "terminal";

/// The folder with the chats of a project.
const FOLDER: &str = ".ship";

pub(crate) struct Session {
    pub(crate) project: Project,
    pub(crate) chat: ChatKey,
    /// Whether the person named the chat on the command line.
    is_chat_named: bool,
    pub(crate) json: bool,
    /// The flags that choose the same project and chat in another command.
    pub(crate) chat_flags: ChatFlags,
    clock: Arc<dyn Clock>,
    /// The model that the command names.
    model_of_call: Option<String>,
    /// The model that answers in the chat.
    choice: RefCell<ModelChoice>,
    /// The store, once a command has asked for it. The agent has the same: what one of them has read, the other knows.
    store: OnceCell<Arc<dyn Store>>,
    /// The agent, once a command has asked for it.
    agent: RefCell<Option<Agent>>,
    /// Whether `.ship` was missing when the command began, and was not seen since.
    lacks_folder: Cell<bool>,
    /// Whether the folder had no settings, either.
    is_new_project: bool,
}

/// Says whether the person is told of a new folder.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TellNewFolder {
    Yes,
    No,
}

impl Session {
    /// Finds and loads the project.
    pub(crate) fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let root = project_root(arguments)?;
        let user_file = user_settings_file();
        let project = Project::load_with_user_settings(root, user_file.as_deref(), environment())?;
        for warning in project.warnings() {
            output::print_warning(&project.secrets().mask(&warning.to_string()));
        }
        let lacks = |name: &str| !project.root().join(name).exists();
        Ok(Self {
            chat: find_chat(project.root(), &arguments.chat)?,
            is_chat_named: arguments.flags.chat,
            lacks_folder: Cell::new(lacks(FOLDER)),
            is_new_project: lacks(FOLDER) && lacks("ship.json"),
            project,
            json: arguments.json,
            chat_flags: ChatFlags::new(arguments),
            clock: Arc::new(SystemClock),
            model_of_call: arguments.model.clone(),
            choice: RefCell::default(),
            store: OnceCell::new(),
            agent: RefCell::default(),
        })
    }

    /// Adopts the model that is kept with the chat, unless the command names one.
    pub(crate) async fn adopt_model(&self) {
        let choice = self.choice_in(&self.chat).await;
        *self.choice.borrow_mut() = choice;
    }

    /// Returns the model that answers in a chat. A chat that cannot be read is reported by the command that needs it.
    async fn choice_in(&self, chat: &ChatKey) -> ModelChoice {
        let Ok(store) = self.store() else { return ModelChoice::Settings };
        let of_call = self.model_of_call.clone();
        ModelChoice::of_chat(&*store, chat, of_call).await.unwrap_or_default()
    }

    /// Chooses the model of the chat from now on; `None` goes back to the one in the settings.
    pub(crate) async fn keep_model(&self, name: Option<String>) -> Result<(), Failure> {
        if self.is_offline() {
            return Err(self.no_models());
        }
        let kept = ModelChoice::keep(&*self.store()?, &self.chat, TERMINAL, name).await?;
        *self.choice.borrow_mut() = kept;
        self.flush_log();
        *self.agent.borrow_mut() = None;
        Ok(())
    }

    /// Returns the chat, if the person named it on the command line.
    pub(crate) fn named_chat(&self) -> Option<&ChatKey> {
        Some(&self.chat).filter(|_| self.is_chat_named)
    }

    /// Returns which model answers in this chat.
    pub(crate) fn model_choice(&self) -> ModelChoice {
        self.choice.borrow().clone()
    }

    /// Returns the project with the model that answers in this chat.
    fn project_of_chat(&self) -> Project {
        self.choice.borrow().apply(&self.project)
    }

    /// Returns the agent of the project. Warns about texts that exist but cannot be used.
    pub(crate) async fn agent(&self) -> Result<Agent, Failure> {
        if let Some(agent) = &*self.agent.borrow() {
            return Ok(agent.clone());
        }
        let choice = self.project.provider();
        // The chat may have been answered by a provider whose key is gone.
        let is_wanted_now = self.model_of_call.is_some();
        if is_wanted_now && choice.provider == ProviderName::Offline {
            return Err(self.no_models());
        }
        if choice.unused.is_some() {
            output::print_warning(&choice.why);
        }
        for problem in read_system_texts(self.project.root()).problems {
            self.warn_of_text(&problem);
        }
        if let Err(problem) = self.store()?.memory(&self.chat).await {
            self.warn_of_text(&problem);
        }
        let agent = self.build_agent(&self.choice.borrow())?;
        *self.agent.borrow_mut() = Some(agent.clone());
        Ok(agent)
    }

    /// Returns an agent with the model that answers in another chat.
    pub(crate) async fn agent_in(&self, chat: &ChatKey) -> Result<Agent, Failure> {
        match *chat == self.chat {
            true => self.agent().await,
            false => self.build_agent(&self.choice_in(chat).await),
        }
    }

    fn build_agent(&self, choice: &ModelChoice) -> Result<Agent, Failure> {
        let project = choice.apply(&self.project);
        let builder = AgentBuilder::from_project(&project, Arc::clone(&self.clock))?;
        Ok(builder.shared_store(self.store()?).build())
    }

    /// Warns about a text that exists but cannot be used.
    fn warn_of_text(&self, problem: &dyn std::error::Error) {
        let because = problem.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        let warning = format!("{problem}{because}; the agent does not see it");
        output::print_warning(&self.project.secrets().mask(&warning));
    }

    /// Keeps a `.ship` that this command made out of repositories, and tells the person of it where there were not even
    /// settings. A program that reads JSON is not told.
    pub(crate) fn settle_new_folder(&self, tell: TellNewFolder) {
        let folder = self.project.root().join(FOLDER);
        if !self.lacks_folder.get() || !folder.is_dir() {
            return;
        }
        self.lacks_folder.set(false);
        // Only a repository needs it, and chats are kept without it.
        let _ = std::fs::File::create_new(folder.join(".gitignore"))
            .and_then(|mut file| file.write_all(b"*\n"));
        if tell == TellNewFolder::Yes && self.is_new_project && !self.json {
            output::print_notice(&format!("created {} to keep the chats", folder.display()));
        }
    }

    /// Waits until the log is written.
    pub(crate) fn flush_log(&self) {
        if let Some(agent) = &*self.agent.borrow() {
            agent.flush_log();
        }
    }

    /// Prints the warnings about the budget that came since the last call.
    pub(crate) fn print_budget_warnings(&self) {
        let warnings = self.agent.borrow().as_ref().map(Agent::take_budget_warnings);
        for warning in warnings.unwrap_or_default() {
            output::print_warning(&warning);
        }
    }

    /// Prints one line about what was repaired or found damaged during the command.
    pub(crate) fn print_repairs(&self) {
        let repairs = self.agent.borrow().as_ref().map(Agent::take_repairs);
        let mut repairs = repairs.unwrap_or_default();
        // An unfinished write of a killed process was never promised, so it is not reported.
        repairs.retain(|problem| {
            !matches!(problem.kind, StorageProblemKind::TornTail | StorageProblemKind::Leftover)
        });
        let Some(first) = repairs.first() else { return };
        let more = match repairs.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let verify = self.chat_flags.add_to("ship verify");
        output::print_warning(&format!("{}: {}{more}; see `{verify}`", first.place, first.message));
    }

    /// Returns a failure as the person sees it: its remedies name this chat, and its secrets are masked.
    pub(crate) fn complete_failure(&self, failure: Failure) -> Failure {
        let failure = failure.map_hints(|hint| self.chat_flags.add_to_commands_in(hint));
        failure.mask_secrets(self.project.secrets())
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let store = open_store(&self.project, Arc::clone(&self.clock))?;
        Ok(Arc::clone(self.store.get_or_init(|| store)))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the maximal length of a message.
    pub(crate) fn message_bytes_max(&self) -> u64 {
        self.project.settings().limits.message_bytes
    }

    /// Returns how much of a context a person is shown.
    pub(crate) fn active_bounds(&self) -> UtteranceLimits {
        let contexts = &self.project.settings().context.contexts;
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        UtteranceLimits {
            utterances_max: size(contexts.active_max_messages),
            chars_max: size(contexts.active_max_chars),
        }
    }

    /// Returns the name of the model, as the person knows it.
    pub(crate) fn model_name(&self) -> String {
        match self.project.provider().provider {
            ProviderName::Offline => "the offline model".to_owned(),
            _ => chosen_model(&self.project_of_chat()).unwrap_or_else(|| "the model".to_owned()),
        }
    }

    /// Whether the offline model answers.
    pub(crate) fn is_offline(&self) -> bool {
        self.project.provider().provider == ProviderName::Offline
    }

    /// Makes the failure of a person that chooses among the models of no provider.
    fn no_models(&self) -> Failure {
        let is_set = self.project.settings().llm.provider.is_some();
        let hint = match is_set || self.project.provider().unused.is_some() {
            true => "set `llm.provider` to \"openai\" or \"anthropic\" first",
            false => "put OPENAI_API_KEY=… or ANTHROPIC_API_KEY=… into .env first",
        };
        Failure::new("no_model", "the offline model answers here, and has no other models")
            .with_hint(hint)
    }

    /// Returns the way to a real model, for a person that has chosen none.
    pub(crate) fn way_to_real_model(&self) -> Option<&'static str> {
        let is_chosen = self.project.settings().llm.provider.is_some();
        let is_told = is_chosen || self.project.provider().unused.is_some();
        let way = "For a real model, put OPENAI_API_KEY=… or ANTHROPIC_API_KEY=… into .env.";
        (self.is_offline() && !is_told).then_some(way)
    }

    /// Describes the provider and the model to the person.
    pub(crate) fn describe_model(&self) -> String {
        let choice = self.project.provider();
        match (choice.provider, chosen_model(&self.project_of_chat())) {
            (ProviderName::Offline, _) if choice.unused.is_some() => choice.why,
            (ProviderName::Offline, _) => "offline model, a stand-in without a key".to_owned(),
            (_, Some(model)) => format!("{model} of {}", choice.why),
            (_, None) => choice.why,
        }
    }
}

/// Returns the folder of the project that the person means.
pub(crate) fn project_root(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let root = match &arguments.project {
        Some(folder) if folder.is_absolute() => folder.clone(),
        Some(folder) => current_folder()?.join(folder),
        None => find_root(&current_folder()?, std::env::home_dir().as_deref()),
    };
    if root.is_dir() {
        return Ok(root);
    }
    let message = format!("there is no folder {}", root.display());
    Err(Failure::new("no_project", message).with_hint("create it, or name another one"))
}

/// Returns the path of the settings for all projects of the person: `ship/ship.json` in the folder for settings,
/// by <https://specifications.freedesktop.org/basedir-spec>. A relative folder does not count.
pub(crate) fn user_settings_file() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let usual = || std::env::home_dir().map(|home| home.join(".config"));
    let folder = named.filter(|folder| folder.is_absolute()).or_else(usual)?;
    Some(folder.join("ship/ship.json")).filter(|file| file.is_absolute())
}

/// Returns the chat with a name. A name without a channel means the chat of the terminal, if there is one and no chat
/// has just this name.
pub(crate) fn find_chat(root: &Path, name: &str) -> Result<ChatKey, Failure> {
    let key: ChatKey = name.parse()?;
    let exists = |key: &ChatKey| root.join(chat_folder(key)).is_dir();
    if name.contains(':') || exists(&key) {
        return Ok(key);
    }
    let of_terminal: Result<ChatKey, _> = format!("{TERMINAL}:{name}").parse();
    Ok(of_terminal.ok().filter(exists).unwrap_or(key))
}

/// Returns the current folder of the person.
pub(crate) fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::new("no_project", format!("the current folder cannot be used: {error}"))
            .with_hint("it may have been deleted; change to another, or name one with --project")
    })
}

/// Returns the environment. Variables that are not UTF-8 cannot be ours.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Returns the secrets in the environment, for failures before a project is loaded.
pub(crate) fn environment_secrets() -> Secrets {
    let variables: Vec<(String, String)> = environment().collect();
    Secrets::collect(variables.iter().map(|(name, value)| (name.as_str(), value.as_str())), [])
}
