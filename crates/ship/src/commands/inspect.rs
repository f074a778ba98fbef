//! `ship inspect`: what the model would be sent now, and what each piece of it takes.

use std::process::ExitCode;

use ship_agent::Began;
use ship_message::UiMessage;
use ship_message::json::{Json, Object};

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let request = session.agent()?.inspect(&session.chat).await?;
    let began = request.began;
    let tokens = request.tokens;
    let system: Vec<(String, u64, String)> = request
        .blocks
        .into_iter()
        .zip(tokens.system)
        .map(|(block, tokens)| (block.name, tokens, block.text))
        .collect();
    let messages: Vec<(u64, Json)> = tokens
        .messages
        .into_iter()
        .zip(request.messages.into_iter().map(UiMessage::into_json))
        .collect();
    let tools: Vec<(u64, Json)> =
        tokens.tools.into_iter().zip(request.tools.iter().map(|tool| tool.to_json())).collect();
    let sums = Sums {
        system: system.iter().map(|(_, tokens, _)| tokens).sum(),
        messages: messages.iter().map(|(tokens, _)| tokens).sum(),
        tools: tools.iter().map(|(tokens, _)| tokens).sum(),
        budget: request.budget_tokens,
        window: request.window_tokens,
    };
    if session.json {
        let system: Vec<Json> = system
            .into_iter()
            .map(|(name, tokens, text)| {
                Json::Object(Object::from([
                    ("name", Json::from(name)),
                    ("tokens", tokens.into()),
                    ("text", text.into()),
                ]))
            })
            .collect();
        let values =
            |pieces: Vec<(u64, Json)>| pieces.into_iter().map(|(_, json)| json).collect::<Vec<_>>();
        output::json(&Json::Object(Object::from([
            ("system", Json::from(system)),
            ("messages", values(messages).into()),
            ("tools", values(tools).into()),
            ("tokens", sums.to_json()),
        ])))?;
        return Ok(ExitCode::SUCCESS);
    }
    print_about(session, began.as_ref())?;
    print(&system, &messages, &tools, &sums)?;
    Ok(ExitCode::SUCCESS)
}

struct Sums {
    system: u64,
    tools: u64,
    messages: u64,
    budget: u64,
    window: Option<u64>,
}

impl Sums {
    fn total(&self) -> u64 {
        self.system + self.tools + self.messages
    }

    fn to_json(&self) -> Json {
        Json::Object(Object::from([
            ("system", Json::from(self.system)),
            ("tools", self.tools.into()),
            ("messages", self.messages.into()),
            ("total", self.total().into()),
            ("budget", self.budget.into()),
            ("window", self.window.map_or(Json::Null, Json::from)),
        ]))
    }
}

/// What it is about: the project, the chat, its context, and who would answer.
fn print_about(session: &Session, began: Option<&Began>) -> Result<(), Failure> {
    for (name, about) in [
        ("Project", session.project.root().display().to_string()),
        ("Chat", session.chat.to_string()),
        ("Context", context(began)),
        ("Model", session.who_answers()),
    ] {
        output::line(&table::wrapped(&format!("{name:<8} {about}"), 9))?;
    }
    Ok(())
}

/// Which context is active, since when, and by what.
fn context(began: Option<&Began>) -> String {
    let Some(began) = began else { return "none yet: it begins with the first message".to_owned() };
    let mut about = began.context.to_string();
    if let Some(title) = &began.title {
        about.push_str(&format!(" \u{201c}{}\u{201d}", output::visible(title)));
    }
    if let Some(since) = began.since {
        about.push_str(&format!(", since {}", output::moment(since.millis() as f64)));
    }
    if let Some(by) = &began.by {
        about.push_str(&format!(", by {}", output::visible(by)));
    }
    about
}

fn print(
    system: &[(String, u64, String)],
    messages: &[(u64, Json)],
    tools: &[(u64, Json)],
    sums: &Sums,
) -> Result<(), Failure> {
    let style = Style::of_stdout();
    let text = |json: &Json, key: &str| {
        json.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
    };
    let system: Vec<Row> =
        system.iter().map(|(n, t, text)| (*t, n.clone(), text.clone())).collect();
    let tools: Vec<Row> =
        tools.iter().map(|(t, tool)| (*t, text(tool, "name"), text(tool, "description"))).collect();
    let messages: Vec<Row> =
        messages.iter().map(|(t, message)| (*t, text(message, "role"), said(message))).collect();
    for (title, tokens, rows) in [
        ("System", sums.system, system),
        ("Tools", sums.tools, tools),
        ("Messages", sums.messages, messages),
    ] {
        let tokens = style.dim(&format!("{tokens} tokens"));
        output::line(&format!("\n{} {tokens}", style.bold(title)))?;
        print_rows(&rows, style)?;
    }
    output::line(&format!("\nTotal {} tokens, of a budget of {}", sums.total(), sums.budget))
}

/// Tokens, what it is, and what it says.
type Row = (u64, String, String);

fn print_rows(rows: &[Row], style: Style) -> Result<(), Failure> {
    let width = rows.iter().map(|(_, name, _)| table::width(name)).max().unwrap_or_default();
    // Six digits and the spaces between the columns; a narrow terminal still shows how a text begins.
    let room = table::columns().saturating_sub(width + 12).clamp(8, 70);
    for (tokens, name, text) in rows {
        let first = output::visible(text.trim().lines().next().unwrap_or_default());
        output::line(&format!(
            "  {tokens:>6}  {}  {}",
            style.cyan(&table::pad(&output::visible(name), width)),
            style.dim(&table::fit(&first, room))
        ))?;
    }
    Ok(())
}

/// The last text of a message; what stands before it tells only who wrote it and when.
fn said(message: &Json) -> String {
    let parts = message.get("parts").and_then(Json::as_array).unwrap_or_default();
    let text = parts.iter().rev().find_map(|part| part.get("text")?.as_str());
    text.unwrap_or("(no text)").to_owned()
}
