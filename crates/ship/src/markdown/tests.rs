use proptest::prelude::*;

use super::*;

/// What is shown for pieces, in a terminal of this width.
fn shown(width: usize, pieces: &[&str]) -> String {
    let mut markdown = Markdown::new(LineStyle::Styled, width);
    let mut text: String = pieces.iter().map(|piece| markdown.push(piece)).collect();
    text.push_str(&markdown.end());
    text
}

fn without_escapes(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

/// Escapes as letters: bold, dim, italic, underlined, code, red, green, yellow; a slash for none.
fn readable(text: &str) -> String {
    let mut pieces = text.split("\x1b[0");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (codes, rest) = piece.split_once('m').unwrap_or_default();
        let letters = codes.split(';').map(|code| match code {
            "1" => "b",
            "2" => "d",
            "3" => "i",
            "4" => "u",
            "36" => "c",
            "31" => "r",
            "32" => "g",
            "33" => "y",
            _ => "",
        });
        let letters: String = letters.collect();
        out.push_str(&format!("⟨{}⟩{rest}", if letters.is_empty() { "/" } else { &letters }));
    }
    out
}

#[test]
fn what_is_no_mark_is_shown_as_it_is() {
    for text in [
        "src/**/*.rs",
        "src/**/*.rs and lib/**/*.rs",
        "**/*.rs and **/*.toml",
        "[\"**/*.ts\", \"src/**\"]",
        "node_modules/** and dist/**",
        "f(**kwargs)",
        "f(**kwargs) and g(**kwargs)",
        "def f(*args, **kwargs):",
        "5 ** 2",
        "2**3 and 4**5",
        "(a+b)**2 + (c)**2",
        "a * b * c",
        "a*b*c",
        "*.rs and *.toml and *.md*",
        "rm *.o *.a",
        "char *p, *q",
        "snake_case_name",
        "_private and __init__ and __main__.py",
        "a_b_ _c",
        "**not closed",
        "`not closed",
        "[not] [a] (link) arr[0](",
        "C:\\dir\\file and \\d+",
        "2 * 3 # four",
        "#hash and #1",
        "1.5 and 2.",
        "1986",
        "!important !",
        "-5 and --flag",
        "a **** b ** c",
        "~/.config ~~old~~",
        "<b>html</b> &amp;",
    ] {
        assert_eq!(shown(200, &[text]), text);
    }
}

#[test]
fn marks_become_styles() {
    for (text, expected) in [
        ("a **b** c", "a ⟨b⟩b⟨/⟩ c"),
        ("a *b* or _c_ d", "a ⟨i⟩b⟨/⟩ or ⟨i⟩c⟨/⟩ d"),
        ("***b***", "⟨bi⟩b⟨/⟩"),
        ("**a *b* `c`**", "⟨b⟩a ⟨bi⟩b⟨b⟩ ⟨bc⟩c⟨/⟩"),
        ("`a **b**`", "⟨c⟩a **b**⟨/⟩"),
        ("`` a`b ``", "⟨c⟩a`b⟨/⟩"),
        ("**API**s (**x**)", "⟨b⟩API⟨/⟩s (⟨b⟩x⟨/⟩)"),
        ("**Note:** go", "⟨b⟩Note:⟨/⟩ go"),
        ("**/help**: all", "⟨b⟩/help⟨/⟩: all"),
        ("这是**重点**内容，**注意：**请", "这是⟨b⟩重点⟨/⟩内容，⟨b⟩注意：⟨/⟩请"),
        ("\\*not\\* \\_so\\_", "*not* _so_"),
        ("see [the page](https://x.org/a_b_c)", "see ⟨u⟩the page⟨/⟩ ⟨d⟩(https://x.org/a_b_c)⟨/⟩"),
        ("[https://x.org](https://x.org)", "⟨u⟩https://x.org⟨/⟩"),
        ("![a cat](cat.png)!", "⟨u⟩a cat⟨/⟩ ⟨d⟩(cat.png)⟨/⟩!"),
        ("# Head *x*\ntext", "⟨bu⟩Head ⟨biu⟩x⟨/⟩\ntext"),
        ("## Head", "⟨b⟩Head⟨/⟩"),
        ("- a\n  * b\n12. c", "• a\n  • b\n12. c"),
        ("> said", "│ ⟨i⟩said⟨/⟩"),
        ("---", "────────────────────────────────────────"),
        ("| **a** | b |", "| **a** | b |"),
        (
            "```rs\nlet **x** = `y`;\n```\n**z**",
            "⟨d⟩```rs⟨/⟩\n⟨bc⟩let⟨c⟩ **x** = ⟨g⟩`y`⟨c⟩;⟨/⟩\n⟨d⟩```⟨/⟩\n⟨b⟩z⟨/⟩",
        ),
        ("- a:\n   ```\n   # x\n   ```", "• a:\n⟨d⟩   ```⟨/⟩\n⟨c⟩   # x⟨/⟩\n⟨d⟩   ```⟨/⟩"),
    ] {
        assert_eq!(readable(&shown(200, &[text])), expected, "{text}");
    }
}

