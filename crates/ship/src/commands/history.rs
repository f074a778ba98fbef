//! `ship history`: prints the messages of a chat, or the entries of its ledger.

mod context_marks;
mod ledger_entries;
mod printed_message;

use std::process::ExitCode;

use ship_agent::{HistoryReader, MessageSearch};

use crate::arguments::DEFAULT_CHAT;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use context_marks::ContextMarks;
use ledger_entries::print_ledger;
use printed_message::print_message;

pub(crate) async fn run(session: &Session, last: usize, ledger: bool) -> Result<ExitCode, Failure> {
    // No agent is needed, so a chat can be read whatever is wrong with the model.
    let Some(chat) = session.store()?.open(&session.chat).await? else {
        return print_no_chat(session);
    };
    if ledger {
        print_ledger(session, &*chat, last).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let history = HistoryReader::open(chat, last).await?;
    match history.is_empty() && last > 0 {
        true => print_nothing(session),
        false => print_messages(session, history).await,
    }
}

/// Prints a message and those around it, half of them before it.
pub(crate) async fn run_around(
    session: &Session,
    id: &str,
    count: usize,
) -> Result<ExitCode, Failure> {
    let others = count.saturating_sub(1);
    let search = MessageSearch::new(session.store()?);
    let found = search.around(&session.chat, id, others / 2, others - others / 2).await?;
    let Some(found) = found else {
        return Err(Failure::new("no_message", format!("there is no message `{id}` in this chat"))
            .with_hint("`ship search` tells ids"));
    };
    for neighbour in found {
        match session.json {
            true => output::print_json(&neighbour.message.into_json())?,
            false => {
                print_message(&neighbour.message, Style::of_stdout(), session.project.settings())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Every project has the default chat, so it is not an error that nothing was said in it yet.
fn print_no_chat(session: &Session) -> Result<ExitCode, Failure> {
    if session.chat.as_str() == DEFAULT_CHAT {
        return print_nothing(session);
    }
    Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
        .with_hint("`ship chats` lists them"))
}

fn print_nothing(session: &Session) -> Result<ExitCode, Failure> {
    if !session.json {
        output::print_line("Nothing was said yet.")?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn print_messages(
    session: &Session,
    mut history: HistoryReader,
) -> Result<ExitCode, Failure> {
    let mut marks = ContextMarks::new(session, &history).await;
    for nth in 0..history.len() {
        let Some(read) = history.message(nth).await? else { continue };
        if session.json {
            output::print_json(&read.message.into_json())?;
            continue;
        }
        if let Some(mark) = marks.enter(&read) {
            output::print_line(&mark)?;
        }
        print_message(&read.message, Style::of_stdout(), session.project.settings())?;
    }
    Ok(ExitCode::SUCCESS)
}
