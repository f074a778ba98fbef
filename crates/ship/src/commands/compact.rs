//! `ship compact`: compacts the active context, previews a compaction, or undoes one.

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use ship_agent::{CompactionPreview, CompactionUndo, Listener, RunEvent, RunNotice};
use ship_context::compact::CompactionMethod;
use ship_message::Chunk;
use ship_message::json::{Json, Object};
use ship_store::Timestamp;

use super::chat::keyboard::{Keyboard, collect_keys, until_next_look};
use super::frozen_holder::unless_frozen;
use super::interrupt::{break_line, unless_interrupted};
use super::run_activity::RunActivity;
use crate::failure::Failure;
use crate::output;
use crate::progress_line::CursorPlace;
use crate::session::Session;
use crate::table;

/// The time after which the person is told how far a compaction is.
const UNTOLD: Duration = Duration::from_secs(1);

/// The progress of a compaction that has not said more.
const MAKING_ROOM: &str = "making room";

/// The flags of the command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompactFlags {
    pub(crate) dry_run: bool,
    pub(crate) undo: bool,
    pub(crate) instructions: Option<String>,
}

/// The place where the command was given.
#[derive(Clone, Copy)]
pub(crate) enum CompactPlace<'a> {
    Shell,
    /// A chat, whose keyboard is read meanwhile if it has one.
    Chat(Option<&'a Keyboard>),
}

impl<'a> CompactPlace<'a> {
    fn keyboard(self) -> Option<&'a Keyboard> {
        match self {
            Self::Shell => None,
            Self::Chat(keyboard) => keyboard,
        }
    }

    /// Returns the command that undoes a compaction.
    fn undo_command(self, session: &Session) -> String {
        match self {
            Self::Shell => session.chat_flags.add_to("ship compact --undo"),
            Self::Chat(_) => "/compact undo".to_owned(),
        }
    }

    /// Says how a compaction that was stopped starts again.
    fn restart_hint(self) -> &'static str {
        match self {
            Self::Shell => "`ship compact` starts again",
            Self::Chat(_) => "/compact starts again",
        }
    }
}

