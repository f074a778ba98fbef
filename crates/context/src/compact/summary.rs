//! Summaries: the instructions for the model, and the message that its text becomes.

use ship_message::{Role, UiMessage, UiPart};
use ship_record::{MessageKind, MessageSource, Metadata, NewMetadata, SourceRange, Timestamp};

use super::identifiers::{names, whole_identifiers};
use super::summary_check::is_heading;
use super::transcript::{shortened, transcript_entry};

/// The headings of every summary, in this order.
pub(super) const HEADINGS: [&str; 4] = ["Facts", "Preferences", "Decisions", "Open items"];
pub(super) const IDENTIFIERS: &str = "## Identifiers";
/// A section of older summaries. The open request stays behind the summary, and would be read as open for ever in it.
pub(super) const OPEN_REQUEST: &str = "## Open request";

/// Returns the instructions for a model that summarises in at most `room` tokens.
pub fn summary_instructions(wishes: Option<&str>, room: u64) -> String {
    // A word has at most a token and a half where words have spaces between them; elsewhere a character has one and
    // a third. The headings take some too.
    let (words, chars) = (room * 3 / 5, room * 3 / 4);
    let rules = include_str!("../prompts/summary.md").trim_end();
    let rules = format!(
        "{rules}\n- At most {words} words, or {chars} characters in a language that puts no spaces between \
         words. What is longer is cut off and lost: rather leave out what matters least."
    );
    match wishes.map(str::trim).filter(|wishes| !wishes.is_empty()) {
        Some(wishes) => format!("{rules}\n- The person asks in particular: {wishes}"),
        None => rules,
    }
}

/// The number of characters that are quoted of the last message to be summarised.
const QUOTE_CHARS_MAX: usize = 300;

/// Returns the instruction to summarise the older part of a chat, as the last message of that chat. `older` are the
/// messages of that part; its end is quoted, because a model does not see how messages are counted.
pub fn continuation_instruction(wishes: Option<&str>, room: u64, older: &[&UiMessage]) -> String {
    let entries = older.iter().rev().map(|message| transcript_entry(message));
    let last = entries.into_iter().find(|entry| !entry.is_empty()).unwrap_or_default();
    format!(
        "[This message is not from a person, and no part of the chat. Do not answer the chat now; sum it up.]\n\n\
         {}\n- The older part of the chat ends with this message. What comes after it stays as it is, and is not \
         summed up:\n\n<end>\n{}\n</end>",
        summary_instructions(wishes, room),
        shortened(&last, QUOTE_CHARS_MAX)
    )
}

/// A summary before it becomes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text of the summary, under its headings.
    pub prose: String,
    /// The identifiers that must stay exact, newest first.
    pub identifiers: Vec<String>,
}

impl Summary {
    /// Adds the mechanical part to the prose: the identifiers of the source and of the previous summary that the
    /// prose does not name itself.
    pub fn new(
        prose: String,
        source: impl DoubleEndedIterator<Item = String>,
        previous: Option<&str>,
    ) -> Self {
        let mut all: Vec<String> = Vec::new();
        let earlier = previous.into_iter().flat_map(whole_identifiers);
        for identifier in source.rev().flat_map(|text| whole_identifiers(&text)).chain(earlier) {
            if !names(&prose, &identifier) && !all.contains(&identifier) {
                all.push(identifier);
            }
            if all.len() >= IDENTIFIERS_MAX {
                break;
            }
        }
        Self { prose, identifiers: all }
    }

    /// Returns a text of at most `room` tokens: the prose, and as much of the rest as fits.
    pub fn text(&self, room: u64, count: &dyn Fn(&str) -> u64) -> String {
        let mut text = self.prose.clone();
        let mut left = room.saturating_sub(count(&text));
        let mut append = |piece: &str| {
            let tokens = count(piece) + 1;
            let fits = tokens <= left;
            if fits {
                left -= tokens;
                text.push_str(piece);
            }
            fits
        };
        for (nth, identifier) in self.identifiers.iter().enumerate() {
            let head = if nth == 0 { format!("\n\n{IDENTIFIERS}") } else { String::new() };
            if !append(&format!("{head}\n- {identifier}")) {
                break;
            }
        }
        text
    }
}

/// The number of identifiers in a summary; readers would not look through more.
const IDENTIFIERS_MAX: usize = 200;

