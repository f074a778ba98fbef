//! `ship context show`: prints the content of a context and its origin.

use ship_agent::{Agent, ContextList};
use ship_context::contexts::{RecallMode, Snapshot, Speaker, Status, Utterance, newest_within};
use ship_message::json::{Json, Object};

use super::contexts;
use super::list::count_text;
use crate::failure::Failure;
use crate::output::{self, format_time};
use crate::session::Session;
use crate::style::Style;
use crate::table;
use crate::text_for_user;

pub(super) async fn run(
    session: &Session,
    agent: &Agent,
    which: Option<&str>,
) -> Result<(), Failure> {
    let Some(which) = which else { return show_active(session, agent).await };
    // An unknown chat is reported in the same way as elsewhere.
    contexts(session, agent).await?;
    let snapshot = match agent.look_at_context(&session.chat, which).await? {
        Ok(snapshot) => snapshot,
        Err(not_done) => return Err(super::refusal_failure(session, not_done)),
    };
    if snapshot.status() == Status::Active {
        return show_active(session, agent).await;
    }
    if session.json {
        return output::print_json(&Json::Object(snapshot.to_object().clone()));
    }
    let mut about = facts(session, &snapshot);
    about.push(("Began", snapshot.created_at().map(format_time).unwrap_or_default()));
    let left = snapshot.archived_at().map(format_time).unwrap_or_default();
    let why =
        snapshot.archive_reason().map(|why| format!(", by {}", output::escape_unprintable(why)));
    about.push(("Left", left + &why.unwrap_or_default()));
    print_about(&about)?;
    print_summary(&snapshot)?;
    print_turns(&snapshot.utterances(), snapshot.utterances_left_out())
}

async fn show_active(session: &Session, agent: &Agent) -> Result<(), Failure> {
    let contexts = contexts(session, agent).await?;
    if session.json {
        let object = contexts.map(|contexts| to_object(session, &contexts));
        return output::print_json(&object.map_or(Json::Null, Json::Object));
    }
    let Some(contexts) = contexts else { return output::print_line("Nothing was said yet.") };
    let mut about = facts(session, &contexts.active);
    let since = contexts.activation.since.map(format_time).unwrap_or_default();
    let by = contexts.activation.by.map(|by| format!(", by {}", output::escape_unprintable(&by)));
    about.push(("Since", since + &by.unwrap_or_default()));
    if !contexts.checkpoints.is_empty() {
        about.push(("Points", output::escape_unprintable(&contexts.checkpoints.join(", "))));
    }
    print_about(&about)?;
    if contexts.active.is_compacted() {
        print_summary(&contexts.active)?;
    }
    print_turns(&contexts.active.utterances(), contexts.active.utterances_left_out())
}

/// Returns the active context in the form of its file. Facts about its surroundings are in `meta`.
fn to_object(session: &Session, contexts: &ContextList) -> Object {
    let mut object = contexts.active.to_object().clone();
    let mut meta = object.get("meta").and_then(Json::as_object).cloned().unwrap_or_default();
    meta.set("project", session.project.root().display().to_string());
    meta.set("chatKey", session.chat.as_str());
    let since = contexts.activation.since.map(|since| Json::from(since.millis() as u64));
    meta.set("activeSince", since.unwrap_or_default());
    meta.set("activeBy", contexts.activation.by.as_deref().map_or(Json::Null, Json::from));
    let names = contexts.checkpoints.iter().map(|name| Json::from(name.as_str()));
    meta.set("checkpoints", names.collect::<Vec<_>>());
    object.set("meta", meta);
    object
}

/// Prints the part of a context that the model was shown.
pub(super) fn print_recalled(
    session: &Session,
    snapshot: &Snapshot,
    mode: RecallMode,
) -> Result<(), Failure> {
    let turns = snapshot.utterances();
    let all = turns.len();
    match mode {
        RecallMode::Summary => print_summary(snapshot),
        RecallMode::Full => print_turns(&turns, snapshot.utterances_left_out()),
        RecallMode::Recent => {
            let (turns, _) = newest_within(turns, session.active_bounds());
            let left_out = (all - turns.len()) as u64 + snapshot.utterances_left_out();
            print_turns(&turns, left_out)
        }
    }
}

/// Prints the messages that the model was shown.
pub(super) fn print_recalled_messages(text: &str) -> Result<(), Failure> {
    output::print_line(&format!("\n{}", table::wrap_lines(&output::escape_unprintable(text))))
}

fn facts(session: &Session, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let title = output::escape_unprintable(snapshot.title());
    vec![
        ("Project", session.project.root().display().to_string()),
        ("Chat", session.chat.to_string()),
        ("Context", format!("{} \u{201c}{title}\u{201d}", snapshot.context())),
        ("Length", format!("{} in this context", count_text(snapshot.message_count()))),
    ]
}

fn print_about(about: &[(&str, String)]) -> Result<(), Failure> {
    about.iter().try_for_each(|(name, text)| {
        output::print_line(&table::wrap_text(&format!("{name:<8} {text}"), 9))
    })
}

fn print_summary(snapshot: &Snapshot) -> Result<(), Failure> {
    match snapshot.summary().trim() {
        "" => Ok(()),
        summary => {
            let title = Style::of_stdout().bold("Summary");
            output::print_line(&format!("\n{title}\n{}", text_for_user::render_text(summary)))
        }
    }
}

fn print_turns(turns: &[Utterance], left_out: u64) -> Result<(), Failure> {
    let style = Style::of_stdout();
    if left_out > 0 {
        let line = format!("({left_out} earlier are not shown)");
        output::print_line(&format!("\n{}", style.dim(&line)))?;
    }
    for turn in turns {
        let who = style.bold(turn.speaker.name());
        output::print_line(&format!("\n{who} {}", style.dim(&format_time(turn.ts))))?;
        // A person's text is shown as it was typed; an agent's text is Markdown.
        output::print_line(&match turn.speaker {
            Speaker::User => table::wrap_lines(&output::escape_unprintable(&turn.text)),
            Speaker::Assistant => text_for_user::render_text(&turn.text),
        })?;
    }
    Ok(())
}
