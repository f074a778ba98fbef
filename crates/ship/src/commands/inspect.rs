//! `ship inspect`: what the model would be sent now, and what each piece of it takes.

use std::process::ExitCode;

use ship_context::count_tokens;
use ship_message::json::{Json, Object};
use ship_project::TokenBudget;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;

/// What a model whose window we do not know is held to.
const UNKNOWN_WINDOW_BUDGET: u64 = 12_000;

pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let request = session.agent()?.inspect(&session.chat).await?;
    let system: Vec<(String, u64, String)> =
        request.blocks.into_iter().map(|b| (b.name, count_tokens(&b.text), b.text)).collect();
    let messages: Vec<(u64, Json)> = request
        .messages
        .into_iter()
        .map(|message| (count_tokens(&message.to_string()), message.into_json()))
        .collect();
    let tools: Vec<(u64, Json)> = request
        .tools
        .iter()
        .map(|tool| (count_tokens(&tool.to_json().to_string()), tool.to_json()))
        .collect();
    let sums = Sums {
        system: system.iter().map(|(_, tokens, _)| tokens).sum(),
        messages: messages.iter().map(|(tokens, _)| tokens).sum(),
        tools: tools.iter().map(|(tokens, _)| tokens).sum(),
        budget: budget(session),
        window: session.project.settings().llm.window,
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
    print(session, &system, &messages, &tools, &sums)?;
    Ok(ExitCode::SUCCESS)
}

fn budget(session: &Session) -> u64 {
    match session.project.settings().context.history.max_input_tokens_approx {
        TokenBudget::Tokens(tokens) => tokens,
        TokenBudget::Auto => UNKNOWN_WINDOW_BUDGET,
    }
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

fn print(
    session: &Session,
    system: &[(String, u64, String)],
    messages: &[(u64, Json)],
    tools: &[(u64, Json)],
    sums: &Sums,
) -> Result<(), Failure> {
    let style = Style::of_stdout();
    let heading = |text: &str, tokens: u64| {
        format!("{} {}", style.bold(text), style.dim(&format!("{tokens} tokens")))
    };
    output::line(&format!("Project {}", session.project.root().display()))?;
    output::line(&format!("Chat    {}", session.chat))?;
    output::line(&format!("Model   {}\n", session.who_answers()))?;
    output::line(&heading("System", sums.system))?;
    for (name, tokens, text) in system {
        output::line(&format!(
            "  {tokens:>6}  {} {}",
            style.cyan(name),
            style.dim(&first_line(text))
        ))?;
    }
    output::line(&heading("Tools", sums.tools))?;
    for (tokens, tool) in tools {
        let text = |key: &str| tool.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        output::line(&format!(
            "  {tokens:>6}  {} {}",
            style.cyan(&text("name")),
            style.dim(&first_line(&text("description")))
        ))?;
    }
    output::line(&heading("Messages", sums.messages))?;
    for (tokens, message) in messages {
        let role = message.get("role").and_then(Json::as_str).unwrap_or("?");
        let parts = message.get("parts").and_then(Json::as_array).unwrap_or_default();
        let text =
            parts.iter().rev().find_map(|part| part.get("text")?.as_str()).unwrap_or("(no text)");
        output::line(&format!(
            "  {tokens:>6}  {} {}",
            style.cyan(role),
            style.dim(&first_line(text))
        ))?;
    }
    output::line(&format!("\nTotal {} of a budget of {} tokens", sums.total(), sums.budget))
}

/// The beginning of a text, on one line.
fn first_line(text: &str) -> String {
    const CHARS: usize = 70;
    let line = output::visible(text.trim().lines().next().unwrap_or_default());
    if line.chars().count() > CHARS {
        line.chars().take(CHARS).chain(['…']).collect()
    } else {
        line
    }
}