/// Whether a message is a summary of others.
pub fn is_summary(message: &UiMessage) -> bool {
    Metadata::of(message).kind() == Some(MessageKind::Summary)
}

/// Returns the prose of the summary among messages, if there is one, and all other messages.
pub fn split_off_summary<'m>(messages: &[&'m UiMessage]) -> (Option<String>, Vec<&'m UiMessage>) {
    let previous = previous_summary(messages);
    let is_other = |at: usize| previous.as_ref().is_none_or(|(summary, _)| at != *summary);
    let others = messages.iter().enumerate().filter(|(at, _)| is_other(*at));
    let others = others.map(|(_, message)| *message).collect();
    (previous.map(|(_, prose)| prose), others)
}

/// Leaves a section out: from its heading to the next one.
pub(super) fn without_section(text: &str, heading: &str) -> String {
    let name = heading.trim_start_matches('#').trim();
    let mut is_in = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        is_in = match line.starts_with('#') || HEADINGS.iter().any(|it| is_heading(line, it)) {
            true => is_heading(line, name),
            false => is_in || is_heading(line, name),
        };
        if !is_in {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// Returns the index and the prose of the summary at the beginning of a context, if there is one.
pub fn previous_summary(messages: &[&UiMessage]) -> Option<(usize, String)> {
    let at = messages.iter().position(|message| is_summary(message))?;
    let prose = without_section(&messages[at].text(), OPEN_REQUEST);
    Some((at, prose.trim().to_owned()))
}

/// Makes the message of a summary. `older` are the covered messages; a summary among them passes its own range on.
pub fn summary_message(
    id: String,
    text: String,
    older: &[&UiMessage],
    now: Timestamp,
) -> UiMessage {
    let mut covered = SourceRange::default();
    for message in older {
        let own = || message.id().map(str::to_owned);
        let one = || SourceRange { count: 1, ..SourceRange::default() };
        let range = Metadata::of(message).source_range().unwrap_or_else(one);
        covered.count += range.count;
        covered.from_id = covered.from_id.or(range.from_id).or_else(own);
        covered.to_id = range.to_id.or_else(own).or(covered.to_id);
    }
    let mut metadata = NewMetadata::new(now);
    metadata.set_kind(MessageKind::Summary);
    metadata.set_source(MessageSource::Compact);
    metadata.set_source_range(&covered);
    let mut message = UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)]);
    metadata.write_to(&mut message);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_how_long_its_summary_may_be() {
        let told = summary_instructions(Some("keep colours"), 1_000);
        assert!(told.contains("At most 600 words, or 750 characters"), "{told}");
        assert!(told.ends_with("- The person asks in particular: keep colours"));
    }

    #[test]
    fn the_model_is_told_the_headings_that_its_text_is_checked_for() {
        let told = summary_instructions(None, 1_000);
        assert!(HEADINGS.iter().all(|heading| told.contains(&format!("## {heading}\n"))), "{told}");
        assert!(told.contains("which stay English"), "a translated heading would be missing");
    }

    #[test]
    fn as_many_identifiers_are_listed_as_there_is_room_for() {
        let identifiers = ["a/b.rs", "c/d.rs"].map(str::to_owned).to_vec();
        let summary = Summary { prose: String::new(), identifiers };
        let count = |text: &str| text.len() as u64;
        let whole = format!("\n\n{IDENTIFIERS}\n- a/b.rs\n- c/d.rs");
        // Each piece costs one token more, for the seam.
        assert_eq!(summary.text(whole.len() as u64 + 2, &count), whole);
        assert!(!summary.text(whole.len() as u64 + 1, &count).contains("c/d.rs"));
    }

    #[test]
    fn an_instruction_quotes_where_the_older_part_ends() {
        let said = |role, text: &str| UiMessage::new("m", role, vec![UiPart::text(text)]);
        let older = [
            said(Role::User, "What is the colour?"),
            said(Role::Assistant, &format!("Blue. {}", "It is blue. ".repeat(99))),
            said(Role::Assistant, ""),
        ];
        let told = continuation_instruction(None, 1_000, &older.iter().collect::<Vec<_>>());
        let (_, end) = told.split_once("<end>\nAssistant: Blue. It is").unwrap();
        assert!(end.ends_with("It is blue. \n</end>") && end.contains("[…]"), "{end}");
        assert!(told.contains(&summary_instructions(None, 1_000)), "{told}");
    }
}
