//! `ship send`: sends one message and prints its answer.

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ship_agent::{Agent, Outcome, Reply};
use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::{ContextId, Metadata, STOPPED, notices};
use tokio::signal::unix::{SignalKind, signal};

use super::answer_cost::AnswerCost;
use super::context::read_context_news;
use super::followed_run::{FollowedRun, can_stream, questions_before};
use super::interrupt::{Interrupt, break_line};
use super::message_draft::MessageDraft;
use super::message_exchange::{AcceptResult, MessageExchange, context_line_for_shell};
use super::standard_input;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::table;
use crate::text_for_user::{self, project_texts_for_user};

/// The columns of a question that is named in a sentence.
const NAMED_COLUMNS: usize = 40;

pub(crate) async fn run(
    session: &Session,
    words: &[String],
    files: &[PathBuf],
) -> Result<ExitCode, Failure> {
    let is_piped_alone = words.is_empty() || words == ["-"];
    let mut draft = match is_piped_alone {
        true => MessageDraft::from(standard_input::read(session).await?.as_str()),
        false => draft_with_pipe(session, &words.join(" ")).await?,
    };
    files.iter().try_for_each(|file| draft.attach(session, file))?;
    if draft.text.trim().is_empty() {
        return Err(Failure::new("empty", "there is nothing to send")
            .with_hint(session.chat_flags.add_to("ship send 'hello'")));
    }
    unless_terminated(session, draft).await?.print(session)?;
    Ok(ExitCode::SUCCESS)
}

/// Sends a message and waits for the answer. SIGTERM ends the wait; the next command then continues the work.
async fn unless_terminated(session: &Session, draft: MessageDraft) -> Result<SentAnswer, Failure> {
    let agent = session.agent().await?;
    let failure = |error: std::io::Error| Failure::from_other("system", &error);
    let mut termination = signal(SignalKind::terminate()).map_err(failure)?;
    let is_accepted = Cell::new(false);
    tokio::select! {
        biased;
        answered = answer(session, &agent, draft, || is_accepted.set(true)) => answered,
        _ = termination.recv() => Err(terminated_failure(is_accepted.get())),
    }
}

/// Makes the failure of a command that SIGTERM has ended.
fn terminated_failure(is_accepted: bool) -> Failure {
    let failure = match is_accepted {
        true => Failure::new("stopped", "ended by SIGTERM; your message is kept")
            .with_hint("`ship chat` goes on with it; `ship history` shows it"),
        false => Failure::new("not_kept", "ended by SIGTERM before your message was on disk")
            .with_hint("`ship history` shows it if it is kept; else say it again"),
    };
    failure.by_termination()
}

/// Makes a message of a text that a person wrote, the files that it names, and what is piped. An `@` in a piped text
/// means nothing: another program wrote it.
async fn draft_with_pipe(session: &Session, text: &str) -> Result<MessageDraft, Failure> {
    let mut draft = MessageDraft::with_mentioned_files(session, text)?;
    if let Some(piped) = standard_input::read_piped(session).await? {
        draft.text = format!("{text}\n\n{piped}");
    }
    Ok(draft)
}

/// An answer to a message that was sent.
pub(super) struct SentAnswer {
    reply: Reply,
    /// The notices that are still to be shown, if the rest of the answer was shown as it came.
    held: Option<Vec<String>>,
    time: Duration,
    /// Whether a summary was made on the way.
    has_summary: bool,
    /// Whether the person stopped it with Ctrl-C.
    is_interrupted: bool,
}

/// Sends a message and waits for the answer. A person at a terminal sees it as it comes. `on_accept` is called when
/// the message is on disk.
pub(super) async fn answer(
    session: &Session,
    agent: &Agent,
    draft: MessageDraft,
    on_accept: impl FnOnce(),
) -> Result<SentAnswer, Failure> {
    let turn = MessageExchange::new(session, agent);
    let interrupt = Interrupt::default();
    // News begin before the message is accepted: after that, Ctrl-C must be handled at every moment.
    let mut news = agent.news(&session.chat).await?;
    let before = questions_before(session, agent).await;
    let is_streamed = can_stream(session, &before);
    let notes = draft.notes(agent.window_tokens());
    let AcceptResult::Yes(accepted) = turn.accept(draft, &interrupt).await? else {
        break_line();
        return Err(unknown_if_kept().by_interrupt(true));
    };
    on_accept();
    notes.iter().for_each(|note| output::print_notice(note));
    if let Some(question) = before.first().filter(|_| !session.json) {
        let question = table::fit(&output::on_one_line(question.trim()), NAMED_COLUMNS);
        let notice = format!("“{question}” is answered first; `ship history` shows it");
        output::print_notice(&notice);
    }
    let listener = agent.listen(&session.chat);
    let running = turn.reply(&accepted, &interrupt);
    let followed = match is_streamed {
        true => FollowedRun::on_screen(session, listener, running, &interrupt).await?,
        false => FollowedRun::with_notices(session, listener, running, &interrupt).await,
    };
    for notice in read_context_news(&mut news).await? {
        output::print_notice(&context_line_for_shell(&notice, session));
    }
    let is_interrupted = interrupt.was_pressed();
    let FollowedRun { ended, is_shown, held, time, has_summary } = followed;
    let reply = match ended.transpose()?.flatten() {
        Some(reply) => Some(reply),
        // A person who leaves sees what was said until then.
        None => agent.find_reply(&session.chat, &accepted).await?,
    };
    match reply {
        Some(reply) if reply.outcome == Outcome::Parked => {
            let sentence = "your message is kept; before it is answered, a tool waits for you";
            Err(Failure::new("waiting", sentence).with_hint("`ship chat` asks for it"))
        }
        Some(reply) if !reply.messages.is_empty() => {
            let held = is_shown.then_some(held);
            Ok(SentAnswer { reply, held, time, has_summary, is_interrupted })
        }
        _ => Err(Failure::new("no_answer", "your message is kept, but there is no answer yet")
            .with_hint("`ship chat` goes on with it; `ship history` shows it")
            .by_interrupt(is_interrupted)),
    }
}

