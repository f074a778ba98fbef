//! The summary that the fake models give.

/// A short summary, with all its headings.
pub const SUMMARY: &str = "## Facts\n- The ship is blue.\n\n## Preferences\n- Brief answers.\n\n\
    ## Decisions\n- Sail at dawn, with the whole crew on board.\n\n## Open items\n- Paint the mast.\n- The sails.";

/// A line that makes a summary longer, of about twelve tokens.
const LINE: &str = "\n- Mend what the wind has torn, and what the sea took.";

/// The words by which a request for a summary is known.
pub const REQUEST: &str = "You keep the memory of a long chat";

/// Returns a summary of at most `max_tokens`: it begins with [`SUMMARY`], and is as long as the summary of a long chat
/// must be, if there is room for that.
pub fn summary_within(max_tokens: u64) -> String {
    let lines = (max_tokens / 2).saturating_sub(60) / 12;
    format!("{SUMMARY}{}", LINE.repeat(lines.min(15) as usize))
}
