//! `ship context …`, `checkpoint`, `fork`, `rewind` and `undo`, and the same in `ship chat`: performs a request
//! about the contexts of a chat and prints the result.

mod list;
mod shell_hints;
mod show;

use std::process::ExitCode;

use ship_agent::{
    Agent, ChatNews, ChatNewsItem, ContextChange, ContextList, ContextName, ContextNotice,
    ContextOperation, OperationOutcome, OperationRefusal, UndoPreview,
};
use ship_context::contexts::{LoadMode, RecallMode};
use ship_message::json::{Json, Object};

use super::frozen_holder::{FrozenHolder, command_failure};
use crate::arguments::{ContextCommand, DEFAULT_CHAT};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

use shell_hints::{hints_for_shell, line_for_program};
pub(super) use shell_hints::{line_for_chat, line_for_shell};

/// A request about the contexts of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ContextRequest {
    /// List the contexts of the chat.
    List {
        /// The maximal number of archived contexts.
        limit: Option<u64>,
    },
    /// Show the content of one context.
    Show {
        /// The id or words of the context; the active one if there are none.
        which: Option<String>,
    },
    /// Perform an operation on the contexts.
    Do(ContextOperation),
}

/// Makes the request that a command line asks for.
impl From<&ContextCommand> for ContextRequest {
    fn from(command: &ContextCommand) -> Self {
        match command {
            ContextCommand::List { limit } => Self::List { limit: Some(*limit) },
            ContextCommand::Show { which } => {
                let which = which.join(" ");
                Self::Show { which: Some(which).filter(|which| !which.is_empty()) }
            }
            ContextCommand::New { words, title, reason } => {
                let words = Some(words.join(" ")).filter(|words| !words.is_empty());
                let title = title.clone().or(words);
                Self::Do(ContextOperation::New { title, reason: reason.clone() })
            }
            ContextCommand::Load { which, mode } => {
                let which = which.join(" ");
                // The command line has let no other value through.
                Self::Do(match LoadMode::named(mode).and_then(LoadMode::recall_mode) {
                    None => ContextOperation::Load { which },
                    Some(mode) => ContextOperation::Recall { which, mode },
                })
            }
            ContextCommand::Recall { around: Some(id), .. } => {
                Self::Do(ContextOperation::RecallMessage { id: id.clone() })
            }
            ContextCommand::Recall { which, mode, around: None } => {
                let mode = RecallMode::named(mode).unwrap_or(RecallMode::Summary);
                Self::Do(ContextOperation::Recall { which: which.join(" "), mode })
            }
            ContextCommand::Clear => Self::Do(ContextOperation::Clear),
            ContextCommand::Rename { title } => {
                Self::Do(ContextOperation::Rename { title: title.join(" ") })
            }
        }
    }
}

