//! `ship verify`: looks for damage, and changes nothing.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_store::{ChatKey, Problem, ProblemKind, Store, chat_folder};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut problems = Vec::new();
    let mut chats = 0;
    for look in store.chats().await? {
        chats += 1;
        match look.key {
            Err(problem) => problems.push(problem),
            Ok(key) => match problems_of(&*store, &key).await {
                Ok(found) => problems.extend(found),
                // A chat that cannot even be looked at is a problem like any other.
                Err(failure) => problems.push(unreadable(&key, failure)),
            },
        }
    }
    let ok = problems.is_empty();
    if session.json {
        let problems: Vec<Json> = problems.iter().map(to_json).collect();
        output::json(&Json::Object(Object::from([
            ("ok", Json::Bool(ok)),
            ("problems", problems.into()),
        ])))?;
    } else {
        print(&problems, chats)?;
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn problems_of(store: &dyn Store, key: &ChatKey) -> Result<Vec<Problem>, Failure> {
    let Some(chat) = store.open(key).await? else { return Ok(Vec::new()) };
    Ok(chat.verify().await?)
}

fn unreadable(key: &ChatKey, failure: Failure) -> Problem {
    Problem {
        file: chat_folder(key).display().to_string(),
        offset: 0,
        kind: ProblemKind::Damage,
        message: failure.sentence(),
        remedy: failure.remedy().unwrap_or("restore it from a copy").to_owned(),
    }
}

fn to_json(problem: &Problem) -> Json {
    Json::Object(Object::from([
        ("file", Json::from(problem.file.as_str())),
        ("offset", problem.offset.into()),
        ("kind", problem.kind.as_str().into()),
        ("message", problem.message.as_str().into()),
        ("remedy", problem.remedy.as_str().into()),
    ]))
}

fn print(problems: &[Problem], chats: usize) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for problem in problems {
        let place = match problem.offset {
            0 => problem.file.clone(),
            offset => format!("{} at byte {offset}", problem.file),
        };
        let kind = style.red(&problem.kind.as_str().replace('_', " "));
        let line = format!("{kind} {}: {}", style.bold(&place), output::visible(&problem.message));
        output::line(&table::wrapped(&line, 2))?;
        let line = format!("  {} {}", style.dim("hint:"), output::visible(&problem.remedy));
        output::line(&table::wrapped(&line, 8))?;
    }
    output::line(&match (problems.len(), chats) {
        (0, 1) => "1 chat, nothing wrong.".to_owned(),
        (0, chats) => format!("{chats} chats, nothing wrong."),
        (1, _) => "1 problem.".to_owned(),
        (count, _) => format!("{count} problems."),
    })
}