#[test]
fn words_are_shown_once_they_are_whole_and_marks_once_they_are_settled() {
    let mut markdown = Markdown::new(LineStyle::Styled, 40);
    let pieces = ["Hel", "lo th", "ere **bo", "ld", "** and", " 5 ** 2", " is\n"];
    let steps: Vec<String> = pieces.iter().map(|piece| readable(&markdown.push(piece))).collect();
    assert_eq!(steps, ["", "Hello", " there", "", " ⟨b⟩bold", "⟨/⟩ and 5 **", " 2 is\n"]);
}

#[test]
fn a_table_is_shown_aligned_once_it_ends_and_a_line_of_code_once_it_is_whole() {
    let mut markdown = Markdown::new(LineStyle::Styled, 40);
    let pieces =
        ["| **A** | B |\n", "|---|--:|\n| long", "er | 1 |\n", "so\n", "```py\nx = ", "1\n"];
    let steps: Vec<String> = pieces.iter().map(|piece| readable(&markdown.push(piece))).collect();
    let table = "⟨b⟩A⟨/⟩      │ ⟨b⟩B⟨/⟩\n───────┼──\nlonger │ 1\nso\n";
    assert_eq!(steps, ["", "", "", table, "⟨d⟩```py⟨/⟩\n", "⟨c⟩x = ⟨y⟩1⟨/⟩\n"]);
    let text = "| A | B |\n|---|---|\n| c | d |";
    assert_eq!(shown(40, &[text]), shown(40, &[text, "\n"]).trim_end());
    assert_eq!(shown(40, &["| a |\n| b |\ntext"]), "| a |\n| b |\ntext", "no table");
}

#[test]
fn long_lines_break_between_words_and_lists_stand_under_themselves() {
    assert_eq!(shown(20, &["one two three four five six"]), "one two three four\nfive six");
    assert_eq!(
        shown(12, &["- one two three\n- 深い海の底に眠る"]),
        "• one two\n  three\n• 深い海の底\n  に眠る"
    );
    assert_eq!(
        readable(&shown(10, &["> said **so it is** all"])),
        "│ ⟨i⟩said ⟨bi⟩so⟨/⟩\n│ ⟨bi⟩it is⟨/⟩\n│ ⟨i⟩all⟨/⟩"
    );
    let code = format!("```\n{}\n```", "x ".repeat(30));
    assert!(without_escapes(&shown(20, &[&code])).contains(&"x ".repeat(30)), "code is not broken");
}

#[test]
fn without_colours_marks_stay_and_lines_break() {
    let mut markdown = Markdown::new(LineStyle::Plain, 12);
    let text = markdown.push("# A\n**one** two three");
    assert_eq!(text + &markdown.end(), "# A\n**one** two\nthree");
}

#[test]
fn output_that_is_no_terminal_gets_the_text_as_it_is() {
    let mut markdown = Markdown::new(LineStyle::Verbatim, 10);
    let text = " **a** \t b\n\n```x  \n";
    assert_eq!(markdown.push(text) + &markdown.end(), text);
}

#[test]
fn a_mark_that_is_never_closed_holds_nothing_back_for_ever() {
    let text = format!("**{}", "word ".repeat(2000));
    let mut markdown = Markdown::new(LineStyle::Styled, 80);
    let shown = markdown.push(&text);
    assert!(shown.len() > 8000, "{}", shown.len());
    assert_eq!(shown.matches("word").count() + markdown.end().matches("word").count(), 2000);
}

/// Text that is full of marks, and of what looks like them.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-c0-9]{1,4}",
        "[*_`#>!|~\\\\.,/(){}+-]{1,3}",
        "\\*\\*[a-c]{1,3}\\*\\*",
        "`[a-c* ]{0,4}`",
        "[深海。（]{1,3}",
        "[ \n]{1,2}",
        Just("\n```\n".to_owned()),
        Just("[a](b)".to_owned()),
        Just("- ".to_owned()),
        Just("\n| a | b |\n|---|:-:|\n".to_owned()),
        Just("\n```rust\n".to_owned()),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

/// Returns the characters that cannot be marks, in any order: the cells of a row stand beside one another.
fn said(text: &str) -> String {
    let said = text.chars().filter(|c| c.is_alphanumeric() || ".,/{}。（".contains(*c));
    let mut said: Vec<char> = said.collect();
    said.sort_unstable();
    said.into_iter().collect()
}

proptest! {
    #[test]
    fn nothing_that_was_said_is_eaten(text in text(), width in 1usize..60) {
        prop_assert_eq!(said(&without_escapes(&shown(width, &[&text]))), said(&text));
    }

    #[test]
    fn it_does_not_matter_where_pieces_end(text in text(), cuts in proptest::collection::vec(0usize..200, 0..6)) {
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        cuts.extend([0, text.len()]);
        cuts.retain(|at| *at <= text.len());
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        prop_assert_eq!(shown(20, &pieces), shown(20, &[&text]));
    }

    #[test]
    fn marks_without_another_half_are_all_shown(text in "([a-c/.(] ?(\\*\\*|\\*|_) [a-c]){1,5}") {
        prop_assert_eq!(shown(80, &[&text]), text);
    }
}