pub(crate) async fn run(session: &Session, request: &ContextRequest) -> Result<ExitCode, Failure> {
    let agent = session.agent().await?;
    match request {
        ContextRequest::Do(operation) => {
            let preview = match operation {
                ContextOperation::Undo if !session.json => {
                    agent.preview_undo(&session.chat).await?
                }
                _ => None,
            };
            let operated = agent.operate(&session.chat, operation.clone(), "terminal").await;
            let mut operated = operated.map_err(command_failure)?;
            if let OperationOutcome::Done(change) = &mut operated
                && let Some(preview) = preview
                && let Some(line) = undone_line(
                    &preview,
                    change,
                    |name| format!("`ship {name}`"),
                    &format!("`{}`", session.chat_flags.add_to("ship undo")),
                )
            {
                (change.line, change.way_back) = (line, None);
            }
            print_outcome(session, &agent, operation, operated).await?;
        }
        look => {
            let list_command = session.chat_flags.add_to("ship context list");
            show_requested(session, &agent, look, &list_command).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows the requested list or context; does nothing for an operation. `list_command` lists contexts here.
pub(super) async fn show_requested(
    session: &Session,
    agent: &Agent,
    request: &ContextRequest,
    list_command: &str,
) -> Result<(), Failure> {
    match request {
        ContextRequest::List { limit } => list::run(session, agent, *limit, list_command).await,
        ContextRequest::Show { which } => show::run(session, agent, which.as_deref()).await,
        ContextRequest::Do(_) => Ok(()),
    }
}

/// Returns the contexts of the chat; `None` before anything is said in the default chat.
async fn contexts(session: &Session, agent: &Agent) -> Result<Option<ContextList>, Failure> {
    let contexts = agent.contexts(&session.chat).await?;
    if contexts.is_none() && session.chat.as_str() != DEFAULT_CHAT {
        return Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
            .with_hint("`ship chats` lists them"));
    }
    Ok(contexts)
}

/// Returns what other processes have done to the contexts since the last call, in order. The answers of other processes
/// are found by those that wait for them.
pub(super) async fn read_context_news(news: &mut ChatNews) -> Result<Vec<ContextNotice>, Failure> {
    let contexts = |item| match item {
        ChatNewsItem::Context(notice) => Some(notice),
        ChatNewsItem::Accepted(_) | ChatNewsItem::Answered(_) => None,
    };
    Ok(news.read().await?.into_iter().filter_map(contexts).collect())
}

/// Fails if an operation waits for a frozen process.
async fn refuse_frozen(
    session: &Session,
    agent: &Agent,
    operated: &OperationOutcome,
) -> Result<(), Failure> {
    if !matches!(operated, OperationOutcome::Queued) {
        return Ok(());
    }
    match FrozenHolder::find(session, agent).await? {
        Some(frozen) => Err(frozen.failure("what you asked for is kept, and not done yet")),
        None => Ok(()),
    }
}

/// Prints the result of an operation, for a person at a shell or for a program.
pub(super) async fn print_outcome(
    session: &Session,
    agent: &Agent,
    operation: &ContextOperation,
    operated: OperationOutcome,
) -> Result<(), Failure> {
    refuse_frozen(session, agent, &operated).await?;
    match operated {
        OperationOutcome::NotDone(not_done) => Err(refusal_failure(session, not_done)),
        OperationOutcome::Queued if session.json => {
            output::print_json(&Json::Object(Object::from([
                ("operation", Json::from(operation.name())),
                ("queued", true.into()),
                ("line", OperationOutcome::Queued.line().into()),
            ])))
        }
        OperationOutcome::Queued => output::print_line(&table::wrap_text(&operated.line(), 0)),
        OperationOutcome::Done(changed) if session.json => {
            output::print_json(&to_json(session, &changed))
        }
        OperationOutcome::Done(changed) => {
            let way_back = changed.way_back.as_ref();
            let line = line_for_shell(&changed.line, way_back, &session.chat_flags);
            let line = line + &way_to_copy(session, &changed);
            output::print_line(&table::wrap_text(&output::escape_unprintable(&line), 0))?;
            print_recalled(session, agent, operation).await
        }
    }
}

/// Tells which switch was undone; `None` if it was something else. `command` returns the words for a command, and `undo`
/// is the one that was given.
pub(super) fn undone_line(
    preview: &UndoPreview,
    change: &ContextChange,
    command: impl Fn(&str) -> String,
    undo: &str,
) -> Option<String> {
    let now_in = format!("now in “{}”", change.active.title);
    let undone = match preview.switch.as_deref()? {
        "undo" => format!("the last {}", command("undo")),
        // Both may have been an undo of an exchange, which a person would not call so.
        "rewind" | "clear" => {
            return Some(format!(
                "Your messages are back: {now_in}. {undo} takes them back again."
            ));
        }
        name @ ("new" | "load") => command(&format!("context {name}")),
        name => command(name),
    };
    Some(format!("Undid {undone}: {now_in}. {undo} again restores it."))
}

/// Formats a line about contexts that appears among the agent's answers.
pub(super) fn dim_line(line: &str) -> String {
    Style::of_stdout().dim(&table::wrap_text(&output::escape_unprintable(line), 2))
}

/// Prints the result of an operation for a person in `ship chat`.
pub(super) async fn print_outcome_in_chat(
    session: &Session,
    agent: &Agent,
    operation: &ContextOperation,
    operated: OperationOutcome,
) -> Result<(), Failure> {
    refuse_frozen(session, agent, &operated).await?;
    let note = |line: &str| output::print_line(&dim_line(line));
    match operated {
        OperationOutcome::Queued => note(&operated.line()),
        OperationOutcome::Done(changed) => {
            let line = line_for_chat(&changed.line, changed.way_back.as_ref());
            note(&(line + &way_to_copy(session, &changed)))?;
            print_recalled(session, agent, operation).await
        }
        OperationOutcome::NotDone(not_done) => {
            note(&line_for_chat(&not_done.line, None))?;
            let offered = |it: &ContextName| note(&format!("  {}  {}", it.context, it.title));
            not_done.offered.iter().try_for_each(offered)
        }
    }
}

/// Shows the person what the model is shown.
async fn print_recalled(
    session: &Session,
    agent: &Agent,
    done: &ContextOperation,
) -> Result<(), Failure> {
    match done {
        ContextOperation::Recall { which, mode } => {
            match agent.look_at_context(&session.chat, which).await? {
                Ok(snapshot) => show::print_recalled(session, &snapshot, *mode),
                // Another process has just loaded it; the model was shown it all the same.
                Err(_) => Ok(()),
            }
        }
        ContextOperation::RecallMessage { id } => {
            match agent.recalled_message(&session.chat, id).await? {
                Some(text) => show::print_recalled_messages(&text),
                // Another process has just taken it back.
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Makes the failure of a refused operation, with the contexts that may have been meant.
pub(super) fn refusal_failure(session: &Session, not_done: OperationRefusal) -> Failure {
    let for_shell = |text: &str| hints_for_shell(text, &session.chat_flags);
    let failure = Failure::new("not_done", for_shell(&not_done.problem));
    match (not_done.offered.is_empty(), &not_done.remedy) {
        (true, Some(remedy)) => failure.with_hint(for_shell(remedy)),
        (true, None) => failure,
        (false, _) => failure
            .with_offered_contexts(not_done.offered)
            .with_hint("name one by its id; `ship context list` lists them"),
    }
}

/// Returns the sentence that leads to a copy in another chat; nothing if there is none.
fn way_to_copy(session: &Session, changed: &ContextChange) -> String {
    let Some(chat) = &changed.chat else { return String::new() };
    let chat = output::quote_for_shell(chat.as_str());
    let command = session.chat_flags.of_project().add_to(&format!("ship chat --chat {chat}"));
    format!(" To go there: {command}")
}

fn to_json(session: &Session, changed: &ContextChange) -> Json {
    let line = line_for_program(&changed.line, changed.way_back.as_ref(), &session.chat_flags);
    let chat = changed.chat.as_ref().map(|chat| Json::from(chat.as_str()));
    Json::Object(Object::from([
        ("operation", Json::from(changed.operation.as_str())),
        ("active", changed.active.to_json()),
        ("left", changed.left.as_ref().map_or(Json::Null, ContextName::to_json)),
        ("chat", chat.unwrap_or_default()),
        ("line", line.into()),
    ]))
}
