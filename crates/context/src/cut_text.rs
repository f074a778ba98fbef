//! Cuts long texts in the middle.

/// The mark at the cut, and how much of the text stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutMark {
    /// A line that tells how many characters are missing. It comes on top of the limit.
    Counted,
    /// A short mark on top of the limit.
    Short,
    /// A short mark within the limit. Below four times its length, only the beginning stays.
    ShortWithin,
}

/// The short mark, in the middle of a cut text.
pub(crate) const CUT: &str = " […] ";

/// Cuts a text of more than `chars_max` characters in the middle: its beginning and its end stay.
///
/// Cut texts are part of requests and of files, so the three marks must keep their bytes.
pub(crate) fn cut_middle(text: &str, chars_max: usize, mark: CutMark) -> String {
    let chars = text.chars().count();
    if chars <= chars_max {
        return text.to_owned();
    }
    let half = chars_max / 2;
    let (head, tail) = match mark {
        CutMark::Counted | CutMark::Short => (half, half),
        CutMark::ShortWithin => {
            let Some(left) = room_beside_mark(chars_max) else {
                return beginning(text, chars_max).to_owned();
            };
            (left - left / 2, left / 2)
        }
    };
    let mut cut = beginning(text, head).to_owned();
    match mark {
        CutMark::Counted => {
            cut.push_str(&format!("\n[… {} characters left out …]\n", chars - head - tail));
        }
        CutMark::Short | CutMark::ShortWithin => cut.push_str(CUT),
    }
    cut.push_str(ending(text, tail));
    cut
}

/// Returns the first characters of a text.
fn beginning(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns the last characters of a text.
fn ending(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1) {
        Some(before) => {
            text.char_indices().nth_back(before).map_or(text, |(start, _)| &text[start..])
        }
        None => "",
    }
}

/// Returns the number of characters beside the mark; `None` if they are too few for a mark.
fn room_beside_mark(chars_max: usize) -> Option<usize> {
    let mark = CUT.chars().count();
    (chars_max >= 4 * mark).then(|| chars_max - mark)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn beginning_and_end_stay_and_a_mark_stands_between() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        for (chars_max, mark, wanted) in [
            (26, CutMark::Short, text),
            (7, CutMark::Short, "abc […] xyz"),
            (1, CutMark::Short, " […] "),
            (7, CutMark::Counted, "abc\n[… 20 characters left out …]\nxyz"),
            (20, CutMark::ShortWithin, "abcdefgh […] tuvwxyz"),
            (19, CutMark::ShortWithin, "abcdefghijklmnopqrs"),
            (0, CutMark::ShortWithin, ""),
        ] {
            assert_eq!(cut_middle(text, chars_max, mark), wanted, "{chars_max} {mark:?}");
        }
    }

    proptest! {
        #[test]
        fn a_mark_within_the_limit_keeps_it(text in ".{0,80}", max in 0usize..90) {
            prop_assert!(cut_middle(&text, max, CutMark::ShortWithin).chars().count() <= max);
            prop_assert_eq!(cut_middle(&text, 80, CutMark::ShortWithin), text);
        }
    }
}
