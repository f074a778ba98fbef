//! What a parked run waits for, put to the person.

use ship_agent::Answer;
use ship_message::json::Json;

use super::input::{Input, Typed};
use crate::commands::turn::waits_for;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

/// A call that waits for the person.
pub(super) struct Question {
    tool: String,
    call_id: String,
    input: Json,
    kind: Kind,
}

enum Kind {
    /// Whether the tool may run.
    Approval,
    /// What the tool gave, which runs with the person.
    Output,
}

/// What the person said to it.
pub(super) enum Reply {
    Answer(Answer),
    /// Nothing yet.
    Later,
    /// Something that is no answer: a message, which must not be lost.
    Message(String),
}

impl Question {
    /// The first thing that the chat's run waits for.
    pub(super) async fn of(session: &Session) -> Result<Option<Self>, Failure> {
        let Some(chat) = session.store()?.open(&session.chat).await? else { return Ok(None) };
        let journal = ship_context::Journal::read(&chat.journal().await?);
        let waits = journal.map(|journal| waits_for(&journal.message)).unwrap_or_default();
        let client = &session.project.settings().tools.client;
        Ok(waits.into_iter().next().map(|(tool, call_id, input)| {
            let kind = if client.contains(&tool) { Kind::Output } else { Kind::Approval };
            Self { tool, call_id, input, kind }
        }))
    }

    pub(super) async fn ask(self, input: &mut Input) -> Result<Reply, Failure> {
        let tool = Style::of_stdout().bold(&output::visible(&self.tool));
        let shown = output::visible(&self.input.to_string());
        let (sentence, prompt) = match self.kind {
            Kind::Approval => (format!("{tool} wants to run with {shown}"), "Allow it? [y/N] "),
            Kind::Output => (format!("{tool} is yours to run, with {shown}"), "What did it give? "),
        };
        output::line(&sentence)?;
        let Typed::Line(line) = input.answer(prompt).await? else { return Ok(Reply::Later) };
        Ok(self.understood(line))
    }

    fn understood(self, line: String) -> Reply {
        let Self { call_id, .. } = self;
        match self.kind {
            Kind::Output => {
                let output = Json::parse(&line).unwrap_or_else(|_| Json::from(line));
                Reply::Answer(Answer::Output { call_id, output: Ok(output) })
            }
            Kind::Approval => {
                let approved = match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => true,
                    "" | "n" | "no" => false,
                    _ => return Reply::Message(line),
                };
                let approval_id = format!("approve_{call_id}");
                Reply::Answer(Answer::Approval { approval_id, approved, reason: None })
            }
        }
    }
}
