//! `ship logs`: what the agent did, line by line.

use std::process::ExitCode;
use std::time::Duration;

use ship_message::json::{Json, Object};
use ship_project::LogReader;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) async fn run(
    session: &Session,
    follow: bool,
    request: Option<&str>,
) -> Result<ExitCode, Failure> {
    let root = session.project.root();
    let mut reader = if follow && request.is_none() {
        LogReader::from_end(root)?
    } else {
        LogReader::from_start(root)
    };
    if let Some(id) = request {
        reader = reader.of_request(id);
    }
    loop {
        let lines = reader.poll()?;
        for line in &lines {
            print(session, line)?;
        }
        if !lines.is_empty() {
            continue;
        }
        if !follow {
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
    }
}

fn print(session: &Session, line: &Object) -> Result<(), Failure> {
    if session.json {
        return output::json(&Json::Object(line.clone()));
    }
    let style = Style::of_stdout();
    let text = |key: &str| line.str(key).unwrap_or_default();
    let mut rest = String::new();
    for (key, value) in line.iter() {
        if !matches!(key, "ts" | "level" | "kind") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = output::visible(&value);
            // One line of the log is one line here.
            let value = value.replace('\n', "\\n");
            rest.push_str(&format!(" {}{value}", style.dim(&format!("{key}="))));
        }
    }
    let when = line.get("ts").map(|ts| ts.as_str().map_or_else(|| ts.to_string(), str::to_owned));
    output::line(&format!(
        "{} {:<5} {}{rest}",
        when.unwrap_or_default(),
        text("level"),
        style.bold(text("kind"))
    ))
}
