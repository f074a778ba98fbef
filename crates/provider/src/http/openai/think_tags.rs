//! Tells thoughts from words in the text of a model whose host does not: `<think>…</think>` at its beginning.
//!
//! Some templates open the tag themselves, so that an answer has only `</think>`. Its thoughts are shown as words:
//! they have been passed on when the tag comes, and to hold back the beginning of every answer would be worse. Such a
//! host has an option of its own to tell them apart (`--reasoning-format`, `--reasoning-parser`).

use ship_message::json::JsString;

use super::super::answer_draft::ProseKind;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Divides the text of an answer into thoughts and words, in pieces as they arrive.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    place: Place,
    /// The text that may be the beginning of a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Nothing but white space has come.
    #[default]
    Start,
    Thoughts,
    /// The thoughts have just ended; white space before the words is dropped.
    AfterThoughts,
    Words,
}

impl ThinkTags {
    /// Takes the next piece, and passes on what is known to be thoughts or words.
    pub(super) fn push(&mut self, piece: &JsString, each: &mut impl FnMut(ProseKind, &JsString)) {
        // Nearly every piece has nothing to do with a tag, and is passed on as it is: two may share a character.
        if self.held.is_empty() {
            match self.place {
                Place::Start if !piece.trim_start().is_empty() && !may_open(piece) => {
                    self.place = Place::Words;
                    return each(ProseKind::Text, piece);
                }
                Place::Words => return each(ProseKind::Text, piece),
                Place::Thoughts if !piece.contains('<') => {
                    return each(ProseKind::Reasoning, piece);
                }
                Place::Start | Place::Thoughts | Place::AfterThoughts => {}
            }
        }
        self.held.push_str(piece);
        loop {
            let text = std::mem::take(&mut self.held);
            let (give, rest, next) = match self.place {
                Place::Start => match text.trim_start() {
                    "" => return self.hold(text),
                    begun if begun.starts_with(OPEN) => {
                        (String::new(), begun[OPEN.len()..].to_owned(), Place::Thoughts)
                    }
                    begun if OPEN.starts_with(begun) => return self.hold(text),
                    _ => (text, String::new(), Place::Words),
                },
                Place::Thoughts => match text.find(CLOSE) {
                    Some(at) => (
                        text[..at].to_owned(),
                        text[at + CLOSE.len()..].to_owned(),
                        Place::AfterThoughts,
                    ),
                    None => {
                        let end = text.len() - begun_tag(&text, CLOSE);
                        give_text(ProseKind::Reasoning, &text[..end], each);
                        return self.hold(text[end..].to_owned());
                    }
                },
                Place::AfterThoughts => match text.trim_start() {
                    "" => return,
                    begun if begun.starts_with(OPEN) => {
                        (String::new(), begun[OPEN.len()..].to_owned(), Place::Thoughts)
                    }
                    begun if OPEN.starts_with(begun) => return self.hold(begun.to_owned()),
                    words => (words.to_owned(), String::new(), Place::Words),
                },
                Place::Words => (text, String::new(), Place::Words),
            };
            let kind = match self.place {
                Place::Thoughts => ProseKind::Reasoning,
                Place::Start | Place::AfterThoughts | Place::Words => ProseKind::Text,
            };
            give_text(kind, &give, each);
            self.place = next;
            self.held = rest;
            if self.held.is_empty() {
                return;
            }
        }
    }

    /// Passes on what was held back, at the end of the answer.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(ProseKind, &JsString)) {
        let kind = match self.place {
            Place::Thoughts => ProseKind::Reasoning,
            Place::Start | Place::AfterThoughts | Place::Words => ProseKind::Text,
        };
        give_text(kind, &std::mem::take(&mut self.held), each);
    }

    fn hold(&mut self, text: String) {
        self.held = text;
    }
}

fn give_text(kind: ProseKind, text: &str, each: &mut impl FnMut(ProseKind, &JsString)) {
    if !text.is_empty() {
        each(kind, &text.into());
    }
}

/// Whether a text begins with the opening tag, or may become its beginning.
fn may_open(text: &str) -> bool {
    let begun = text.trim_start();
    begun.starts_with(OPEN) || OPEN.starts_with(begun)
}

/// Returns the bytes at the end of a text that may be the beginning of a tag.
fn begun_tag(text: &str, tag: &str) -> usize {
    (1..tag.len()).rev().find(|len| text.ends_with(&tag[..*len])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the thoughts and the words of a text in pieces of `size` characters.
    fn divided(text: &str, size: usize) -> (String, String) {
        let (mut thoughts, mut words) = (String::new(), String::new());
        let mut tags = ThinkTags::default();
        let mut each = |kind, text: &JsString| match kind {
            ProseKind::Reasoning => thoughts.push_str(text),
            ProseKind::Text => words.push_str(text),
        };
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            tags.push(&piece.iter().collect::<String>().into(), &mut each);
        }
        tags.finish(&mut each);
        (thoughts, words)
    }

    #[test]
    fn thoughts_at_the_beginning_are_told_from_words_however_they_are_cut() {
        for (text, thoughts, words) in [
            ("<think>why?</think>Because.", "why?", "Because."),
            ("\n<think>\na < b</th\n</think>\n\nSo.", "\na < b</th\n", "So."),
            ("<think>never ends", "never ends", ""),
            ("<think></think>\nAye.", "", "Aye."),
            ("<think>a</think>\n\n<think>b</think>Aye.", "ab", "Aye."),
            ("<think>a</think>\n<thin air", "a", "<thin air"),
            ("a</think>Aye.", "", "a</think>Aye."),
            ("Aye.", "", "Aye."),
            ("  Aye <think>no</think>", "", "  Aye <think>no</think>"),
            ("<thin", "", "<thin"),
            ("<b>Aye</b>", "", "<b>Aye</b>"),
            ("", "", ""),
        ] {
            for size in 1..=text.chars().count().max(1) {
                let found = divided(text, size);
                assert_eq!(found, (thoughts.to_owned(), words.to_owned()), "{text:?} by {size}");
            }
        }
    }
}
