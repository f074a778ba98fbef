//! `ship history`: what was said, from wherever it is kept.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::ExitCode;

use ship_agent::question_id;
use ship_context::contexts::{MOVED, is_reference_line};
use ship_message::UiPart;
use ship_message::json::{Json, Object};
use ship_message::{Role, ToolState, UiMessage};
use ship_project::Settings;
use ship_store::{Chat, LedgerBody, LedgerLine, SealedLog, View};

use crate::arguments::DEFAULT_CHAT;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use crate::told::{self, Deliveries};

pub(crate) async fn run(session: &Session, last: usize, ledger: bool) -> Result<ExitCode, Failure> {
    let Some(chat) = session.store()?.open(&session.chat).await? else {
        // Before anything is said, there is nothing wrong with the chat that everybody begins in.
        if session.chat.as_str() == DEFAULT_CHAT {
            return nothing(session);
        }
        return Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
            .hint("`ship chats` lists them"));
    };
    if ledger {
        print_ledger(session, &*chat, last).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // What waits is read first: what is answered meanwhile is then seen twice, and shown once.
    let waiting = waiting(&*chat).await?;
    let mut messages = newest(&*chat, last).await?;
    let is_known = |new: &Object| messages.iter().any(|old| old.str("id") == new.str("id"));
    let waiting: Vec<Object> = waiting.into_iter().filter(|new| !is_known(new)).collect();
    messages.extend(waiting);
    messages.drain(..messages.len().saturating_sub(last));
    let style = Style::of_stdout();
    for message in &messages {
        if session.json {
            output::json(&Json::Object(message.clone()))?;
        } else {
            print_message(message, style, session.project.settings())?;
        }
    }
    if messages.is_empty() && last > 0 {
        return nothing(session);
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(session: &Session) -> Result<ExitCode, Failure> {
    if !session.json {
        output::line("Nothing was said yet.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest messages, oldest first, each once: of the live log, and of sealed ones as far as needed. One that
/// was come back to holds messages that are older than those of others, so they are put in order by when they
/// were said.
async fn newest(chat: &dyn Chat, last: usize) -> Result<Vec<Object>, Failure> {
    let mut found = Said::default();
    // The live log first: one that is rotated meanwhile is then among the sealed ones.
    if let Some(view) = chat.view().await? {
        found.take(&view);
    }
    for sealed in chat.sealed().await? {
        // Nothing in a log was said after it was sealed.
        if found.later_than(sealed_at(&sealed)) >= last {
            break;
        }
        if sealed.purged.is_none() {
            found.take(&chat.sealed_view(&sealed.name).await?);
        }
    }
    Ok(found.newest(last))
}

/// Messages with the moments that they stand at.
#[derive(Default)]
struct Said {
    messages: Vec<Object>,
    moments: HashMap<String, f64>,
}

impl Said {
    /// Takes the messages of a log that are not here yet.
    fn take(&mut self, view: &View) {
        let mut latest = 0.0;
        let mut taken = Vec::new();
        // A summary or a reference was never said; what it stands for is in a sealed log.
        let was_said = |message: &&Object| !is_summary(message) && !is_reference_line(message);
        for message in view.messages().filter(was_said) {
            let ts = message.get("metadata").and_then(|metadata| metadata.get("ts")?.as_number());
            // The order of a log counts: what was said during an answer stands behind it, also where a later log
            // has no more than the one.
            latest = ts.unwrap_or(latest).max(latest);
            let id = id(message).to_owned();
            match self.moments.entry(id) {
                Entry::Vacant(place) => {
                    place.insert(latest);
                    taken.push(message.clone());
                }
                Entry::Occupied(mut place) => *place.get_mut() = place.get().max(latest),
            }
        }
        // Older logs come later, and of one moment what is in them comes first.
        taken.append(&mut self.messages);
        self.messages = taken;
    }

    fn later_than(&self, moment: f64) -> usize {
        self.moments.values().filter(|said| **said > moment).count()
    }

    fn newest(mut self, last: usize) -> Vec<Object> {
        let moment = |message: &Object| self.moments.get(id(message)).copied().unwrap_or_default();
        self.messages.sort_by(|a, b| moment(a).total_cmp(&moment(b)));
        self.messages.split_off(self.messages.len().saturating_sub(last))
    }
}

fn id(message: &Object) -> &str {
    message.str("id").unwrap_or_default()
}

/// When a log was sealed, as its name tells; for ever away if it does not.
fn sealed_at(log: &SealedLog) -> f64 {
    let (stamp, _) = log.name.as_str().split_once('-').unwrap_or_default();
    let at = jiff::fmt::strtime::parse("%Y%m%dT%H%M%S", stamp.get(..15).unwrap_or_default());
    let at = at.and_then(|at| at.to_datetime()).and_then(|at| at.to_zoned(jiff::tz::TimeZone::UTC));
    // The rest of the second may have been said in too.
    at.map_or(f64::INFINITY, |at| at.timestamp().as_millisecond() as f64 + 1000.0)
}

fn is_summary(message: &Object) -> bool {
    message.get("metadata").and_then(|metadata| metadata.get("kind")?.as_str()) == Some("summary")
}

/// The messages that were accepted and are in no context yet, marked as queued.
async fn waiting(chat: &dyn Chat) -> Result<Vec<Object>, Failure> {
    let view = chat.view().await?;
    let inbox = view.as_ref().and_then(|view| view.inbox);
    let message = |line: LedgerLine| {
        let LedgerBody::Entry(entry) = line.body else { return None };
        let mut metadata = entry.entry;
        (metadata.str("role") == Some("user")).then_some(())?;
        metadata.remove("role");
        let text = metadata.remove("text").unwrap_or_default();
        metadata.set("queued", true);
        let part = Object::from([("type", Json::from("text")), ("text", text)]);
        let first = || format!("u_{}", line.seq);
        let id = view.as_ref().map_or_else(first, |view| question_id(view, line.seq));
        Some(Object::from([
            ("id", Json::from(id)),
            ("role", "user".into()),
            ("parts", vec![Json::Object(part)].into()),
            ("metadata", metadata.into()),
        ]))
    };
    Ok(super::chats::unread(chat, inbox).await?.into_iter().filter_map(message).collect())
}

fn print_message(message: &Object, style: Style, settings: &Settings) -> Result<(), Failure> {
    let Ok(message) = UiMessage::from_json(Json::Object(message.clone())) else { return Ok(()) };
    let was_left = message.metadata().is_some_and(|metadata| metadata.get(MOVED).is_some());
    if was_left && told::told(&message, settings).is_empty() {
        // Only the call that switched, with which the answer in the other context begins.
        return Ok(());
    }
    let about = |key: &str| message.metadata().and_then(|metadata| metadata.get(key));
    let mut when = about("ts").and_then(Json::as_number).map(output::moment).unwrap_or_default();
    if about("queued").is_some() {
        when.push_str(" (queued)");
    }
    let who = match (message.role().name(), about("username").and_then(Json::as_str)) {
        (Some("user"), Some(name)) => output::visible(name),
        (role, _) => role.unwrap_or("?").to_owned(),
    };
    output::line(&format!("{} {}", style.bold(&who), style.dim(&when)))?;
    // What a person typed is shown as it was typed; what an agent writes is Markdown.
    let shown = |text: &str| match message.role() {
        Role::Assistant => told::shown(text),
        _ => table::wrapped_lines(&output::visible(text)),
    };
    let mut deliveries = Deliveries::new(settings);
    for part in message.parts() {
        match part {
            UiPart::Text(text) => output::line(&shown(text.text()))?,
            UiPart::Tool(tool) => {
                let name = output::visible(tool.name().unwrap_or("?"));
                output::line(&style.cyan(&format!("[{name}: {}]", became(tool.state()))))?;
                if let Some(text) = deliveries.of(tool) {
                    output::line(&shown(&text))?;
                }
            }
            UiPart::File(file) => output::line(
                &style.cyan(&format!("[file {}]", output::visible(file.media_type()))),
            )?,
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

/// What became of a call, in a word.
fn became(state: ToolState) -> &'static str {
    match state {
        ToolState::OutputAvailable => "done",
        ToolState::OutputError => "failed",
        ToolState::OutputDenied => "not allowed",
        ToolState::ApprovalRequested => "waits for your word",
        ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::ApprovalResponded
        | ToolState::Unknown => "not finished",
    }
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
        let role = table::pad(entry.entry.str("role").unwrap_or("?"), 9);
        let text = output::visible(entry.entry.str("text").unwrap_or_default());
        // Further lines stand under the first, so that a text cannot pose as an entry.
        let text = text.replace('\n', &format!("\n{:17}", ""));
        output::line(&format!("{:>5}  {} {text}", line.seq.get(), style.bold(&role)))?;
    }
    Ok(())
}
