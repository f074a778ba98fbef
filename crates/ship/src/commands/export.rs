//! `ship export`: prints the messages of a chat in a format of other programs.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ship_agent::HistoryReader;
use ship_agent::exchange::{LeftOut, markdown, openai_messages};
use ship_message::UiMessage;
use ship_message::json::Object;
use ship_store::conversation::Conversation;
use ship_store::{Chat, Clock, Metadata, Timestamp};

use super::context::refusal_failure;
use crate::arguments::ExportFormat;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;

/// The number of messages on each side of one.
const BESIDE: usize = 10;

/// What the person asks for.
pub(crate) struct ExportRequest<'a> {
    pub(crate) format: ExportFormat,
    pub(crate) context: Option<&'a str>,
    pub(crate) has_all: bool,
    pub(crate) around: Option<&'a str>,
}

pub(crate) async fn run(
    session: &Session,
    request: ExportRequest<'_>,
) -> Result<ExitCode, Failure> {
    let no_chat = || {
        Failure::new("no_chat", format!("there is nothing in the chat `{}`", session.chat))
            .with_hint("`ship chats` lists the chats")
    };
    let chat = session.store()?.open(&session.chat).await?.ok_or_else(no_chat)?;
    let mut messages = find(session, chat, &request).await?.ok_or_else(no_chat)?;
    let (mut first, mut end) = (0, messages.len());
    if let Some(around) = request.around {
        let at = messages.place_of(around).ok_or_else(|| {
            Failure::new("not_done", format!("no message with the id `{around}` is there"))
                .with_hint("`ship history --json` tells ids; `--all` looks in all contexts")
        })?;
        (first, end) = (at.saturating_sub(BESIDE), (at + BESIDE + 1).min(end));
    }
    let mut written = WrittenExport::new(request.format, session.json);
    for nth in first..end {
        if let Some(read) = messages.message(nth).await? {
            written.write(read.message)?;
        }
    }
    written.finish()
}

/// Finds the messages that were asked for; `None` if the chat has no context.
async fn find(
    session: &Session,
    chat: Arc<dyn Chat>,
    request: &ExportRequest<'_>,
) -> Result<Option<HistoryReader>, Failure> {
    // A message is looked for in all contexts, unless one is named.
    if request.has_all || (request.around.is_some() && request.context.is_none()) {
        return Ok(Some(HistoryReader::open(chat, usize::MAX).await?));
    }
    let context = match request.context {
        None => chat.log().view().await?.map(|view| view.head.context),
        Some(which) => {
            let agent = session.agent().await?;
            match agent.look_at_context(&session.chat, which).await? {
                Ok(snapshot) => Some(snapshot.context().clone()),
                Err(not_done) => return Err(refusal_failure(session, not_done)),
            }
        }
    };
    match context {
        Some(context) => Ok(Some(HistoryReader::of_context(chat, &context).await?)),
        None => Ok(None),
    }
}

/// A clock that shows the time of the message that is written.
#[derive(Clone, Default)]
struct MessageClock(Arc<AtomicI64>);

impl Clock for MessageClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// An export that is being printed.
struct WrittenExport {
    format: ExportFormat,
    is_json: bool,
    left_out: LeftOut,
    /// The entries so far, whose ids and calls decide how the next message is written.
    entries: Conversation,
    clock: MessageClock,
}

impl WrittenExport {
    fn new(format: ExportFormat, is_json: bool) -> Self {
        let clock = MessageClock::default();
        let entries = Conversation::in_memory(clock.clone());
        Self { format, is_json, left_out: LeftOut::new(), entries, clock }
    }

    fn write(&mut self, message: UiMessage) -> Result<(), Failure> {
        match self.format {
            ExportFormat::UiMessage => output::print_json(&message.into_json()),
            ExportFormat::OpenAi => {
                let written = openai_messages(&message, &mut self.left_out);
                written.iter().try_for_each(output::print_json)
            }
            ExportFormat::Markdown => {
                let text = markdown(&message, &mut self.left_out);
                match self.is_json {
                    true => output::print_json(&Object::from([("markdown", text)]).into()),
                    false => output::print_line(&text),
                }
            }
            ExportFormat::Entries => {
                let time = Metadata::of(&message).ts();
                self.clock.0.store(time.map_or(0, Timestamp::millis), Ordering::Relaxed);
                let added = self.entries.append_view(&[message]);
                added.map(drop).map_err(|error| Failure::from_other("output", &error))
            }
        }
    }

    /// Prints what is left, and tells what the format could not hold.
    fn finish(self) -> Result<ExitCode, Failure> {
        let entries =
            self.entries.entries().map_err(|error| Failure::from_other("output", &error))?;
        for entry in entries {
            output::print_json(&entry.to_json())?;
        }
        for (kind, count) in &self.left_out {
            output::print_warning(&format!(
                "left out, because the format cannot hold it: {count} × {kind}"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
