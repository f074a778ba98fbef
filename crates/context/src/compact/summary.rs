//! Summaries: the instructions for the model, the check of its text, and the message it becomes.

use ship_message::{FinishReason, Role, UiMessage, UiPart};
use ship_record::{MessageKind, MessageSource, Metadata, NewMetadata, SourceRange, Timestamp};

use super::identifiers::identifiers;
use super::transcript::shortened;

/// The headings of every summary, in this order.
pub(super) const HEADINGS: [&str; 4] = ["Facts", "Preferences", "Decisions", "Open items"];
pub(super) const IDENTIFIERS: &str = "## Identifiers";
const OPEN_REQUEST: &str = "## Open request";

/// The number of characters with which a summary names the open request, which stays unchanged after it.
const OPEN_REQUEST_CHARS_MAX: usize = 400;

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

/// The reason why a text is not a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryRejection {
    /// The text is empty.
    #[error("the summary was empty")]
    Empty,
    /// The text is not shorter than its source.
    #[error("the summary was longer than what it sums up")]
    LongerThanSource,
    /// There is no room for the text.
    #[error("the summary was longer than there is room for")]
    TooLong,
    /// The model called a tool.
    #[error("the model called a tool instead of summing up")]
    ToolCall,
    /// The model ran out of tokens before the last heading.
    #[error("the summary was cut off before it was whole")]
    CutOff,
    /// The provider cut the text off.
    #[error("the provider's filter cut the summary off")]
    Filtered,
}

/// Returns the usable part of a text, depending on why it ended. A text that ran out of tokens within its last
/// heading has lost at most the end of a line and a few further items.
///
/// # Errors
/// Fails if the text was cut off anywhere else.
pub fn usable_summary(text: &str, finish_reason: FinishReason) -> Result<&str, SummaryRejection> {
    match finish_reason {
        FinishReason::ContentFilter => Err(SummaryRejection::Filtered),
        FinishReason::Length => {
            let has = |heading: &&str| text.lines().any(|line| is_heading(line, heading));
            let (whole, _) = text.trim_end().rsplit_once('\n').ok_or(SummaryRejection::CutOff)?;
            // Directly after the last heading, all of its items are missing.
            let is_whole = HEADINGS.iter().all(has) && !text.trim_end().ends_with(HEADINGS[3]);
            if is_whole { Ok(whole) } else { Err(SummaryRejection::CutOff) }
        }
        FinishReason::Stop
        | FinishReason::ToolCalls
        | FinishReason::Error
        | FinishReason::Other => Ok(text),
    }
}

/// Checks a summary. Returns the text with all its headings.
///
/// # Errors
/// Fails if the text is empty, longer than its source, or with its headings longer than `room`.
pub fn accept_summary(
    text: &str,
    source_tokens: u64,
    room: u64,
    count: &dyn Fn(&str) -> u64,
) -> Result<String, SummaryRejection> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SummaryRejection::Empty);
    }
    // A token has at least one byte and seldom more than sixteen, so a text that is far too long
    // need not be counted.
    if text.len() as u64 > room.saturating_mul(16) {
        return Err(SummaryRejection::TooLong);
    }
    if count(text) >= source_tokens {
        return Err(SummaryRejection::LongerThanSource);
    }
    let whole = with_headings(text);
    if count(&whole) > room {
        return Err(SummaryRejection::TooLong);
    }
    Ok(whole)
}

/// Adds the missing headings; a text without any goes under the first.
fn with_headings(text: &str) -> String {
    let has = |heading: &&str| text.lines().any(|line| is_heading(line, heading));
    let mut whole = match HEADINGS.iter().any(has) {
        true => text.to_owned(),
        false => format!("## {}\n{text}", HEADINGS[0]),
    };
    for heading in HEADINGS
        .iter()
        .filter(|heading| !whole.lines().any(|line| is_heading(line, heading)))
        .collect::<Vec<_>>()
    {
        whole.push_str(&format!("\n\n## {heading}\n- (nothing)"));
    }
    whole
}

fn is_heading(line: &str, heading: &str) -> bool {
    let line =
        line.trim().trim_start_matches('#').trim().trim_matches(|c| c == '*' || c == ':').trim();
    line.eq_ignore_ascii_case(heading)
}

/// A summary before it becomes a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text of the summary, under its headings.
    pub prose: String,
    /// The identifiers that must stay exact, newest first.
    pub identifiers: Vec<String>,
    /// The open request, which the next answer is for.
    pub open_request: Option<String>,
}

