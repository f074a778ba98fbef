//! Writes the older part of a context as text for the model that summarises it.
//!
//! It contains everything that mattered: what people wrote, what they were told by text or by `chat_send`, and
//! which tools ran with which results. Long pieces are cut in the middle.

use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};
use ship_record::{Metadata, without_notices};

use crate::cut_text::{CUT, CutMark, cut_middle};
use crate::shown_references::is_reference;

/// The number of characters to which the text of a person or model is cut; the output of a tool is cut to fewer. A
/// summary is made in a bounded number of calls: one long output would take the room of many messages.
const TEXT_CHARS_MAX: usize = 4_000;
const TOOL_CHARS_MAX: usize = 600;

/// Returns the text of a message as one piece; an empty one for a message without content, and for the prompt of a
/// skill, which comes with the system blocks as long as the skill is loaded.
pub fn transcript_entry(message: &UiMessage) -> String {
    if Metadata::of(message).prompt_of_skill().is_some() {
        return String::new();
    }
    let author = match message.role() {
        Role::User => person_name(message),
        Role::Assistant if is_reference(message) => "Shown for reference".to_owned(),
        Role::Assistant => "Assistant".to_owned(),
        Role::System | Role::Unknown => "Note".to_owned(),
    };
    let mut lines = Vec::new();
    for part in without_notices(message).parts() {
        match part {
            UiPart::Text(text) if !text.text().trim().is_empty() => {
                lines.push(format!("{author}: {}", shortened(text.text(), TEXT_CHARS_MAX)));
            }
            UiPart::Tool(tool) => {
                let input = tool.input().map(value_text).unwrap_or_default();
                let name = tool.name().unwrap_or("a tool");
                // What was sent to the person counts as an answer, and gets as much room as one.
                if name == "chat_send" {
                    let text = tool.input().and_then(|input| input.get("text")).map(value_text);
                    let text = text.unwrap_or(input);
                    lines.push(format!("{author} (sent): {}", shortened(&text, TEXT_CHARS_MAX)));
                    continue;
                }
                let result = match (tool.output(), tool.error_text()) {
                    (_, Some(error)) => format!("failed: {error}"),
                    (Some(output), None) => value_text(output),
                    (None, None) => "no result".to_owned(),
                };
                lines.push(format!(
                    "{author} called {name}({}) -> {}",
                    shortened(&input, TOOL_CHARS_MAX),
                    shortened(&result, TOOL_CHARS_MAX)
                ));
            }
            UiPart::File(file) => lines.push(format!("{author}: [file {}]", file.media_type())),
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

fn person_name(message: &UiMessage) -> String {
    match Metadata::of(message).username() {
        Some(name) => format!("User {name}"),
        None => "User".to_owned(),
    }
}

fn value_text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// Cuts a text in the middle.
pub(super) fn shortened(text: &str, chars_max: usize) -> String {
    cut_middle(text, chars_max, CutMark::Short)
}

/// The part of a transcript that a limited number of readings can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptChunks {
    /// The texts, in order.
    pub texts: Vec<String>,
    /// The index of the first piece of each text.
    pub starts: Vec<usize>,
    /// The number of pieces that are older than the texts, or are only partly in them.
    pub unread: usize,
}

/// Combines the newest pieces into as few texts as possible, of at most `tokens_max` tokens each, and at most
/// `texts_max` of them. Older pieces are not asked for, so a long history costs no more than a short one.
pub fn transcript_chunks(
    pieces: impl DoubleEndedIterator<Item = String> + ExactSizeIterator,
    tokens_max: u64,
    texts_max: usize,
    count: &dyn Fn(&str) -> u64,
) -> TranscriptChunks {
    // Both go from the end: the newest text first, and in each the newest piece.
    let mut chunks: Vec<TranscriptChunk> = Vec::new();
    for (at, piece) in pieces.enumerate().rev() {
        for (piece, tokens) in split_piece(piece, tokens_max, count).into_iter().rev() {
            let is_last = chunks.len() >= texts_max;
            match chunks.last_mut() {
                // Less and not equal, because the blank line between two pieces takes a token.
                Some(chunk) if chunk.tokens + tokens < tokens_max => {
                    chunk.pieces.push(piece);
                    chunk.tokens += tokens + 1;
                    chunk.start = at;
                }
                _ if is_last => return join_chunks(chunks, at + 1),
                _ => chunks.push(TranscriptChunk { pieces: vec![piece], tokens, start: at }),
            }
        }
    }
    join_chunks(chunks, 0)
}

/// A text that is being put together, with its pieces from the newest on.
struct TranscriptChunk {
    pieces: Vec<String>,
    tokens: u64,
    start: usize,
}

fn join_chunks(chunks: Vec<TranscriptChunk>, unread: usize) -> TranscriptChunks {
    let (mut texts, mut starts) = (Vec::new(), Vec::new());
    for TranscriptChunk { mut pieces, start, .. } in chunks.into_iter().rev() {
        pieces.reverse();
        texts.push(pieces.join("\n\n"));
        starts.push(start);
    }
    TranscriptChunks { texts, starts, unread }
}

/// Returns a piece with its tokens; one that is too long is divided between its lines.
fn split_piece(piece: String, tokens_max: u64, count: &dyn Fn(&str) -> u64) -> Vec<(String, u64)> {
    if piece.is_empty() {
        return Vec::new();
    }
    let tokens = count(&piece);
    if tokens <= tokens_max {
        return vec![(piece, tokens)];
    }
    let mut parts: Vec<(String, u64)> = Vec::new();
    for line in piece.lines() {
        let (line, tokens) = cut_to_tokens(line, tokens_max, count);
        match parts.last_mut() {
            Some((part, size)) if *size + tokens < tokens_max => {
                part.push('\n');
                part.push_str(&line);
                *size += tokens + 1;
            }
            _ => parts.push((line, tokens)),
        }
    }
    parts
}

/// Cuts a line in the middle to at most so many tokens.
fn cut_to_tokens(line: &str, tokens_max: u64, count: &dyn Fn(&str) -> u64) -> (String, u64) {
    let mut line = line.to_owned();
    let mut tokens = count(&line);
    while tokens > tokens_max && !line.is_empty() {
        // The cut is proportional and a little more, so that few rounds suffice; the mark in the middle
        // takes some characters too.
        let chars = line.chars().count() as u64;
        let keep = (chars * tokens_max / tokens * 9 / 10).saturating_sub(CUT.len() as u64);
        line = match keep {
            0 => String::new(),
            keep => shortened(&line, keep as usize),
        };
        tokens = count(&line);
    }
    (line, tokens)
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
        let piece = transcript_entry(&UiMessage::new("a", Role::Assistant, parts));
        assert_eq!(
            piece,
            "Assistant: Let me look.\nAssistant called look({\"at\":\"sea\"}) -> a ship\nAssistant (sent): There is a ship."
        );
    }

    #[test]
    fn the_prompt_of_a_skill_is_not_in_it() {
        let mut prompt = UiMessage::new("m", Role::User, vec![UiPart::text("Make slides.")]);
        assert!(transcript_entry(&prompt).contains("Make slides."));
        prompt.set_metadata(Json::parse(r#"{"promptOfSkill":"pptx"}"#).unwrap());
        assert_eq!(transcript_entry(&prompt), "");
    }

    fn length(text: &str) -> u64 {
        text.len() as u64
    }

    fn pieces<const N: usize>(texts: [&str; N]) -> std::array::IntoIter<String, N> {
        texts.map(str::to_owned).into_iter()
    }

    #[test]
    fn chunks_are_few_and_none_is_too_long() {
        let long = "c".repeat(40);
        let pieces = pieces(["aaaa", "bbbb", &long, "", "d"]);
        let found = transcript_chunks(pieces, 20, 8, &length);
        assert!(found.texts.iter().all(|chunk| chunk.len() <= 20), "{found:?}");
        assert_eq!(found.texts[0], "aaaa\n\nbbbb");
        assert!(found.texts.last().is_some_and(|last| last.ends_with('d')));
        assert_eq!(found.unread, 0);
    }

    #[test]
    fn what_is_older_than_the_readings_can_take_is_told_and_not_even_counted() {
        let pieces = pieces(["first", "second", "third", "fourth", "fifth"]);
        let counted = std::cell::RefCell::new(Vec::new());
        let found = transcript_chunks(pieces, 8, 2, &|text| {
            counted.borrow_mut().push(text.to_owned());
            length(text)
        });
        let texts = vec!["fourth".into(), "fifth".into()];
        assert_eq!(found, TranscriptChunks { texts, starts: vec![3, 4], unread: 3 });
        assert_eq!(counted.into_inner(), ["fifth", "fourth", "third"]);
    }

    #[test]
    fn a_long_message_is_parted_between_its_lines_and_counts_as_unread_until_it_is_read_whole() {
        let pieces = pieces(["before", "one one\ntwo two\nsix six"]);
        let found = transcript_chunks(pieces.clone(), 16, 2, &length);
        assert_eq!(found.texts, ["one one\ntwo two", "six six"]);
        assert_eq!(found.starts, [1, 1]);
        assert_eq!(found.unread, 1, "there is no place for the one before it");
        let found = transcript_chunks(pieces, 16, 1, &length);
        assert_eq!((&*found.texts, found.unread), (&["six six".to_owned()][..], 2));
    }
}
