//! `ship verify`: looks for damage, and changes nothing.

use std::process::ExitCode;

use ship_message::json::{Json, Object};
use ship_store::Problem;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let store = session.store()?;
    let mut problems = Vec::new();
    let mut chats = 0;
    for look in store.chats().await? {
        chats += 1;
        match look.key {
            Err(problem) => problems.push(problem),
            Ok(key) => {
                if let Some(chat) = store.open(&key).await? {
                    problems.extend(chat.verify().await?);
                }
            }
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
        let place = format!("{} at byte {}", problem.file, problem.offset);
        output::line(&format!(
            "{} {}: {}",
            style.red(problem.kind.as_str()),
            style.bold(&place),
            problem.message
        ))?;
        output::line(&format!("  {} {}", style.dim("hint:"), problem.remedy))?;
    }
    output::line(&match (problems.len(), chats) {
        (0, 1) => "1 chat, nothing wrong.".to_owned(),
        (0, chats) => format!("{chats} chats, nothing wrong."),
        (1, _) => "1 problem.".to_owned(),
        (count, _) => format!("{count} problems."),
    })
}
