//! Finds the known key nearest to an unknown one, for "did you mean".

use crate::settings::{is_group, keys};

/// The likeness below which two names count as unrelated.
const LIKENESS_MIN: f64 = 0.6;

/// Returns the key or group nearest to `unknown`, if any is near.
pub(crate) fn nearest_key(unknown: &str) -> Option<&'static str> {
    let groups = keys().flat_map(|key| {
        let dots = key.name.match_indices('.').map(|(at, _)| at);
        dots.map(|at| &key.name[..at]).collect::<Vec<_>>()
    });
    // A group can only stand for a group name; below a group, a key is meant.
    let names = keys().map(|key| key.name).chain(groups);
    let scored = names.map(|name| (likeness(unknown, name), name));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}

/// Returns the name nearest to `unknown`, if any is near, for names outside the catalogue.
pub fn nearest_name<'a>(
    unknown: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let scored = names.into_iter().map(|name| (likeness(unknown, name), name));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}

/// Returns how alike two names are, from 0 to 1. The right group or the right last word counts for much.
fn likeness(unknown: &str, known: &str) -> f64 {
    let (unknown, known) = (unknown.to_lowercase(), known.to_lowercase());
    let whole = strsim::normalized_damerau_levenshtein(&unknown, &known);
    let ((place, word), (known_place, known_word)) = (split_key(&unknown), split_key(&known));
    // A shortened or extended name is as near as one with a few wrong letters.
    // Three letters begin too many names.
    let begins = word.len() > 3 && (known_word.starts_with(word) || word.starts_with(known_word));
    let by_word = strsim::normalized_damerau_levenshtein(word, known_word).max(if begins {
        0.7
    } else {
        0.0
    });
    match place == known_place {
        true => by_word,
        // `model` at the top level means `llm.model`, but a group is not mistaken for a key of the same length.
        false if by_word == 1.0 && !is_group(&known) => 0.9,
        // Less than in the same group, where the name more likely belongs.
        false => whole * 0.9,
    }
}

fn split_key(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_recognised_among_others() {
        let names = ["chat_send", "skills_list", "skills_load"];
        for (unknown, known) in
            [("chat_sent", Some("chat_send")), ("skill_load", Some("skills_load")), ("zzz", None)]
        {
            assert_eq!(nearest_name(unknown, names), known, "{unknown}");
        }
    }

    #[test]
    fn a_misspelt_or_misplaced_key_is_recognised() {
        for (unknown, known) in [
            ("llm.modle", Some("llm.model")),
            ("llm.apikey", Some("llm.apiKey")),
            ("llm.max_tokens", Some("llm.maxTokens")),
            ("lmm", Some("llm")),
            ("contexts", Some("context")),
            ("model", Some("llm.model")),
            ("port", Some("start.port")),
            ("context.keepLastMessages", Some("context.history.keepLastMessages")),
            ("context.history.keepLast", Some("context.history.keepLastMessages")),
            ("context.chatqueue", Some("context.chatQueue")),
            ("duarbility", Some("durability")),
            ("zzz", None),
            ("llm.frobnicate", None),
            ("", None),
        ] {
            assert_eq!(nearest_key(unknown), known, "{unknown}");
        }
    }
}