impl Summary {
    /// Adds the mechanical part to the prose: the identifiers of the source and of the previous summary that the
    /// prose does not name itself.
    pub fn new(
        prose: String,
        source: impl DoubleEndedIterator<Item = String>,
        previous: Option<&str>,
        open: Option<String>,
    ) -> Self {
        let mut all: Vec<String> = Vec::new();
        let earlier = previous.into_iter().flat_map(identifiers);
        // The newest come first, because the list has a limit.
        for identifier in source.rev().flat_map(|text| identifiers(&text)).chain(earlier) {
            if !prose.contains(&identifier) && !all.contains(&identifier) {
                all.push(identifier);
            }
            if all.len() >= IDENTIFIERS_MAX {
                break;
            }
        }
        Self { prose, identifiers: all, open_request: open }
    }

    /// Returns a text of at most `room` tokens: the prose, and as much of the rest as fits.
    pub fn text(&self, room: u64, count: &dyn Fn(&str) -> u64) -> String {
        let mut text = self.prose.clone();
        let mut left = room.saturating_sub(count(&text));
        let mut append = |piece: &str| {
            let tokens = count(piece) + 1;
            if tokens <= left {
                left -= tokens;
                text.push_str(piece);
            }
            tokens <= left
        };
        if let Some(open) = &self.open_request {
            let open = shortened(open, OPEN_REQUEST_CHARS_MAX);
            append(&format!("\n\n{OPEN_REQUEST}\n{open}"));
        }
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

/// Returns the index and the prose of the summary at the beginning of a context, if there is one.
pub fn previous_summary(messages: &[&UiMessage]) -> Option<(usize, String)> {
    let at = messages.iter().position(|message| is_summary(message))?;
    let text = messages[at].text();
    // Its own open request is answered, or stands among the open items.
    let prose = match text.split_once(OPEN_REQUEST) {
        Some((prose, rest)) => match rest.split_once(IDENTIFIERS) {
            Some((_, identifiers)) => format!("{prose}{IDENTIFIERS}{identifiers}"),
            None => prose.to_owned(),
        },
        None => text,
    };
    Some((at, prose.trim().to_owned()))
}

/// Returns the text of the open request from its messages.
pub fn open_request_text<'m>(
    open: impl DoubleEndedIterator<Item = &'m UiMessage>,
) -> Option<String> {
    let mut people = open.rev().filter(|message| message.role() == Role::User);
    people.next().map(UiMessage::text).filter(|text| !text.trim().is_empty())
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
    metadata.set_source_range(covered);
    let mut message = UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)]);
    metadata.write_to(&mut message);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str =
        "## Facts\n- a\n## Preferences\n- b\n## Decisions\n- c\n## Open items\n- d\n- eee";

    #[test]
    fn a_text_that_was_cut_off_is_kept_only_when_all_its_headings_are_there() {
        assert_eq!(usable_summary(WHOLE, FinishReason::Stop), Ok(WHOLE));
        let cut = usable_summary(WHOLE, FinishReason::Length).unwrap();
        assert_eq!(cut, WHOLE.strip_suffix("\n- eee").unwrap(), "the last line may be half a line");
        for end in ["Decisions\n- c", "## Open items", "Open items\n", "Fac"] {
            let at = WHOLE.find(end).unwrap() + end.len();
            let cut = usable_summary(&WHOLE[..at], FinishReason::Length);
            assert_eq!(cut, Err(SummaryRejection::CutOff), "{end:?}");
        }
        assert_eq!(
            usable_summary(WHOLE, FinishReason::ContentFilter),
            Err(SummaryRejection::Filtered)
        );
    }

    #[test]
    fn what_passes_the_gate_fits_with_the_headings_that_it_is_given() {
        let count = |text: &str| text.len() as u64;
        let text = "the ship is blue";
        let whole = accept_summary(text, 1_000, 1_000, &count).unwrap();
        assert_eq!(accept_summary(text, 1_000, count(&whole), &count).as_ref(), Ok(&whole));
        let too_long = accept_summary(text, 1_000, count(&whole) - 1, &count);
        assert_eq!(too_long, Err(SummaryRejection::TooLong));
    }

    #[test]
    fn the_model_is_told_how_long_its_summary_may_be() {
        let told = summary_instructions(Some("keep colours"), 1_000);
        assert!(told.contains("At most 600 words, or 750 characters"), "{told}");
        assert!(told.ends_with("- The person asks in particular: keep colours"));
    }
}
