//! The pieces of a request with their tokens, as JSON or as a table for people.

use ship_agent::PieceTokens;
use ship_context::SystemBlock;
use ship_message::json::{Json, Object};
use ship_message::{UiMessage, attached_text_name};
use ship_project::read_system_texts;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// The pieces of a request.
pub(super) struct PieceTable {
    system: Vec<(String, u64, String)>,
    messages: Vec<(u64, Json)>,
    tools: Vec<(u64, Json)>,
    sums: Sums,
}

impl PieceTable {
    pub(super) fn new(
        blocks: Vec<SystemBlock>,
        messages: Vec<UiMessage>,
        tools: Vec<Json>,
        tokens: PieceTokens,
        (budget, window): (Option<u64>, Option<u64>),
    ) -> Self {
        let sums = Sums {
            system: tokens.system.iter().sum(),
            messages: tokens.messages.iter().sum(),
            tools: tokens.tools.iter().sum(),
            budget,
            window,
        };
        let blocks = blocks.into_iter().zip(tokens.system);
        // A message of which nothing is shown is not sent: a notice, or a reference that stands in the next message.
        let messages = tokens.messages.into_iter().zip(messages);
        let messages = messages.filter(|(_, message)| !message.parts().is_empty());
        Self {
            system: blocks.map(|(block, tokens)| (block.name, tokens, block.text)).collect(),
            messages: messages.map(|(tokens, message)| (tokens, message.into_json())).collect(),
            tools: tokens.tools.into_iter().zip(tools).collect(),
            sums,
        }
    }

    pub(super) fn into_object(self) -> Object {
        let block = |(name, tokens, text): (String, u64, String)| {
            Json::Object(Object::from([
                ("name", Json::from(name)),
                ("tokens", tokens.into()),
                ("text", text.into()),
            ]))
        };
        let values =
            |pieces: Vec<(u64, Json)>| pieces.into_iter().map(|(_, json)| json).collect::<Vec<_>>();
        Object::from([
            ("system", Json::from(self.system.into_iter().map(block).collect::<Vec<_>>())),
            ("messages", values(self.messages).into()),
            ("tools", values(self.tools).into()),
            ("tokens", self.sums.to_json()),
        ])
    }

    pub(super) fn print(mut self, session: &Session) -> Result<(), Failure> {
        self.name_default_role(session);
        print(&self.system, &self.messages, &self.tools, &self.sums)
    }
}

impl PieceTable {
    /// Names the default role as such: people look in vain for the file of its block.
    fn name_default_role(&mut self, session: &Session) {
        let root = session.project.root();
        if root.join("Agent.md").exists() {
            return;
        }
        let role = read_system_texts(root).role;
        let of_role = self.system.iter_mut().filter(|(_, _, text)| Some(text) == role.as_ref());
        of_role.for_each(|(name, ..)| *name = "default role".to_owned());
    }
}

struct Sums {
    system: u64,
    tools: u64,
    messages: u64,
    /// The size above which the context is compacted; none if only the model's refusal shows that it is too large.
    budget: Option<u64>,
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
            ("budget", self.budget.map_or(Json::Null, Json::from)),
            ("window", self.window.map_or(Json::Null, Json::from)),
        ]))
    }
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
    let messages: Vec<Row> = messages
        .iter()
        .map(|(t, message)| (*t, text(message, "role"), message_preview(message)))
        .collect();
    for (title, tokens, rows) in [
        ("System", sums.system, system),
        ("Tools", sums.tools, tools),
        ("Messages", sums.messages, messages),
    ] {
        let tokens = style.dim(&format!("{tokens} tokens"));
        output::print_line(&format!("\n{} {tokens}", style.bold(title)))?;
        print_rows(&rows, style)?;
    }
    let budget = match sums.budget {
        Some(budget) => format!("compacted above {budget}"),
        None => "compacted once the model refuses more".to_owned(),
    };
    output::print_line(&format!("\nTotal {} tokens, {budget}", sums.total()))
}

/// The tokens, the name and the text of a piece.
type Row = (u64, String, String);

fn print_rows(rows: &[Row], style: Style) -> Result<(), Failure> {
    let width = rows.iter().map(|(_, name, _)| table::width(name)).max().unwrap_or_default();
    // Six digits and the spaces between columns are reserved; a narrow terminal still shows the start of a text.
    let room = table::columns().saturating_sub(width + 12).clamp(8, 70);
    for (tokens, name, text) in rows {
        let first = output::escape_unprintable(text.trim().lines().next().unwrap_or_default());
        output::print_line(&format!(
            "  {tokens:>6}  {}  {}",
            style.cyan(&table::pad(&output::escape_unprintable(name), width)),
            style.dim(&table::fit(&first, room))
        ))?;
    }
    Ok(())
}

/// Returns the words of a message, on one line with the names of its files. Texts before the words only name the author
/// and the time.
fn message_preview(message: &Json) -> String {
    let parts = message.get("parts").and_then(Json::as_array).unwrap_or_default();
    let text = |part: &Json| part.get("text").and_then(Json::as_str).map(str::to_owned);
    let file = |part: &Json| match part.get("filename").and_then(Json::as_str) {
        Some(name) => Some(name.to_owned()),
        None => attached_text_name(&text(part)?).map(str::to_owned),
    };
    let files: Vec<String> =
        parts.iter().filter_map(file).map(|name| format!("[{name}]")).collect();
    let words = parts.iter().rev().filter(|part| file(part).is_none()).find_map(text);
    let words = words.unwrap_or_else(|| "(no text)".to_owned());
    match files.is_empty() {
        true => words,
        false => format!("{} {}", words.trim().lines().next().unwrap_or_default(), files.join(" ")),
    }
}
