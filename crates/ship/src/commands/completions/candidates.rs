//! Looks up the names that a person may complete: chats, contexts, checkpoints, messages, requests, settings and files.
//!
//! Nothing is printed here, not even a warning: it would stand in the middle of the line that is being typed. Where
//! something cannot be read, there are no candidates.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};
use ship_agent::{Agent, AgentBuilder, ContextList, open_store};
use ship_project::{Project, find_root};
use ship_store::{ChatKey, SystemClock};

use crate::arguments::DEFAULT_CHAT;
use crate::commands::message_exchange::active_messages;
use crate::commands::message_line::last_messages;
use crate::output::{escape_unprintable, format_time, quote_for_shell};
use crate::process;
use crate::session;

/// The number of requests that are offered.
const REQUESTS_MAX: usize = 20;

/// Returns the chats that begin with the typed text. Those of the terminal need no channel, which is also shorter.
pub(super) fn chats(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let keys = chat_keys().unwrap_or_default();
    let short = |key: &ChatKey| {
        let name = key.as_str().strip_prefix("terminal:")?.to_owned();
        let is_taken = keys.iter().any(|other| other.as_str() == name);
        (!is_taken && !typed.starts_with("terminal:")).then_some(name)
    };
    let names = keys.iter().map(|key| short(key).unwrap_or_else(|| key.as_str().to_owned()));
    names.filter(|name| name.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

fn chat_keys() -> Option<Vec<ChatKey>> {
    let store = open_store(&project()?, Arc::new(SystemClock)).ok()?;
    let found = process::runtime(process::RuntimeThreads::One)
        .ok()?
        .block_on(store.chats(None, usize::MAX))
        .ok()?;
    let mut keys: Vec<ChatKey> = found.chats.into_iter().filter_map(|it| it.key.ok()).collect();
    // The list has the newest first; a person looks for a name.
    keys.sort();
    Some(keys)
}

/// Returns the ids of the contexts that the typed text begins, by id or title, with their titles.
pub(super) fn contexts(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy().to_lowercase();
    let Some(contexts) = context_list() else { return Vec::new() };
    let items = contexts.index.items().iter();
    let items = items.filter(|item| {
        item.context.as_str().starts_with(&typed) || item.title.to_lowercase().starts_with(&typed)
    });
    items
        .map(|item| {
            let title = escape_unprintable(&item.title).replace('\n', " ");
            CompletionCandidate::new(item.context.as_str()).help(Some(title.into()))
        })
        .collect()
}

/// Returns the checkpoints that begin with the typed text, and the ids of the last messages. Bash takes them as they are,
/// so they are quoted for it.
pub(super) fn places(typed: &OsStr, is_bash: bool) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let typed = typed.trim_start_matches(['\'', '"']);
    let names = context_list().map(|contexts| contexts.checkpoints).unwrap_or_default();
    let names = names.iter().filter(|name| name.starts_with(typed));
    names
        .map(|name| if is_bash { quote_for_shell(name) } else { name.clone() })
        .map(CompletionCandidate::new)
        .chain(messages(typed))
        .collect()
}

fn messages(typed: &str) -> Vec<CompletionCandidate> {
    let messages = project().and_then(|project| {
        let store = open_store(&project, Arc::new(SystemClock)).ok()?;
        let chat = chosen_chat(&project)?;
        let reading = active_messages(&*store, &chat);
        let messages =
            process::runtime(process::RuntimeThreads::One).ok()?.block_on(reading).ok()?;
        Some(last_messages(messages.iter(), project.settings()))
    });
    let messages = messages.unwrap_or_default().into_iter().filter(|(id, _)| id.starts_with(typed));
    messages.map(|(id, line)| CompletionCandidate::new(id).help(Some(line.into()))).collect()
}

/// Returns the settings that begin with the typed text, with their purpose.
pub(super) fn settings(typed: &OsStr) -> Vec<CompletionCandidate> {
    let rows = project().map(|project| project.effective_settings()).unwrap_or_default();
    let rows = rows.iter().filter(|row| row.key.starts_with(&*typed.to_string_lossy()));
    rows.map(|row| CompletionCandidate::new(row.key).help(Some(row.about.into()))).collect()
}

/// Returns the words that the setting in the line takes, as far as they begin with the typed text.
pub(super) fn setting_values(typed: &OsStr) -> Vec<CompletionCandidate> {
    let line = words_of_line();
    let after_set = line.iter().skip_while(|word| *word != "set").skip(1);
    let key = after_set.into_iter().find(|word| !word.starts_with('-'));
    let rows = project().map(|project| project.effective_settings()).unwrap_or_default();
    let words = rows.iter().filter(|row| Some(row.key) == key.map(String::as_str));
    let words =
        words.flat_map(|row| row.words).filter(|word| word.starts_with(&*typed.to_string_lossy()));
    words.map(CompletionCandidate::new).collect()
}

/// Returns the files that a word of a message may attach: those that begin with the text behind its @.
pub(super) fn attachments(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let Some(path) = typed.strip_prefix('@') else { return Vec::new() };
    let files = PathCompleter::file().complete(OsStr::new(path));
    files.into_iter().map(|file| file.add_prefix("@")).collect()
}

/// Returns the last requests of the chat that begin with the typed text, the newest first, with their times.
pub(super) fn requests(typed: &OsStr) -> Vec<CompletionCandidate> {
    let calls = agent_and_chat().and_then(|(agent, chat)| {
        process::runtime(process::RuntimeThreads::One)
            .ok()?
            .block_on(agent.requests(&chat, REQUESTS_MAX))
            .ok()
    });
    let records = calls.unwrap_or_default().into_iter().rev().map(|call| call.record);
    let records = records.filter(|record| record.id.starts_with(&*typed.to_string_lossy()));
    records
        .map(|record| {
            let when = format_time(record.ts);
            CompletionCandidate::new(escape_unprintable(&record.id)).help(Some(when.into()))
        })
        .collect()
}

fn context_list() -> Option<ContextList> {
    let (agent, chat) = agent_and_chat()?;
    process::runtime(process::RuntimeThreads::One).ok()?.block_on(agent.contexts(&chat)).ok()?
}

fn agent_and_chat() -> Option<(Agent, ChatKey)> {
    let project = project()?;
    let chat = chosen_chat(&project)?;
    let agent = AgentBuilder::from_project(&project, Arc::new(SystemClock)).ok()?.build();
    Some((agent, chat))
}

fn chosen_chat(project: &Project) -> Option<ChatKey> {
    let name = chosen("--chat", "SHIP_CHAT").unwrap_or_else(|| DEFAULT_CHAT.to_owned());
    session::find_chat(project.root(), &name).ok()
}

fn project() -> Option<Project> {
    let here = std::env::current_dir().ok()?;
    let root = match chosen("--project", "SHIP_PROJECT") {
        Some(folder) => here.join(folder),
        None => find_root(&here, std::env::home_dir().as_deref()),
    };
    let user_file: Option<PathBuf> = session::user_settings_file();
    Project::load_with_user_settings(root, user_file.as_deref(), session::environment()).ok()
}

/// Returns the value of a flag in the line that is being typed, or else that of its variable.
fn chosen(flag: &str, variable: &str) -> Option<String> {
    let words = words_of_line();
    let at = words.iter().position(|word| word == flag);
    let after = at.and_then(|at| words.get(at + 1).cloned());
    let joined = words.iter().find_map(|word| word.strip_prefix(flag)?.strip_prefix('='));
    let value =
        after.or_else(|| joined.map(str::to_owned)).or_else(|| std::env::var(variable).ok());
    value.filter(|value| !value.is_empty())
}

fn words_of_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}
