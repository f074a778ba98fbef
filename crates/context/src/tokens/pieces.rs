//! Cuts a text where the tokenizer would be slow.
//!
//! A tokenizer splits a text into words, and then merges the bytes of each word. Three kinds of text make that
//! slow. A word may be very long: a megabyte of one letter, of spaces, of Chinese without a comma. Some splitters
//! look at the whole rest of the text after a word, so that a long text in one call costs its length squared. And
//! characters of very many scripts fill the automaton that splits: it makes states for each pair of scripts, and
//! has room for some twenty. Worse, after it was filled a few times it stays slow for everything it has no state
//! for, as long as the process lives.
//!
//! So a text goes to the tokenizer in pieces of a few kilobytes. They end where a word surely ends, which changes
//! no count; ordinary text has such a place in every line. Only a stretch without one for kilobytes is cut
//! anywhere. A text with characters of very many scripts is examined first. If a few scripts make up most of it, as
//! on a page in ten languages, the others are kept from the automaton and counted character by character; if none
//! stands out, all are.

/// The length from which a piece ends with the next word, and a word is cut. It is a power of two, because the
/// longest tokens of repeated characters have lengths that are powers of two.
const PIECE_BYTES: usize = 2048;

/// The number of blocks of rare characters of one text that go to the automaton. One language uses fewer than ten.
const BLOCKS_MAX: usize = 16;

/// The number of blocks from which none is expected to stand out, and the search for them ends.
const BLOCKS_COUNTED_MAX: usize = 64;

/// The share of a text's rare characters that the most used blocks must have to count as its scripts.
const WRITTEN_IN_PERCENT: u64 = 80;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextPiece<'a> {
    /// Text that the tokenizer counts fast.
    Text(&'a str),
    /// A character that is counted alone.
    Rare(char),
}

/// Cuts a text and passes its parts on in order.
pub(super) fn for_each_piece<'a>(text: &'a str, mut take: impl FnMut(TextPiece<'a>)) {
    let fast = FastBlocks::of(text);
    let mut start = 0;
    // This is the earliest possible beginning of the current word.
    let mut word = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let alone = is_rare(c) && !fast.contains(c);
        if ends_between(before, c) {
            word = at;
        }
        let is_long = at - start >= PIECE_BYTES && word == at || at - word >= PIECE_BYTES;
        if alone || is_long {
            take_text(&text[start..at], &mut take);
            start = at;
            word = at;
        }
        if alone {
            take(TextPiece::Rare(c));
            start += c.len_utf8();
            word = start;
        }
        before = c;
    }
    take_text(&text[start..], &mut take);
}

fn take_text<'a>(text: &'a str, take: &mut impl FnMut(TextPiece<'a>)) {
    if !text.is_empty() {
        take(TextPiece::Text(text));
    }
}

