//! Checks the text that a model gives for a summary.

use ship_message::FinishReason;

use super::identifiers::identifiers;
use super::source_text::SourceText;
use super::summary::{HEADINGS, IDENTIFIERS, OPEN_REQUEST, without_section};

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
    /// The text is not divided as it was asked for.
    #[error("the summary had fewer than two of its four headings")]
    FewHeadings,
    /// The text leaves out too much.
    #[error("the summary was far too short for what it sums up")]
    TooShort,
}

impl SummaryRejection {
    /// Whether the model has only missed the form, and may be asked once more.
    pub fn is_of_form(self) -> bool {
        matches!(self, Self::FewHeadings | Self::TooShort)
    }
}

/// The number of headings that show that a text is divided as it was asked for.
const HEADINGS_MIN: usize = 2;

/// Returns the tokens of the shortest text that can stand for its source: 2 % of it, within bounds.
fn tokens_min(source_tokens: u64) -> u64 {
    // A small model wrote one sentence for fifty messages: below 40, that would pass. Above 200, a brief summary of a
    // long chat would be rejected.
    (source_tokens / 50).clamp(40, 200)
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
            let has = |heading: &&str| has_heading(text, heading);
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

/// The measures of a summary.
#[derive(Clone, Copy)]
pub struct SummaryCheck<'a> {
    /// The texts that the model could take identifiers from.
    pub source: &'a SourceText,
    /// The tokens of the part that is summarised.
    pub source_tokens: u64,
    /// The most tokens that the summary may take.
    pub room: u64,
    /// Counts the tokens of a text.
    pub count: &'a (dyn Fn(&str) -> u64 + Sync),
}

impl SummaryCheck<'_> {
    /// Checks the text of a model. Returns it with all headings, and without the lines that name an identifier that
    /// its source does not have. The sections that are made mechanically are not taken from a model either.
    ///
    /// # Errors
    /// Fails if the text is empty, longer than its source, with its headings longer than its room, far too short, or
    /// not divided by headings.
    pub fn accept(&self, text: &str) -> Result<String, SummaryRejection> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SummaryRejection::Empty);
        }
        // A token has at least one byte and seldom more than sixteen, so a text that is far too long
        // need not be counted.
        if text.len() as u64 > self.room.saturating_mul(16) {
            return Err(SummaryRejection::TooLong);
        }
        let text = without_section(&without_section(text, IDENTIFIERS), OPEN_REQUEST);
        let text = self.without_inventions(text.trim());
        let tokens = (self.count)(&text);
        if tokens >= self.source_tokens {
            return Err(SummaryRejection::LongerThanSource);
        }
        if HEADINGS.iter().filter(|heading| has_heading(&text, heading)).count() < HEADINGS_MIN {
            return Err(SummaryRejection::FewHeadings);
        }
        if tokens < tokens_min(self.source_tokens) {
            return Err(SummaryRejection::TooShort);
        }
        let whole = with_headings(text);
        if (self.count)(&whole) > self.room {
            return Err(SummaryRejection::TooLong);
        }
        Ok(whole)
    }

    /// Leaves out the lines with an identifier that the source does not have: a model writes down what looks right.
    fn without_inventions(&self, text: &str) -> String {
        let is_true = |line: &&str| identifiers(line).iter().all(|one| self.source.has(one));
        text.lines().filter(is_true).collect::<Vec<_>>().join("\n")
    }
}

/// Adds the missing headings.
fn with_headings(text: String) -> String {
    let mut whole = text;
    for heading in HEADINGS {
        if !has_heading(&whole, heading) {
            whole.push_str(&format!("\n\n## {heading}\n- (nothing)"));
        }
    }
    whole
}

fn has_heading(text: &str, heading: &str) -> bool {
    text.lines().any(|line| is_heading(line, heading))
}

/// Whether a line is a heading, in any of the ways in which models write one.
pub(super) fn is_heading(line: &str, heading: &str) -> bool {
    let line =
        line.trim().trim_start_matches('#').trim().trim_matches(|c| c == '*' || c == ':').trim();
    line.eq_ignore_ascii_case(heading)
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

    /// Counts bytes instead of tokens.
    fn count(text: &str) -> u64 {
        text.len() as u64
    }

    fn accept(text: &str, source: &str, room: u64) -> Result<String, SummaryRejection> {
        let source = SourceText::of_texts([source]);
        SummaryCheck { source: &source, source_tokens: 1_000, room, count: &count }.accept(text)
    }

    #[test]
    fn what_passes_the_gate_fits_with_the_headings_that_it_is_given() {
        let text = "## Facts\n- the ship is blue\n## Decisions\n- sail";
        let whole = accept(text, "", 1_000).unwrap();
        assert_eq!(
            whole,
            format!("{text}\n\n## Preferences\n- (nothing)\n\n## Open items\n- (nothing)")
        );
        assert_eq!(accept(text, "", count(&whole)).as_ref(), Ok(&whole));
        assert_eq!(accept(text, "", count(&whole) - 1), Err(SummaryRejection::TooLong));
    }

    #[test]
    fn a_text_with_fewer_than_two_headings_is_none() {
        let prose = "the ship is blue and sails at dawn, whatever comes";
        for text in
            [prose.to_owned(), format!("## Facts\n- {prose}"), format!("## Story\n## Log\n{prose}")]
        {
            assert_eq!(accept(&text, "", 1_000), Err(SummaryRejection::FewHeadings), "{text}");
        }
        assert!(accept(&format!("**Facts:**\n- {prose}\n# open items\n- x"), "", 1_000).is_ok());
    }

    #[test]
    fn a_text_is_too_short_below_two_percent_of_its_source_within_bounds() {
        let text = |tokens: usize| format!("## Facts\n## Decisions\n{}", "-".repeat(tokens - 22));
        for (source_tokens, least) in
            [(100, 40), (2_000, 40), (5_000, 100), (10_000, 200), (1 << 40, 200)]
        {
            let source = SourceText::of_texts([""]);
            let check = SummaryCheck { source: &source, source_tokens, room: 1_000, count: &count };
            assert!(check.accept(&text(least)).is_ok(), "{source_tokens}");
            let short = check.accept(&text(least - 1));
            assert_eq!(short, Err(SummaryRejection::TooShort), "{source_tokens}");
        }
    }

    #[test]
    fn a_line_with_an_identifier_that_the_source_does_not_have_is_dropped() {
        let text = "## Facts\n- `src/main.rs` is done\n- The order ABC-1234 has 42 km left\n\
                    - It is order #9876\n- See src/other.rs\n- 43 km to go\n## Decisions\n- Sail in 2027-01-01";
        let source = "Work on ./src/main.rs, for ABC-1234 and 9876, which is 42km away.";
        let whole = accept(text, source, 1_000).unwrap();
        let kept: Vec<&str> = whole.lines().filter(|line| line.starts_with("- ")).collect();
        let wanted = [
            "- `src/main.rs` is done",
            "- The order ABC-1234 has 42 km left",
            "- It is order #9876",
        ];
        assert_eq!(kept[..3], wanted);
        assert_eq!(kept[3..], ["- (nothing)"; 2], "nothing else is believed");
    }

    #[test]
    fn the_mechanical_sections_are_not_taken_from_a_model() {
        let text = "## Facts\n- the ship is blue\n## Identifiers\n- blue\n## Open request\nAnd now?\n## Decisions\n- sail";
        let whole = accept(text, "", 1_000).unwrap();
        assert!(
            whole.starts_with("## Facts\n- the ship is blue\n## Decisions\n- sail\n"),
            "{whole}"
        );
    }
}
