//! Colours code, line by line: keywords, texts, numbers and comments.
//!
//! This is a sketch of a language's grammar and not a grammar: a few words and marks that most languages share. A real
//! highlighter would bring megabytes of grammars.

use super::inline::{Colour, Sgr, StyledText};

/// A code block whose language is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeStyle {
    comments: Comments,
    /// Whether a comment is open at the beginning of the line.
    in_comment: bool,
}

/// The way in which a language marks comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comments {
    /// `// …` and `/* … */`.
    Slashes,
    /// `# …`.
    Hash,
    /// `-- …`.
    Dashes,
    /// No comments, as in JSON.
    None,
    /// Lines that were added and removed.
    Diff,
}

/// Words that are keywords in several languages, and values that have a name.
const KEYWORDS: &str = "False None Self True and as async await begin bool break by case catch class const continue crate create def \
    default defer del delete do done elif else end enum esac except export extends false fi final finally fn for \
    from func function go group if impl import in insert interface into is join lambda let local loop match mod \
    mut new nil not null or order package pass private protected pub public raise return select self set static \
    struct super switch then this throw trait true try type undefined unsafe update use values var void where \
    while with yield";

impl CodeStyle {
    /// Returns the style of a language by the word behind the mark of a code block; `None` for text and what is not known.
    pub(super) fn of_language(name: &str) -> Option<Self> {
        let comments = match name.to_ascii_lowercase().as_str() {
            "c" | "h" | "cpp" | "c++" | "cc" | "cs" | "csharp" | "dart" | "go" | "java"
            | "javascript" | "js" | "jsx" | "kotlin" | "kt" | "php" | "rs" | "rust" | "scala"
            | "swift" | "ts" | "tsx" | "typescript" | "zig" | "jsonc" | "css" | "scss" => {
                Comments::Slashes
            }
            "bash" | "sh" | "shell" | "zsh" | "fish" | "python" | "py" | "ruby" | "rb" | "toml"
            | "yaml" | "yml" | "perl" | "r" | "make" | "makefile" | "dockerfile" | "ini"
            | "elixir" | "nix" => Comments::Hash,
            "sql" | "lua" | "haskell" | "hs" | "elm" => Comments::Dashes,
            "json" => Comments::None,
            "diff" | "patch" => Comments::Diff,
            _ => return None,
        };
        Some(Self { comments, in_comment: false })
    }

    /// Divides a line into pieces with their colours.
    pub(super) fn pieces(&mut self, line: &[char]) -> Vec<StyledText> {
        if self.comments == Comments::Diff {
            return vec![piece(line, diff_style(line))];
        }
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < line.len() {
            let (len, sgr) = self.token(&line[at..], at.checked_sub(1).map(|before| line[before]));
            pieces.push(piece(&line[at..at + len], sgr));
            at += len;
        }
        pieces
    }

    /// Returns the length and the style of the token that begins here.
    fn token(&mut self, rest: &[char], before: Option<char>) -> (usize, Sgr) {
        if let Some(len) = self.comment(rest, before) {
            return (len, COMMENT);
        }
        match rest[0] {
            quote @ ('"' | '\'' | '`') => match text_len(rest, quote) {
                Some(len) => (len, colour(Colour::Text)),
                None => (1, CODE),
            },
            c if c.is_ascii_digit() => {
                let part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
                (rest.iter().take_while(|c| part(c)).count(), colour(Colour::Number))
            }
            c if is_word(c) => {
                let len = rest.iter().take_while(|c| is_word(**c)).count();
                let word: String = rest[..len].iter().collect();
                let is_keyword = self.is_keyword(&word);
                (len, Sgr { bold: is_keyword, ..CODE })
            }
            _ => (1, CODE),
        }
    }

    fn is_keyword(&self, word: &str) -> bool {
        let is_one_of_them = |word: &str| KEYWORDS.split_whitespace().any(|it| it == word);
        // In SQL, keywords are written large.
        is_one_of_them(word)
            || self.comments == Comments::Dashes && is_one_of_them(&word.to_lowercase())
    }