/// Compacts, previews or undoes.
pub(crate) async fn run(
    session: &Session,
    flags: CompactFlags,
    place: CompactPlace<'_>,
) -> Result<ExitCode, Failure> {
    if flags.undo {
        collect_keys(place.keyboard(), undo(session)).await?;
    } else if flags.dry_run {
        collect_keys(place.keyboard(), print_plan(session)).await?;
    } else {
        compact(session, flags.instructions, place).await?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn compact(
    session: &Session,
    wishes: Option<String>,
    place: CompactPlace<'_>,
) -> Result<(), Failure> {
    let (agent, keyboard) = (session.agent().await?, place.keyboard());
    let mut activity = RunActivity::begin(session).making_room(MAKING_ROOM);
    let listener = agent.listen(&session.chat);
    let compacting = unless_frozen(session, &agent, agent.compact(&session.chat, wishes));
    let compacting = run_with_notices(&mut activity, listener, keyboard, compacting);
    let compacted = unless_interrupted(compacting).await;
    let was_erased = activity.erase();
    let Some(compacted) = compacted else {
        // The `^C` behind the line went with it. A keyboard that is taken shows none.
        if !was_erased && !keyboard.is_some_and(Keyboard::is_taken) {
            break_line();
        }
        return Err(Failure::new("stopped", "stopped; nothing is lost")
            .with_hint(place.restart_hint())
            .by_interrupt(true));
    };
    let compacted = compacted?;
    if session.json {
        let compacted = compacted.map_or(Json::Null, |compacted| compacted.to_object().into());
        return output::print_json(&Object::from([("compacted", compacted)]).into());
    }
    let Some(compacted) = compacted else {
        return print_nothing_to_compact(session);
    };
    let what = match compacted.messages {
        0 => {
            count_text(compacted.outputs, "old tool output was", "old tool outputs were")
                + " left out"
        }
        messages => {
            let became = count_text(messages, "message became", "messages became");
            match compacted.method {
                CompactionMethod::Extract => {
                    became + " an extract, because no model wrote a usable summary"
                }
                _ => became + " a summary",
            }
        }
    };
    let back = match compacted.purged {
        true => {
            "It cannot be undone: the originals are deleted (`context.history.archiveOnCompact` is false). \
             The ledger keeps the conversation."
                .to_owned()
        }
        false => format!("Undo it with: {}", place.undo_command(session)),
    };
    let told = format!(
        "{what}: {} tokens before, about {} now.\n{back}",
        compacted.tokens_before, compacted.tokens_after
    );
    output::print_line(&table::wrap_lines(&told))
}

/// Waits for a compaction, and shows its progress on standard error. Without a terminal, a long one reports it.
#[expect(clippy::disallowed_methods, reason = "a long wait is reported after a while")]
async fn run_with_notices<T>(
    activity: &mut RunActivity,
    mut listener: Listener,
    keyboard: Option<&Keyboard>,
    running: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut running = pin!(running);
    let mut untold = pin!(tokio::time::sleep(UNTOLD));
    let mut is_late = false;
    let mut latest = MAKING_ROOM.to_owned();
    loop {
        tokio::select! {
            // The result is checked first, so that no progress is printed after the end.
            biased;
            result = &mut running => return result,
            () = &mut untold, if !is_late && !activity.is_shown() => {
                is_late = true;
                output::print_notice(&latest);
            }
            Some(event) = listener.next() => {
                activity.follow(&event);
                let RunEvent::Chunk(Chunk::Data(part)) = &*event else { continue };
                let Some(RunNotice::MakingRoom(text)) = RunNotice::read(part) else { continue };
                if is_late {
                    output::print_notice(text);
                }
                latest = text.to_owned();
            }
            () = until_next_look(keyboard) => {
                if let Some(keyboard) = keyboard {
                    activity.show_typed(keyboard.beside(), CursorPlace::LineStart);
                }
            }
            () = activity.next_frame(CursorPlace::LineStart) => {}
        }
    }
}

fn print_nothing_to_compact(session: &Session) -> Result<(), Failure> {
    let why = match session.project.settings().context.history.keep_last_messages {
        0 => "a summary would save nothing.".to_owned(),
        1 => {
            "the last message stays, and a summary of the older ones would save nothing.".to_owned()
        }
        kept => format!(
            "the last {kept} messages stay, and a summary of older ones would save nothing."
        ),
    };
    output::print_line(&table::wrap_text(&format!("Nothing to compact: {why}"), 0))
}

async fn print_plan(session: &Session) -> Result<(), Failure> {
    let agent = session.agent().await?;
    let planned = agent.plan_compaction(&session.chat);
    let Some(planned) = unless_frozen(session, &agent, planned).await? else {
        if session.json {
            return output::print_json(&Object::from([("planned", Json::Null)]).into());
        }
        return print_nothing_to_compact(session);
    };
    let state = agent.compaction_state(&session.chat).await?;
    let last = state.as_ref().and_then(|state| state.get("compaction"));
    if session.json {
        let planned = Object::from([
            ("planned", Json::from(planned.to_object())),
            ("last", last.cloned().unwrap_or_default()),
        ]);
        return output::print_json(&planned.into());
    }
    output::print_line(&table::wrap_lines(&describe_plan(&planned)))?;
    let when = match planned.trigger.tokens {
        Some(tokens) => format!("Above {tokens}, it is compacted"),
        None => "Once the model refuses more, it is compacted".to_owned(),
    };
    output::print_line(&table::wrap_lines(&format!(
        "A request takes {} tokens now, {} of which cannot shrink.\n{when} to {} or less.",
        planned.tokens_now, planned.floor, planned.target
    )))?;
    if let Some(warning) = &planned.trigger.warning {
        output::print_warning(warning);
    }
    last.and_then(describe_last)
        .map_or(Ok(()), |line| output::print_line(&table::wrap_lines(&line)))
}

fn describe_plan(planned: &CompactionPreview) -> String {
    let kept = count_text(planned.kept, "message", "messages");
    match (planned.messages, planned.outputs) {
        (0, 0) => format!("Nothing would be compacted: {kept} would stay."),
        (0, outputs) => {
            let outputs = count_text(outputs, "old tool output", "old tool outputs");
            format!("{outputs} would be left out, and {kept} would stay.")
        }
        (messages, _) => {
            let messages = count_text(messages, "message", "messages");
            format!("{messages} would become a summary, and {} would stay.", planned.kept)
        }
    }
}

/// Describes the last compaction and its effect.
fn describe_last(last: &Json) -> Option<String> {
    let number = |key: &str| last.get(key)?.as_u64();
    Some(format!(
        "Last compacted at {}: {} tokens became about {}.",
        output::format_time(Timestamp::from_json(last.get("ts")?)?),
        number("tokensBefore")?,
        number("tokensAfter")?
    ))
}

async fn undo(session: &Session) -> Result<(), Failure> {
    let agent = session.agent().await?;
    let undone = unless_frozen(session, &agent, agent.undo_compaction(&session.chat)).await?;
    let (key, count) = match undone {
        CompactionUndo::Messages(count) => ("restored", count),
        CompactionUndo::Outputs(count) => ("outputs", count),
        CompactionUndo::Nothing => {
            return Err(Failure::new("not_done", "there is no compaction to undo"));
        }
        CompactionUndo::Purged => return Err(purged_failure()),
    };
    if session.json {
        return output::print_json(&Object::from([(key, count as u64)]).into());
    }
    let what = match key {
        "outputs" => count_text(count, "tool output is", "tool outputs are") + " shown again",
        _ => count_text(count, "message is", "messages are") + " back, before what was said since",
    };
    output::print_line(&table::wrap_lines(&format!(
        "{what}. The chat is compacted again once the model's window is full."
    )))
}

fn purged_failure() -> Failure {
    let sentence =
        "the originals are gone: their log was purged, or removed from `messages/archive`";
    Failure::new("purged", sentence)
        .with_hint("restore it from a backup; until then, the summary stays")
}

fn count_text(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
