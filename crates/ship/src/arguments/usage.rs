//! Reads numbers, and words the refusals of clap plainly.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ship_project::nearest_name;

/// Reads the name of a model. A pasted line break would be stored with it, and shown wherever models are listed.
pub(crate) fn parse_model(name: &str) -> Result<String, &'static str> {
    let name = name.trim();
    match name.is_empty() || name.chars().any(char::is_control) {
        true => Err("The name of a model is a text on one line."),
        false => Ok(name.to_owned()),
    }
}

/// Reads how many lines or messages are wanted.
pub(super) fn parse_count(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "it must be a whole number")
}

/// Reads how many contexts are wanted.
pub(super) fn parse_limit(text: &str) -> Result<u64, &'static str> {
    let limit = text.parse().ok().filter(|limit| (1..=200).contains(limit));
    limit.ok_or("it must be a whole number from 1 to 200")
}

/// Drops the tips of an error that are not close to the mistyped command: clap offers `history` for `list`.
pub(super) fn keep_close_tips(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let tips = error.remove(ContextKind::SuggestedSubcommand);
    let (Some(ContextValue::String(word)), Some(ContextValue::Strings(mut tips))) =
        (error.get(ContextKind::InvalidSubcommand), tips)
    else {
        return error;
    };
    tips.retain(|tip| nearest_name(word, [tip.as_str()]).is_some());
    if !tips.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(tips));
    }
    error
}
