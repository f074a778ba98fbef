//! Asks the person what a parked run waits for.

use ship_agent::{Agent, CallAnswer, ChatQueue};
use ship_message::ToolState;
use ship_message::json::Json;
use ship_project::OnUndecided;

use super::input::{LineInput, LineSource};
use super::slash::{self, LineMeaning, Slash};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// A call that waits for the person.
pub(super) struct Question {
    tool: String,
    call_id: String,
    input: Json,
    kind: QuestionKind,
}

#[derive(Clone, Copy)]
enum QuestionKind {
    /// The question is whether the tool may run. A message instead of an answer goes on without it, or waits.
    Approval(OnUndecided),
    /// The question is what the tool returned, which the person runs.
    Output,
}

/// The reply of the person.
#[derive(Debug, PartialEq)]
pub(super) enum QuestionReply {
    Answer(CallAnswer),
    /// The person will answer later.
    Later,
    /// The reply has no meaning, so the question is asked again.
    Again,
    /// The person asks for help with this question.
    Help(String),
    Command(Slash),
    /// The usage of a command that was written wrongly.
    Usage(&'static str),
    NoCommand(String, Option<&'static str>),
    /// The reply is not an answer but a message, which must not be lost.
    Message(String),
}

impl Question {
    /// Returns the first call that the chat's run waits for.
    pub(super) async fn find(session: &Session, agent: &Agent) -> Result<Option<Self>, Failure> {
        let queue = agent.queue(&session.chat, 0).await?;
        let waits = queue.as_ref().map_or(&[][..], ChatQueue::waiting_calls);
        let on_undecided = session.project.settings().tools.on_undecided;
        Ok(waits.first().map(|call| Self {
            tool: call.name().unwrap_or_default().to_owned(),
            call_id: call.call_id().to_owned(),
            input: call.input().cloned().unwrap_or_default(),
            kind: match call.state() {
                ToolState::ApprovalRequested => QuestionKind::Approval(on_undecided),
                _ => QuestionKind::Output,
            },
        }))
    }

    /// Asks the question. The input of the call is shown exactly, with hidden and turning characters escaped.
    pub(super) async fn ask(self, input: &mut LineSource) -> Result<QuestionReply, Failure> {
        let style = Style::of_stdout();
        let tool = style.bold(&output::escape_unseen(&self.tool));
        let shown = output::escape_unseen(&self.input.to_string());
        let (sentence, prompt) = match self.kind {
            QuestionKind::Approval(_) => {
                (format!("{tool} wants to run with {shown}"), "Allow it? [y/N] ")
            }
            QuestionKind::Output => {
                (format!("{tool} is yours to run, with {shown}"), "What did it give? ")
            }
        };
        output::print_line(&table::wrap_text(&sentence, 2))?;
        if input.is_interactive() {
            output::print_line(&style.dim(&table::wrap_text(self.kind.help(), 0)))?;
        }
        Ok(match input.answer(prompt).await? {
            LineInput::Line(line) => match self.command_of_word(&line, input) {
                Some(command) => command_reply(self.kind, command),
                None => interpret_reply(self.kind, self.call_id, line),
            },
            LineInput::TooLong => QuestionReply::Again,
            LineInput::Interrupted | LineInput::End => QuestionReply::Later,
        })
    }

    /// Returns the command that a person means by a word. What a tool gave may be any word.
    fn command_of_word(&self, line: &str, input: &LineSource) -> Option<Slash> {
        let is_meant = matches!(self.kind, QuestionKind::Approval(_)) && input.is_interactive();
        slash::command_of_word(line).filter(|_| is_meant)
    }
}

impl QuestionKind {
    fn help(self) -> &'static str {
        match self {
            Self::Approval(OnUndecided::GoOn) => {
                "y allows it; /no WHY tells why not; /later leaves it open; a message goes on without it."
            }
            Self::Approval(OnUndecided::Wait) => {
                "y allows it; /no WHY tells why not; /later leaves it open; a message waits until then."
            }
            Self::Output => "Text or JSON; /fail WHY if it did not work; /later leaves it open.",
        }
    }
}

/// Interprets the reply.
fn interpret_reply(kind: QuestionKind, call_id: String, line: String) -> QuestionReply {
    let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    let why = Some(rest.trim()).filter(|why| !why.is_empty());
    match (kind, word) {
        (_, "/later") => return QuestionReply::Later,
        (QuestionKind::Approval(_), "/no") => return approval_reply(&call_id, false, why),
        (QuestionKind::Output, "/fail") => {
            let why = why.unwrap_or("it did not work").to_owned();
            return QuestionReply::Answer(CallAnswer::Output { call_id, output: Err(why) });
        }
        _ => {}
    }
    match (slash::interpret_line(&line), kind) {
        (LineMeaning::Command(command), _) => command_reply(kind, command),
        (LineMeaning::Usage(usage), _) => QuestionReply::Usage(usage),
        (LineMeaning::NoCommand(meant), _) => QuestionReply::NoCommand(line, meant),
        (LineMeaning::Nothing, QuestionKind::Output) => QuestionReply::Again,
        // The capital letter in `[y/N]` promises this.
        (LineMeaning::Nothing, QuestionKind::Approval(_)) => approval_reply(&call_id, false, None),
        (LineMeaning::Message, QuestionKind::Output) => {
            let output = Json::parse(&line).unwrap_or_else(|_| Json::from(line));
            QuestionReply::Answer(CallAnswer::Output { call_id, output: Ok(output) })
        }
        (LineMeaning::Message, QuestionKind::Approval(_)) => {
            match line.trim().to_lowercase().as_str() {
                "y" | "yes" => approval_reply(&call_id, true, None),
                "n" | "no" => approval_reply(&call_id, false, None),
                _ => QuestionReply::Message(line),
            }
        }
    }
}

fn command_reply(kind: QuestionKind, command: Slash) -> QuestionReply {
    match command {
        Slash::Help => QuestionReply::Help(format!("Here: {}", kind.help())),
        command => QuestionReply::Command(command),
    }
}

fn approval_reply(call_id: &str, approved: bool, why: Option<&str>) -> QuestionReply {
    let approval_id = format!("approve_{call_id}");
    QuestionReply::Answer(CallAnswer::Approval {
        approval_id,
        approved,
        reason: why.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPROVAL: QuestionKind = QuestionKind::Approval(OnUndecided::GoOn);

    fn to(kind: QuestionKind, line: &str) -> QuestionReply {
        interpret_reply(kind, "c1".to_owned(), line.to_owned())
    }

    #[test]
    fn an_approval_is_a_word_and_everything_else_keeps_its_meaning() {
        for (line, approved, why) in [
            ("y", true, None),
            (" Yes ", true, None),
            ("", false, None),
            ("no", false, None),
            ("/no too dear", false, Some("too dear")),
        ] {
            assert_eq!(to(APPROVAL, line), approval_reply("c1", approved, why), "{line:?}");
        }
        assert_eq!(to(APPROVAL, "/later"), QuestionReply::Later);
        assert_eq!(to(APPROVAL, "/exit"), QuestionReply::Command(Slash::Exit));
        assert_eq!(to(APPROVAL, "/yes"), QuestionReply::NoCommand("/yes".to_owned(), None));
        assert_eq!(to(APPROVAL, "why?"), QuestionReply::Message("why?".to_owned()));
    }

    #[test]
    fn what_a_tool_gave_is_json_or_text_and_may_be_a_failure() {
        let output = |output: Result<Json, &str>| {
            let output = output.map_err(str::to_owned);
            QuestionReply::Answer(CallAnswer::Output { call_id: "c1".to_owned(), output })
        };
        assert_eq!(to(QuestionKind::Output, "[1]"), output(Ok(vec![Json::from(1u64)].into())));
        assert_eq!(to(QuestionKind::Output, "/etc/hosts"), output(Ok("/etc/hosts".into())));
        assert_eq!(to(QuestionKind::Output, "/fail no network"), output(Err("no network")));
        assert_eq!(to(QuestionKind::Output, "/fail"), output(Err("it did not work")));
        assert_eq!(
            to(QuestionKind::Output, "/history"),
            QuestionReply::Command(Slash::History(10))
        );
        assert_eq!(to(QuestionKind::Output, " "), QuestionReply::Again);
    }
}
