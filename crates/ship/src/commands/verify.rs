//! `ship verify`: looks for damage and changes nothing.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_store::{
    ChatKey, ChatLook, RepairEffect, StorageError, StorageProblem, StorageProblemKind, Store,
    chat_folder,
};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut problems = Vec::new();
    let mut chats = 0;
    for look in chats_by_name(&*store).await? {
        chats += 1;
        match look.key {
            Err(problem) => problems.push(problem),
            Ok(key) => match find_problems(&*store, &key).await {
                Ok(found) => problems.extend(found),
                // A chat that cannot be opened is a problem like any other.
                Err(failure) => problems.push(unreadable_chat(&key, failure)),
            },
        }
    }
    name_project(session, &mut problems);
    // A problem that a person has seen and that cannot be healed is no failure.
    let ok = problems.iter().all(|problem| problem.is_reported);
    if session.json {
        let problems: Vec<Json> = problems.iter().map(to_json).collect();
        output::print_json(&Json::Object(Object::from([
            ("ok", Json::Bool(ok)),
            ("problems", problems.into()),
        ])))?;
    } else {
        print(session, &problems, chats)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn find_problems(store: &dyn Store, key: &ChatKey) -> Result<Vec<StorageProblem>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    Ok(chat.verify().await?)
}

/// Makes the remedies name the project, if the person did.
pub(super) fn name_project(session: &Session, problems: &mut [StorageProblem]) {
    let flags = session.chat_flags.of_project();
    for problem in problems {
        problem.remedy = flags.add_to_commands_in(&problem.remedy);
    }
}

/// Turns the failure to open a chat into a problem.
pub(super) fn unreadable_chat(key: &ChatKey, failure: Failure) -> StorageProblem {
    let file = chat_folder(key).display().to_string();
    let remedy = failure.remedy().unwrap_or("restore it from a backup");
    let problem = StorageProblem::new(file, StorageProblemKind::Damage, failure.sentence(), remedy);
    StorageProblem { repair: RepairEffect::Nothing, ..problem }
}

pub(super) fn to_json(problem: &StorageProblem) -> Json {
    Json::Object(Object::from([
        ("file", Json::from(problem.place.as_str())),
        ("offset", problem.offset.into()),
        ("kind", problem.kind.name().into()),
        ("message", problem.message.as_str().into()),
        ("remedy", problem.remedy.as_str().into()),
        ("known", problem.is_reported.into()),
    ]))
}

fn print(session: &Session, problems: &[StorageProblem], chats: usize) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for problem in problems {
        print_problem(problem, style)?;
    }
    let known = problems.iter().filter(|problem| problem.is_reported).count();
    if problems.iter().any(|it| !it.is_reported && it.repair != RepairEffect::Nothing) {
        let repair = session.chat_flags.add_to("ship repair");
        output::print_line(&format!(
            "`{repair}` repairs what it can, and marks the rest as known."
        ))?;
    }
    output::print_line(&match (problems.len(), known, chats) {
        (0, _, 1) => "1 chat, nothing wrong.".to_owned(),
        (0, _, chats) => format!("{chats} chats, nothing wrong."),
        (1, 1, _) => "1 problem, known.".to_owned(),
        (1, _, _) => "1 problem.".to_owned(),
        (count, 0, _) => format!("{count} problems."),
        (count, known, _) if count == known => format!("{count} problems, all known."),
        (count, known, _) => format!("{count} problems, {known} of them known."),
    })
}

/// Prints a problem and its remedy.
pub(super) fn print_problem(problem: &StorageProblem, style: Style) -> Result<(), Failure> {
    if problem.is_reported {
        let line = format!("{} {}", describe_problem(problem, style), style.dim("(known)"));
        return output::print_line(&table::wrap_text(&line, 2));
    }
    output::print_line(&table::wrap_text(&describe_problem(problem, style), 2))?;
    let hint = format!("  {} {}", style.dim("hint:"), output::escape_unprintable(&problem.remedy));
    output::print_line(&table::wrap_text(&hint, 8))
}

/// Describes the place and the kind of a problem on one line.
pub(super) fn describe_problem(problem: &StorageProblem, style: Style) -> String {
    let place = match problem.offset {
        0 => problem.place.clone(),
        offset => format!("{} at byte {offset}", problem.place),
    };
    let kind = problem.kind.name().replace('_', " ");
    let kind = if problem.is_reported { style.dim(&kind) } else { style.red(&kind) };
    format!("{kind} {}: {}", style.bold(&place), output::escape_unprintable(&problem.message))
}

/// Returns all chats in the order of their names, in which a person finds one.
pub(super) async fn chats_by_name(store: &dyn Store) -> Result<Vec<ChatLook>, StorageError> {
    let mut chats = store.chats(None, usize::MAX).await?.chats;
    chats.sort_by_cached_key(|look| match &look.key {
        Ok(key) => chat_folder(key).join("chat.json").display().to_string(),
        Err(problem) => problem.place.clone(),
    });
    Ok(chats)
}
