//! `ship send`: sends one message and prints its answer.

use std::io::Read;
use std::pin::pin;
use std::process::ExitCode;

use ship_agent::{Agent, Listener, Outcome, RunEvent};
use ship_message::json::Json;
use ship_message::{Chunk, UiMessage};
use ship_store::ContextId;

use super::context::in_shell;
use super::interrupt::{Interrupt, break_line};
use super::news::News;
use super::turn::{AcceptResult, Ended, MessageExchange, Notice, OwnEntry, notice};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::told::{self, End, told};

pub(crate) async fn run(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let text = if text == "-" { read_stdin(session)? } else { text.to_owned() };
    if text.trim().is_empty() {
        return Err(Failure::new("empty", "there is nothing to send").hint("ship send 'hello'"));
    }
    let answer = answer(session, &session.agent()?, &text).await?;
    print(session, &answer)?;
    Ok(ExitCode::SUCCESS)
}

/// An answer, with what was said before the run moved to another context.
pub(super) struct SendAnswer {
    before: Vec<UiMessage>,
    message: UiMessage,
    /// The context in which the answer was stopped, if the chat has left it.
    left: Option<ContextId>,
}

impl SendAnswer {
    async fn of(
        turn: &MessageExchange<'_>,
        to: &OwnEntry,
        message: UiMessage,
    ) -> Result<Self, Failure> {
        let left = match End::of(&message) {
            End::Stopped => turn.context_left(to).await?,
            End::Whole | End::Failed(_) => None,
        };
        Ok(Self { before: turn.said_before(to).await?, message, left })
    }
}

/// Sends a message and waits for the answer.
pub(super) async fn answer(
    session: &Session,
    agent: &Agent,
    text: &str,
) -> Result<SendAnswer, Failure> {
    let turn = MessageExchange::new(session, agent);
    let interrupt = Interrupt::default();
    // News begin before the message is accepted: after that, Ctrl-C must be handled at every moment.
    let mut news = News::from_now(session, agent).await?;
    let AcceptResult::Yes(accepted) = turn.accept(text, &interrupt).await? else {
        break_line();
        return Err(not_known_to_be_kept());
    };
    let listener = agent.listen(&session.chat);
    let followed = tell_notices(session, listener, turn.run(&accepted, &interrupt));
    let ended = interrupt.heeded(followed).await;
    for line in news.read().await? {
        output::notice(&in_shell(&line, &session.same));
    }
    if interrupt.was_asked() {
        break_line();
    }
    let outcome = match ended.transpose()? {
        Some(Ended::Elsewhere(message)) => return SendAnswer::of(&turn, &accepted, message).await,
        Some(Ended::Here(outcome)) => outcome,
        Some(Ended::Left) | None => None,
    };
    match turn.answered(&accepted).await? {
        Some(message) => SendAnswer::of(&turn, &accepted, message).await,
        None if outcome == Some(Outcome::Parked) => {
            let sentence =
                "your message is kept, but the agent waits for an answer about a tool first";
            Err(Failure::new("waiting", sentence).hint("`ship chat` asks for it"))
        }
        None => Err(Failure::new("no_answer", "your message is kept, but there is no answer yet")
            .hint("`ship chat` goes on with it; `ship history` shows it")),
    }
}

/// Makes the failure of a person that left before the message was on disk.
pub(super) fn not_known_to_be_kept() -> Failure {
    Failure::new("not_kept", "you left before your message was on disk; it may not be kept")
        .hint("`ship history` shows it if it is; else say it again")
}

/// Prints an answer. A failed or stopped answer is a failure here too, after its text is printed: half an answer
/// must not pass for a whole one.
pub(super) fn print(session: &Session, answer: &SendAnswer) -> Result<(), Failure> {
    let message = &answer.message;
    let end = End::of(message);
    if session.json && end == End::Whole {
        return output::json(&message.to_json());
    }
    let settings = session.project.settings();
    let mut said: Vec<String> =
        answer.before.iter().flat_map(|before| told(before, settings)).collect();
    said.extend(told(message, settings));
    said.retain(|text| Some(text.as_str()) != end.words());
    if !session.json {
        said.iter().try_for_each(|text| output::line(&told::shown(text)))?;
    }
    match end {
        End::Whole => Ok(()),
        End::Stopped => Err(stopped(session, said.is_empty(), answer.left.as_ref())),
        End::Failed(sentence) => Err(failed(message, sentence)),
    }
}

fn stopped(session: &Session, before_a_word: bool, left: Option<&ContextId>) -> Failure {
    let sentence = match before_a_word {
        true => "stopped before anything was said; your message is kept",
        false => "stopped; your message and what was said are kept",
    };
    let go_on = match left {
        None => "`ship send 'go on'` goes on".to_owned(),
        Some(left) => format!(
            "`ship context load {left}{}` goes back to its context, and then `ship send 'go on'` goes on",
            session.same
        ),
    };
    Failure::new("stopped", sentence).hint(format!("{go_on}; `ship history` shows it"))
}

fn failed(message: &UiMessage, sentence: &str) -> Failure {
    let request = message.metadata().and_then(|metadata| metadata.get("requestId"));
    let request = request.and_then(Json::as_str).unwrap_or_default();
    Failure::new("failed", sentence).hint(format!("`ship logs --request {request}` tells more"))
}

/// Reports on standard error what the answer waits for, and where the chat continues.
async fn tell_notices<T>(
    session: &Session,
    mut listener: Listener,
    running: impl Future<Output = T>,
) -> T {
    let mut running = pin!(running);
    loop {
        tokio::select! {
            result = &mut running => return result,
            Some(event) = listener.next() => {
                let RunEvent::Chunk(Chunk::Data(part)) = &event else { continue };
                match notice(part) {
                    Some(Notice::Context(line)) => output::notice(&in_shell(line, &session.same)),
                    // A compaction is no reason to worry; waiting for a provider may be.
                    Some(Notice::MakingRoom(text) | Notice::MadeRoom(text)) => output::notice(text),
                    Some(Notice::Other(text)) => output::warning(text),
                    None => {}
                }
            }
        }
    }
}

/// Reads at most the length of a message, and one more byte to detect a longer input.
fn read_stdin(session: &Session) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = session.message_bytes_max();
    let cannot = |error| Failure::from_error("input", &error).hint("send what can be read");
    std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > limit {
        return Err(Failure::too_long(None, limit));
    }
    String::from_utf8(bytes)
        .map_err(|error| error.utf8_error().valid_up_to() as u64)
        .map_err(|offset| Failure::not_utf8(offset, "nothing was sent"))
}