    /// Returns the length of the comment that begins here or goes on.
    fn comment(&mut self, rest: &[char], before: Option<char>) -> Option<usize> {
        let starts = |mark: &str| rest.iter().copied().take(2).eq(mark.chars());
        let opens = self.comments == Comments::Slashes && starts("/*");
        if self.in_comment || opens {
            let from = if self.in_comment { 0 } else { 2 };
            let end = rest.get(from..)?.windows(2).position(|pair| pair == ['*', '/']);
            self.in_comment = end.is_none();
            return Some(end.map_or(rest.len(), |end| from + end + 2));
        }
        let is_comment = match self.comments {
            Comments::Slashes => starts("//"),
            Comments::Dashes => starts("--"),
            // In a shell, `a#b` is a word.
            Comments::Hash => rest[0] == '#' && before.is_none_or(char::is_whitespace),
            Comments::None | Comments::Diff => false,
        };
        is_comment.then_some(rest.len())
    }
}

const CODE: Sgr = colour(Colour::Code);

const COMMENT: Sgr = Sgr { dim: true, ..colour(Colour::None) };

const fn colour(colour: Colour) -> Sgr {
    Sgr { bold: false, dim: false, italic: false, underlined: false, colour }
}

fn piece(chars: &[char], sgr: Sgr) -> StyledText {
    StyledText { text: chars.iter().collect(), sgr }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a text in quotes that ends in this line. An apostrophe in other text has no other half.
fn text_len(rest: &[char], quote: char) -> Option<usize> {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 1,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

fn diff_style(line: &[char]) -> Sgr {
    match line.first() {
        Some('+') => colour(Colour::Text),
        Some('-') => colour(Colour::Removed),
        Some('@') => COMMENT,
        _ => CODE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a line, each with a letter for its style: keyword, text, number, comment, removed.
    fn coloured(language: &str, lines: &[&str]) -> Vec<String> {
        let mut style = CodeStyle::of_language(language).unwrap();
        let letter = |sgr: Sgr| match sgr {
            Sgr { dim: true, .. } => "c",
            Sgr { bold: true, .. } => "k",
            Sgr { colour: Colour::Text, .. } => "t",
            Sgr { colour: Colour::Number, .. } => "n",
            Sgr { colour: Colour::Removed, .. } => "r",
            _ => "",
        };
        let mut shown = |line: &&str| {
            let pieces = style.pieces(&line.chars().collect::<Vec<_>>());
            let pieces = pieces.iter().map(|piece| match letter(piece.sgr) {
                "" => piece.text.clone(),
                letter => format!("{letter}⟨{}⟩", piece.text),
            });
            pieces.collect()
        };
        lines.iter().map(&mut shown).collect()
    }

    #[test]
    fn keywords_texts_numbers_and_comments_have_their_colours() {
        assert_eq!(
            coloured(
                "rust",
                &["let x1 = 0xff; // no", "f(\"a \\\" b\", 'c'); &'a /* d", "e */ fn"]
            ),
            [
                "k⟨let⟩ x1 = n⟨0xff⟩; c⟨// no⟩",
                "f(t⟨\"a \\\" b\"⟩, t⟨'c'⟩); &'a c⟨/* d⟩",
                "c⟨e */⟩ k⟨fn⟩"
            ]
        );
        assert_eq!(coloured("sh", &["echo a#b # c"]), ["echo a#b c⟨# c⟩"]);
        assert_eq!(coloured("SQL", &["SELECT a -- b"]), ["k⟨SELECT⟩ a c⟨-- b⟩"]);
        assert_eq!(coloured("json", &["{\"a\": 1}"]), ["{t⟨\"a\"⟩: n⟨1⟩}"]);
        assert_eq!(coloured("diff", &["+a", "-b", " c"]), ["t⟨+a⟩", "r⟨-b⟩", " c"]);
        assert_eq!(CodeStyle::of_language("text"), None);
    }
}
