//! `ship send`: sends one message and prints its answer.

use std::io::Read;
use std::pin::pin;
use std::process::ExitCode;

use ship_agent::{Agent, Listener, Outcome, Reply, RunEvent};
use ship_message::{Chunk, UiMessage};
use ship_store::{ContextId, Metadata, STOPPED};

use super::context_news::ContextNews;
use super::interrupt::{Interrupt, break_line};
use super::message_exchange::{AcceptResult, MessageExchange, Notice, print_waiting, read_notice};
use super::run_activity::RunActivity;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::text_for_user::{self, project_texts_for_user};

pub(crate) async fn run(session: &Session, text: &str) -> Result<ExitCode, Failure> {
    let text = if text == "-" { read_stdin(session)? } else { text.to_owned() };
    if text.trim().is_empty() {
        return Err(Failure::new("empty", "there is nothing to send")
            .with_hint(session.chat_flags.add_to("ship send 'hello'")));
    }
    let answer = answer(session, &session.agent()?, &text).await?;
    print(session, &answer)?;
    Ok(ExitCode::SUCCESS)
}

/// Sends a message and waits for the answer.
pub(super) async fn answer(session: &Session, agent: &Agent, text: &str) -> Result<Reply, Failure> {
    let turn = MessageExchange::new(session, agent);
    let activity = RunActivity::begin(session);
    let interrupt = Interrupt::default();
    // News begin before the message is accepted: after that, Ctrl-C must be handled at every moment.
    let mut news = ContextNews::from_now(session, agent).await?;
    let AcceptResult::Yes(accepted) = turn.accept(text, &interrupt).await? else {
        break_line();
        return Err(unknown_if_kept());
    };
    let listener = agent.listen(&session.chat);
    let followed = print_notices(session, listener, activity, turn.reply(&accepted, &interrupt));
    let ended = interrupt.stop_on_interrupt(followed).await;
    for notice in news.read().await? {
        output::print_notice(&notice.line_for_shell(session));
    }
    if interrupt.was_pressed() {
        break_line();
    }
    let reply = match ended.transpose()?.flatten() {
        Some(reply) => Some(reply),
        // A person who leaves sees what was said until then.
        None => agent.find_reply(&session.chat, &accepted).await?,
    };
    match reply {
        Some(reply) if reply.outcome == Outcome::Parked => {
            let sentence =
                "your message is kept, but the agent waits for an answer about a tool first";
            Err(Failure::new("waiting", sentence).with_hint("`ship chat` asks for it"))
        }
        Some(reply) if !reply.messages.is_empty() => Ok(reply),
        _ => Err(Failure::new("no_answer", "your message is kept, but there is no answer yet")
            .with_hint("`ship chat` goes on with it; `ship history` shows it")),
    }
}

/// Makes the failure of a person that left before the message was on disk.
pub(super) fn unknown_if_kept() -> Failure {
    Failure::new("not_kept", "you left before your message was on disk; it may not be kept")
        .with_hint("`ship history` shows it if it is; else say it again")
}

/// Prints an answer. A failed or stopped answer is a failure here too, after its text is printed: half an answer
/// must not pass for a whole one.
pub(super) fn print(session: &Session, reply: &Reply) -> Result<(), Failure> {
    let Some(answer) = reply.answer() else { return Ok(()) };
    if session.json && reply.outcome == Outcome::Done {
        return output::print_json(&answer.to_json());
    }
    // The message itself ends with these words; the failure below has them.
    let ending = match &reply.outcome {
        Outcome::Done | Outcome::Parked => None,
        Outcome::Stopped => Some(STOPPED),
        Outcome::Failed(sentence) => Some(sentence.as_str()),
    };
    let settings = session.project.settings();
    let mut texts: Vec<String> = reply
        .messages
        .iter()
        .flat_map(|message| project_texts_for_user(message, settings))
        .collect();
    texts.retain(|text| Some(text.as_str()) != ending);
    if !session.json {
        texts.iter().try_for_each(|text| output::print_line(&text_for_user::render_text(text)))?;
    }
    match &reply.outcome {
        Outcome::Done | Outcome::Parked => Ok(()),
        Outcome::Stopped => Err(stopped_failure(texts.is_empty(), reply.left_context.as_ref())),
        Outcome::Failed(sentence) => Err(run_failure(session, answer, sentence)),
    }
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

/// Reports on standard error what the answer waits for, and where the chat continues.
async fn print_notices<T>(
    session: &Session,
    mut listener: Listener,
    mut activity: RunActivity,
    running: impl Future<Output = T>,
) -> T {
    let mut running = pin!(running);
    loop {
        tokio::select! {
            result = &mut running => return result,
            Some(event) = listener.next() => {
                activity.follow(&event);
                print_notice(session, &event, &mut activity);
            }
            () = activity.next_frame(true) => {}
        }
    }
}

fn print_notice(session: &Session, event: &RunEvent, activity: &mut RunActivity) {
    let notice = match event {
        RunEvent::Chunk(Chunk::Data(part)) => read_notice(part),
        RunEvent::Waiting(waiting) => {
            activity.erase();
            return print_waiting(session, waiting);
        }
        _ => None,
    };
    match notice {
        None | Some(Notice::Retry { .. }) => {}
        // The line of the activity says it, and the result is told.
        Some(Notice::MakingRoom(_)) if activity.is_shown() => {}
        Some(notice) => {
            activity.erase();
            match notice {
                Notice::Context(notice) => output::print_notice(&notice.line_for_shell(session)),
                // A compaction is no reason to worry; other notices may be.
                Notice::MakingRoom(text) | Notice::MadeRoom(text) => output::print_notice(text),
                Notice::Other(text) => output::print_warning(text),
                Notice::Retry { .. } => {}
            }
        }
    }
}

/// Reads at most the length of a message, and one more byte to detect a longer input.
fn read_stdin(session: &Session) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let limit = session.message_bytes_max();
    let cannot = |error| Failure::from_other("input", &error).with_hint("send what can be read");
    std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > limit {
        return Err(Failure::too_long(None, limit));
    }
    String::from_utf8(bytes)
        .map_err(|error| error.utf8_error().valid_up_to() as u64)
        .map_err(|offset| Failure::not_utf8(offset, "nothing was sent"))
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
