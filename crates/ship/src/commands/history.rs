//! `ship history`: what was said, from wherever it is kept.

use std::collections::HashSet;
use std::process::ExitCode;

use ship_message::UiPart;
use ship_message::json::{Json, Object};
use ship_message::{PartFields, UiMessage};
use ship_store::{Chat, LedgerBody, Timestamp};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

pub(crate) async fn run(session: &Session, last: usize, ledger: bool) -> Result<ExitCode, Failure> {
    let Some(chat) = session.store()?.open(&session.chat).await? else {
        return Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
            .hint("ship chats lists them"));
    };
    if ledger {
        print_ledger(session, &*chat, last).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let messages = newest(&*chat, last).await?;
    let style = Style::of_stdout();
    for message in &messages {
        if session.json {
            output::json(&Json::Object(message.clone()))?;
        } else {
            print_message(message, style)?;
        }
    }
    if messages.is_empty() && !session.json {
        output::line("Nothing was said yet.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest messages, oldest first: the live log, then sealed ones as far as needed, each message once.
async fn newest(chat: &dyn Chat, last: usize) -> Result<Vec<Object>, Failure> {
    let mut found: Vec<Object> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut take = |messages: Vec<Object>, found: &mut Vec<Object>| {
        for message in messages.into_iter().rev() {
            if found.len() < last && seen.insert(message.str("id").unwrap_or_default().to_owned()) {
                found.push(message);
            }
        }
    };
    // The live log first: one that is rotated meanwhile is then among the sealed ones.
    if let Some(view) = chat.view().await? {
        take(view.messages().cloned().collect(), &mut found);
    }
    for sealed in chat.sealed().await? {
        if found.len() >= last {
            break;
        }
        let view = chat.sealed_view(&sealed.name).await?;
        take(view.messages().cloned().collect(), &mut found);
    }
    found.reverse();
    Ok(found)
}

fn print_message(message: &Object, style: Style) -> Result<(), Failure> {
    let Ok(message) = UiMessage::from_json(Json::Object(message.clone())) else { return Ok(()) };
    let when = message.metadata().and_then(|metadata| metadata.get("ts")).and_then(Json::as_number);
    let when =
        when.map(|millis| Timestamp::from_millis(millis as i64).to_string()).unwrap_or_default();
    let who = message.role().name().unwrap_or("?");
    output::line(&format!("{} {}", style.bold(who), style.dim(&when)))?;
    for part in message.parts() {
        match part {
            UiPart::Text(text) => output::line(&output::visible(text.text()))?,
            UiPart::Tool(tool) => {
                let name = tool.name().unwrap_or("?");
                let state = tool.field("state").and_then(Json::as_str).unwrap_or("?");
                output::line(&style.cyan(&format!("[{name}: {state}]")))?;
            }
            UiPart::File(file) => {
                output::line(&style.cyan(&format!("[file {}]", file.media_type())))?
            }
            UiPart::Reasoning(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => {}
        }
    }
    output::line("")
}

async fn print_ledger(session: &Session, chat: &dyn Chat, last: usize) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for line in chat.ledger_before(None, last).await? {
        let LedgerBody::Entry(entry) = line.body else { continue };
        if session.json {
            let mut object = entry.entry;
            object.set("seq", line.seq.get());
            output::json(&Json::Object(object))?;
            continue;
        }
        let role = entry.entry.str("role").unwrap_or("?");
        let text = output::visible(entry.entry.str("text").unwrap_or_default());
        output::line(&format!("{:>5} {} {text}", line.seq.get(), style.bold(role)))?;
    }
    Ok(())
}