/// Makes the failure of a person that left before the message was on disk.
pub(super) fn unknown_if_kept() -> Failure {
    Failure::new("not_kept", "you left before your message was on disk; it may not be kept")
        .with_hint("`ship history` shows it if it is; else say it again")
}

impl SentAnswer {
    /// Prints the answer. A failed, stopped or cut answer is a failure here too, after its text is printed: half an
    /// answer must not pass for a whole one.
    pub(super) fn print(&self, session: &Session) -> Result<(), Failure> {
        let Some(answer) = self.reply.answer() else { return Ok(()) };
        let texts = self.texts(answer, session);
        if !session.json {
            let is_left =
                |text: &&String| self.held.as_ref().is_none_or(|held| held.contains(text));
            for text in texts.iter().filter(is_left) {
                output::print_line(&text_for_user::render_text(text))?;
            }
            if let Some(cost) = self.cost(session) {
                cost.print(self.time, self.has_summary);
            }
        }
        match self.failure(session, answer, texts.is_empty()) {
            Some(failure) if session.json => {
                Err(failure.with_answer(self.to_object(session, &texts)))
            }
            Some(failure) => Err(failure),
            None if session.json => output::print_json(&self.to_object(session, &texts).into()),
            None => Ok(()),
        }
    }

    /// Returns what the person is told, without the last words of an unfinished answer, which its failure has.
    fn texts(&self, answer: &UiMessage, session: &Session) -> Vec<String> {
        let ending = match &self.reply.outcome {
            Outcome::Done => notices(answer).last().filter(|_| self.reply.is_cut()),
            Outcome::Parked | Outcome::Left => None,
            Outcome::Stopped => Some(STOPPED),
            Outcome::Failed(sentence) => Some(sentence.as_str()),
        };
        let settings = session.project.settings();
        let texts = self.reply.messages.iter();
        let texts = texts.flat_map(|message| project_texts_for_user(message, settings));
        texts.filter(|text| Some(text.as_str()) != ending).collect()
    }

    fn failure(&self, session: &Session, answer: &UiMessage, is_silent: bool) -> Option<Failure> {
        let failure = match &self.reply.outcome {
            Outcome::Done if self.reply.is_cut() => cut_failure(answer),
            Outcome::Done | Outcome::Parked | Outcome::Left => return None,
            Outcome::Stopped => stopped_failure(is_silent, self.reply.left_context.as_ref()),
            Outcome::Failed(sentence) => run_failure(session, answer, sentence),
        };
        Some(failure.by_interrupt(self.is_interrupted))
    }

    fn cost(&self, session: &Session) -> Option<AnswerCost> {
        self.reply.usage.map(|usage| AnswerCost::new(usage, session))
    }

    /// Returns the answer for programs: the message, its text, and what it took.
    fn to_object(&self, session: &Session, texts: &[String]) -> Object {
        let message = self.reply.answer().map(UiMessage::to_json);
        let mut object = match message {
            Some(Json::Object(message)) => message,
            _ => Object::new(),
        };
        object.set("text", texts.join("\n\n"));
        object.set("model", self.reply.model.as_deref().map_or(Json::Null, Json::from));
        object.set("usage", self.cost(session).map_or(Json::Null, |cost| cost.to_json()));
        object
    }
}

/// Makes the failure of an answer whose end is missing, from its notice.
fn cut_failure(answer: &UiMessage) -> Failure {
    let notice = notices(answer).last().unwrap_or("the answer was cut off");
    let sentence = notice.trim_start_matches('(').trim_end_matches(')');
    Failure::new("cut", sentence).with_hint("`ship send 'go on'` asks for the rest")
}

fn stopped_failure(before_a_word: bool, left: Option<&ContextId>) -> Failure {
    let sentence = match before_a_word {
        true => "stopped before anything was said; your message is kept",
        false => "stopped; your message and what was said are kept",
    };
    let go_on = match left {
        None => "`ship send 'go on'` goes on".to_owned(),
        Some(left) => format!(
            "`ship context load {left}` goes back to its context, and then `ship send 'go on'` goes on"
        ),
    };
    Failure::new("stopped", sentence).with_hint(format!("{go_on}; `ship history` shows it"))
}

fn run_failure(session: &Session, message: &UiMessage, sentence: &str) -> Failure {
    let request = Metadata::of(message).request_id().unwrap_or_default();
    Failure::new("failed", session.chat_flags.add_to_commands_in(sentence))
        .with_hint(format!("`ship logs --request {request}` tells more"))
}

#[cfg(test)]
mod tests {
    use crate::chat_flags::ChatFlags;

    use super::*;

    #[test]
    fn every_command_after_a_stopped_answer_names_its_chat() {
        let left: Result<ContextId, _> = "c_20260205_a".parse();
        let flags = ChatFlags::from((" --chat c2", ""));
        let failure = stopped_failure(true, left.ok().as_ref())
            .map_hints(|hint| flags.add_to_commands_in(hint));
        assert_eq!(
            failure.remedy(),
            Some(
                "`ship context load c_20260205_a --chat c2` goes back to its context, and then \
                 `ship send 'go on' --chat c2` goes on; `ship history --chat c2` shows it"
            )
        );
    }
}
