//! The older part of a context as text, for whoever sums it up.
//!
//! Everything that mattered is in it: what people wrote, what they were told, by text or by `chat_send`, and
//! which tools ran with what result. Long pieces are cut in the middle.

use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};

/// A person's or a model's text is cut beyond this many characters, a tool's beyond fewer.
const TEXT_CHARS_MAX: usize = 4_000;
const TOOL_CHARS_MAX: usize = 600;

/// The text of each message, as one piece.
pub fn transcript<'m>(messages: impl Iterator<Item = &'m UiMessage>) -> Vec<String> {
    messages.map(told).filter(|text| !text.is_empty()).collect()
}

fn told(message: &UiMessage) -> String {
    let who = match message.role() {
        Role::User => person(message),
        Role::Assistant => "Assistant".to_owned(),
        Role::System | Role::Unknown => "Note".to_owned(),
    };
    let mut lines = Vec::new();
    for part in message.parts() {
        match part {
            UiPart::Text(text) if !text.text().trim().is_empty() => {
                lines.push(format!("{who}: {}", shortened(text.text(), TEXT_CHARS_MAX)));
            }
            UiPart::Tool(tool) => {
                let input = tool.input().map(plain).unwrap_or_default();
                let name = tool.name().unwrap_or("a tool");
                if name == "chat_send" {
                    let text = tool.input().and_then(|input| input.get("text")).map(plain);
                    let text = text.unwrap_or(input);
                    lines.push(format!("{who} (sent): {}", shortened(&text, TEXT_CHARS_MAX)));
                    continue;
                }
                let result = match (tool.output(), tool.error_text()) {
                    (_, Some(error)) => format!("failed: {error}"),
                    (Some(output), None) => plain(output),
                    (None, None) => "no result".to_owned(),
                };
                lines.push(format!(
                    "{who} called {name}({}) -> {}",
                    shortened(&input, TOOL_CHARS_MAX),
                    shortened(&result, TOOL_CHARS_MAX)
                ));
            }
            UiPart::File(file) => lines.push(format!("{who}: [file {}]", file.media_type())),
            UiPart::Text(_)
            | UiPart::Reasoning(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => {}
        }
    }
    lines.join("\n")
}

fn person(message: &UiMessage) -> String {
    let name = message.metadata().and_then(|metadata| metadata.get("username")?.as_str());
    match name {
        Some(name) => format!("User {name}"),
        None => "User".to_owned(),
    }
}

fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Stands where a text was cut.
const MARK: &str = " […] ";

/// Cuts a text in the middle.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let half = chars_max / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(chars - half).collect();
    format!("{head}{MARK}{tail}")
}

/// Puts pieces together to as few texts as there can be of at most `tokens_max` each. A piece that is too
/// long by itself is cut.
pub fn chunks(pieces: &[String], tokens_max: u64, count: &dyn Fn(&str) -> u64) -> Vec<String> {
    let mut chunks: Vec<(String, u64)> = Vec::new();
    for piece in pieces {
        let mut piece = piece.clone();
        let mut tokens = count(&piece);
        while tokens > tokens_max && !piece.is_empty() {
            // In proportion, and a little less, so that few rounds are enough; the mark in the middle
            // takes some characters too.
            let chars = piece.chars().count() as u64;
            let keep = (chars * tokens_max / tokens * 9 / 10).saturating_sub(MARK.len() as u64);
            piece = match keep {
                0 => String::new(),
                keep => shortened(&piece, keep as usize),
            };
            tokens = count(&piece);
        }
        match chunks.last_mut() {
            Some((text, size)) if *size + tokens < tokens_max => {
                text.push_str("\n\n");
                text.push_str(&piece);
                *size += tokens + 1;
            }
            _ => chunks.push((piece, tokens)),
        }
    }
    chunks.into_iter().map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use ship_message::ToolPart;

    use super::*;

    #[test]
    fn calls_and_what_was_sent_to_the_person_are_in_it() {
        let mut look = ToolPart::new("look", "c1", Json::parse(r#"{"at":"sea"}"#).unwrap());
        look.set_output(Json::from("a ship"));
        let send = ToolPart::new(
            "chat_send",
            "c2",
            Json::parse(r#"{"text":"There is a ship."}"#).unwrap(),
        );
        let parts = vec![UiPart::text("Let me look."), UiPart::Tool(look), UiPart::Tool(send)];
        let pieces = transcript([UiMessage::new("a", Role::Assistant, parts)].iter());
        assert_eq!(
            pieces,
            [
                "Assistant: Let me look.\nAssistant called look({\"at\":\"sea\"}) -> a ship\nAssistant (sent): There is a ship."
            ]
        );
    }

    #[test]
    fn chunks_are_few_and_none_is_too_long() {
        let count = |text: &str| text.len() as u64;
        let pieces: Vec<String> = ["aaaa", "bbbb", "cccccccccccccccccccccccccccccccccccccccc", "d"]
            .map(str::to_owned)
            .to_vec();
        let found = chunks(&pieces, 20, &count);
        assert!(found.iter().all(|chunk| chunk.len() <= 20), "{found:?}");
        assert_eq!(found[0], "aaaa\n\nbbbb");
        assert!(found.last().is_some_and(|last| last.ends_with('d')));
    }
}