/// Whether a word surely ends between these characters, in the patterns of all vocabularies: none has white space
/// after anything else, and none a mark after letters and digits, except for the apostrophe.
fn ends_between(before: char, next: char) -> bool {
    if next == ' ' || next == '\t' {
        return !before.is_whitespace();
    }
    let is_mark = next.is_ascii() && !next.is_ascii_alphanumeric() && next != '\'';
    (is_mark || is_cjk_mark(next)) && (before.is_ascii_alphanumeric() || is_han(before))
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

fn is_cjk_mark(c: char) -> bool {
    matches!(c, '\u{3001}' | '\u{3002}' | '\u{ff01}' | '\u{ff08}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

/// Whether the automaton splits off a character, and not the scanners for ASCII and for Chinese, Japanese and
/// Korean. The letters of western Europe are too common to count as rare.
fn is_rare(c: char) -> bool {
    !matches!(
        c,
        '\0'..='\u{17f}'
            | '\u{3000}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{ff00}'..='\u{ffef}'
    )
}

/// The blocks of rare characters of a text that go to the automaton. A block has the 64 characters that differ only
/// in their last byte, and so share states of the automaton.
enum FastBlocks {
    All,
    Only(Vec<u32>),
}

impl FastBlocks {
    fn of(text: &str) -> Self {
        let mut used: Vec<(u64, u32)> = Vec::new();
        for block in text.chars().filter(|c| is_rare(*c)).map(block) {
            match used.iter().position(|(_, known)| *known == block) {
                Some(at) => used[at].0 += 1,
                None if used.len() == BLOCKS_COUNTED_MAX => return Self::Only(Vec::new()),
                None => used.push((1, block)),
            }
        }
        if used.len() <= BLOCKS_MAX {
            return Self::All;
        }
        used.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |used: &[(u64, u32)]| used.iter().map(|(count, _)| count).sum::<u64>();
        let all = sum(&used);
        used.truncate(BLOCKS_MAX);
        if sum(&used) * 100 < all * WRITTEN_IN_PERCENT {
            used.clear();
        }
        Self::Only(used.into_iter().map(|(_, block)| block).collect())
    }

    fn contains(&self, c: char) -> bool {
        match self {
            Self::All => true,
            Self::Only(blocks) => blocks.contains(&block(c)),
        }
    }
}

fn block(c: char) -> u32 {
    u32::from(c) >> 6
}

#[cfg(test)]
mod tests {
    use ship_testkit::texts;

    use super::*;

    fn pieces(text: &str) -> Vec<TextPiece<'_>> {
        let mut pieces = Vec::new();
        for_each_piece(text, |piece| pieces.push(piece));
        pieces
    }

    #[test]
    fn ordinary_text_is_cut_only_where_a_word_ends() {
        for (name, text) in texts::ordinary(100_000) {
            let pieces = pieces(&text);
            assert!(pieces.len() > 20, "{name}");
            for two in pieces.windows(2) {
                let [TextPiece::Text(one), TextPiece::Text(next)] = two else {
                    panic!("{name}: {two:?}")
                };
                let (Some(before), Some(after)) = (one.chars().last(), next.chars().next()) else {
                    panic!("{name}: an empty piece");
                };
                assert!(ends_between(before, after), "{name}: {before:?} {after:?}");
            }
        }
    }

    #[test]
    fn the_pieces_are_the_text() {
        for (name, text) in texts::all(20_000) {
            let mut joined = String::new();
            for piece in pieces(&text) {
                match piece {
                    TextPiece::Text(text) => joined.push_str(text),
                    TextPiece::Rare(c) => joined.push(c),
                }
            }
            assert_eq!(joined, text, "{name}");
        }
    }

    /// The work for a piece depends only on its length, so the work for a text is linear in it.
    #[test]
    fn no_piece_is_longer_than_its_limit() {
        for (name, text) in texts::all(100_000) {
            for piece in pieces(&text) {
                let TextPiece::Text(text) = piece else { continue };
                assert!(text.len() <= 2 * PIECE_BYTES + 4, "{name}: {}", text.len());
            }
        }
    }

    #[test]
    fn no_text_gives_the_automaton_more_than_its_share_of_blocks() {
        for (name, text) in texts::all(100_000) {
            let mut blocks = std::collections::HashSet::new();
            for piece in pieces(&text) {
                let TextPiece::Text(text) = piece else { continue };
                blocks.extend(text.chars().filter(|c| is_rare(*c)).map(block));
            }
            assert!(blocks.len() <= BLOCKS_MAX, "{name}: {}", blocks.len());
        }
    }

    #[test]
    fn what_a_page_is_written_in_goes_to_the_automaton_and_what_is_strewn_in_does_not() {
        let strewn: String = ('\u{1000}'..'\u{1800}').step_by(64).collect();
        let pieces_of = |words: usize| {
            let text = format!("{strewn}{}", " слово".repeat(words));
            let alone = pieces(&text).iter().filter(|p| matches!(p, TextPiece::Rare(_))).count();
            (alone, text.chars().filter(|c| is_rare(*c)).count())
        };
        let (alone, rare) = pieces_of(100);
        assert_eq!((alone, rare), (32 - 14, 532), "fourteen have room beside the two of Russian");
        let (alone, rare) = pieces_of(2);
        assert_eq!(alone, rare, "ten letters do not stand out");
    }
}
