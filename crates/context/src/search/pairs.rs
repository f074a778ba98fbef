//! Cuts runs of scripts without spaces into terms.
//!
//! No dictionary is needed: a text has every pair of neighbouring characters, and its last character alone, so that each
//! character begins a term.

/// Calls with the terms of a normalized run in a message: the pair at each character, at last that character alone.
/// The number is that of the character.
pub(super) fn for_each_pair(run: &str, mut call: impl FnMut(&str, usize)) {
    let mut starts = run.char_indices().map(|(at, _)| at);
    let mut first = starts.next();
    let mut second = starts.next();
    let mut nth = 0;
    while let Some(start) = first {
        let third = starts.next();
        let end = if second.is_some() { third.unwrap_or(run.len()) } else { run.len() };
        call(run.get(start..end).unwrap_or_default(), nth);
        (first, second) = (second, third);
        nth += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_begins_a_term() {
        for (run, terms) in [
            ("数据库", vec!["数据", "据库", "库"]),
            ("火", vec!["火"]),
            ("東京", vec!["東京", "京"]),
            ("", vec![]),
        ] {
            let mut found = Vec::new();
            for_each_pair(run, |term, nth| {
                assert_eq!(nth, found.len());
                found.push(term.to_owned());
            });
            assert_eq!(found, terms, "{run}");
        }
    }
}
