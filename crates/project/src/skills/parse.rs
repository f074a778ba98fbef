//! Parses the text of a `SKILL.md`.

use ship_record::{Explain, Explanation};

use super::front_matter::{FrontMatterError, FrontMatterField, read_fields, split, split_list};
use super::hidden_chars::make_visible;

/// The maximal length of a name, from the Agent Skills convention; the model must write the name exactly.
const NAME_CHARS_MAX: usize = 64;

/// The maximal length of a description, from the convention: every request carries all of them.
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// The content of a `SKILL.md`.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) allowed_tools: Option<Vec<String>>,
    /// The instructions for the agent, or the reason why the skill is unusable.
    pub(super) body: Result<String, SkillError>,
}

/// The reason why a skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.explain())]
pub(super) enum SkillError {
    #[error(transparent)]
    FrontMatter(#[from] FrontMatterError),
    Name(String),
    Empty,
}

impl Explain for SkillError {
    fn explain(&self) -> Explanation {
        match self {
            Self::FrontMatter(error) => error.explain(),
            Self::Name(name) => Explanation::new(format!("its name `{name}` cannot be one"))
                .with_remedy(format!("use at most {NAME_CHARS_MAX} letters, digits and hyphens")),
            Self::Empty => Explanation::new("it says nothing besides its front matter")
                .with_remedy("write what the agent should do below it"),
        }
    }
}

/// Parses a skill. `folder` is the name of its folder, which is used if the skill gives no name.
pub(super) fn parse(text: &str, folder: &str) -> Parsed {
    let text = text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n").replace('\r', "\n");
    let unnamed = |body| Parsed {
        name: one_line(folder),
        description: String::new(),
        allowed_tools: None,
        body,
    };
    let parts = match split(&text) {
        Ok(parts) => parts,
        Err(error) => return unnamed(Err(error.into())),
    };
    let lines_before = text.len() - text.trim_start().len();
    let first_line = text[..lines_before].matches('\n').count() + 2;
    let front = match read_fields(parts.front.as_deref().unwrap_or_default(), first_line) {
        Ok(front) => front,
        Err(error) => return unnamed(Err(error.into())),
    };
    let text_of = |name: &str| match front.iter().find(|(field, _)| field == name) {
        Some((_, FrontMatterField::Text(text))) if !text.trim().is_empty() => Some(one_line(text)),
        _ => None,
    };
    let name = text_of("name").unwrap_or_else(|| one_line(folder));
    let body = make_visible(parts.body.trim()).into_owned();
    let description = text_of("description").unwrap_or_else(|| first_words(&body));
    let body = match (is_name(&name), body.is_empty()) {
        (false, _) => Err(SkillError::Name(name.chars().take(NAME_CHARS_MAX).collect())),
        (true, true) => Err(SkillError::Empty),
        (true, false) => Ok(body),
    };
    // The names of fields are in lower case here, so the last one stands for `allowedTools`.
    let allowed_tools = ["allowed-tools", "allowed_tools", "allowedtools"]
        .iter()
        .find_map(|name| front.iter().find(|(field, _)| field == name))
        .map(|(_, field)| read_tools(field));
    Parsed { name, description: shorten_description(description), allowed_tools, body }
}

/// Returns a text with single spaces between words and with hidden characters made visible.
fn one_line(text: &str) -> String {
    make_visible(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Whether a name can stand everywhere a name is needed: in a list, a command and a path.
fn is_name(name: &str) -> bool {
    let bad =
        |c: char| c.is_control() || matches!(c, '/' | '\\' | '`' | '"' | '<' | '>' | '[' | ']');
    name.chars().count() <= NAME_CHARS_MAX
        && !name.contains(bad)
        && !matches!(name, "" | "." | "..")
}

/// Returns the first line with text, for a skill without a description.
fn first_words(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim_start_matches(['#', ' ']).trim());
    lines.map(one_line).find(|line| !line.is_empty()).unwrap_or_default()
}

fn shorten_description(text: String) -> String {
    match text.char_indices().nth(DESCRIPTION_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Reads tools from a list, or from a text with commas or else spaces: `Read, Bash(git add:*)`.
fn read_tools(field: &FrontMatterField) -> Vec<String> {
    let items = match field {
        FrontMatterField::List(items) => items.clone(),
        FrontMatterField::Text(text) => {
            let by_comma = split_list(text, |c| c == ',');
            if by_comma.len() > 1 { by_comma } else { split_list(text, char::is_whitespace) }
        }
    };
    items.iter().map(|tool| one_line(tool)).filter(|tool| !tool.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn described(front: &str) -> (String, String) {
        let parsed = parse(&format!("---\n{front}\n---\nDo it.\n"), "folder");
        assert_eq!(parsed.body, Ok("Do it.".to_owned()), "{front}");
        (parsed.name, parsed.description)
    }

    #[test]
    fn names_and_descriptions_are_read_however_they_are_written() {
        for (front, name, description) in [
            ("name: pdf\ndescription: Fill forms", "pdf", "Fill forms"),
            ("name: pdf\ndescription: Use when: a PDF is there", "pdf", "Use when: a PDF is there"),
            ("name: \"pdf\"\ndescription: 'It''s: good' # yes", "pdf", "It's: good"),
            ("name: pdf # the tool\ndescription: \"a \\\"b\\\"\\nc\"", "pdf", "a \"b\" c"),
            ("description: >\n  one\n  two\n\n  three\nname: pdf", "pdf", "one two three"),
            ("description: |-\n  one\n    two\nname: pdf", "pdf", "one two"),
            ("description: one\n  two: three\nname: pdf", "pdf", "one two: three"),
            ("description:\n  one\n  two\nname: pdf", "pdf", "one two"),
            ("description: \"never closed\nname: pdf", "pdf", "\"never closed"),
            ("Name: pdf\nDESCRIPTION: x", "pdf", "x"),
            ("name:\ndescription: ~", "folder", "Do it."),
            ("metadata:\n  name: wrong\n  tags: [a, b]\ndescription: x", "folder", "x"),
            ("# comment\n\nname: pdf\n# description: no", "pdf", "Do it."),
            ("name: 文档处理\ndescription: 处理：文档", "文档处理", "处理：文档"),
            ("name: &a pdf\ndescription: *a", "&a pdf", "*a"),
            ("license: MIT # [x]\nname: pdf\ndescription: C# and F#", "pdf", "C# and F#"),
            ("name: pdf\r\ndescription: windows\r", "pdf", "windows"),
        ] {
            assert_eq!(described(front), (name.to_owned(), description.to_owned()), "{front:?}");
        }
    }

    #[test]
    fn what_is_hidden_is_shown_and_makes_a_name_no_name() {
        let parsed = parse(
            "---\nname: a\u{E0041}b\ndescription: x\u{200B}y\n---\nDo\u{E0042} it.",
            "folder",
        );
        assert_eq!(parsed.description, "x[U+200B]y");
        assert_eq!(parsed.body, Err(SkillError::Name("a[U+E0041]b".to_owned())));
        assert_eq!(parse("Do\u{E0042} it.", "x").body, Ok("Do[U+E0042] it.".to_owned()));
    }

    #[test]
    fn allowed_tools_are_a_list_or_a_text_with_commas_or_spaces() {
        for (value, tools) in [
            ("allowed-tools: Read, Grep", Some(&["Read", "Grep"][..])),
            ("allowed-tools: Read", Some(&["Read"])),
            ("allowed-tools: Read Grep", Some(&["Read", "Grep"])),
            (
                "allowed-tools: Bash(git add:*, git commit:*), Read",
                Some(&["Bash(git add:*, git commit:*)", "Read"]),
            ),
            ("allowed-tools: Bash(git:*) Read", Some(&["Bash(git:*)", "Read"])),
            ("allowed-tools: [Read, \"Grep\"]", Some(&["Read", "Grep"])),
            ("allowed-tools: [\n  Read,\n  Grep,\n]", Some(&["Read", "Grep"])),
            ("allowed-tools:\n  - Read\n  - 'Grep' # search", Some(&["Read", "Grep"])),
            ("allowed-tools:\n- Read\n- Grep", Some(&["Read", "Grep"])),
            ("allowed-tools: []", Some(&[])),
            ("allowed-tools:", Some(&[])),
            ("allowed_tools: Read", Some(&["Read"])),
            ("name: x", None),
        ] {
            let parsed = parse(&format!("---\n{value}\n---\nDo it."), "folder");
            let found = parsed
                .allowed_tools
                .as_ref()
                .map(|t| t.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), tools, "{value}");
        }
    }

    #[test]
    fn a_skill_without_front_matter_is_called_like_its_folder_and_described_by_its_first_line() {
        let parsed = parse("\u{FEFF}\n# Deploy the site\n\nRun it.\n", "deploy");
        assert_eq!(
            (parsed.name.as_str(), parsed.description.as_str()),
            ("deploy", "Deploy the site")
        );
        assert_eq!(parsed.body, Ok("# Deploy the site\n\nRun it.".to_owned()));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let long = format!("---\nname: {}\n---\nx", "n".repeat(65));
        for (text, reason) in [
            ("---\nname: x\nDo it.", "never ends"),
            (
                "\n---\nname: x\njust words\n---\nDo it.",
                "line 4 of SKILL.md, in the front matter, is no `key: value`",
            ),
            ("---\nname: x\n\n# Title", "never ends"),
            ("---\nname: x\n---\n \n", "says nothing besides its front matter"),
            ("---\nname: ../../etc\n---\nx", "its name `../../etc` cannot be one"),
            ("---\nname: ..\n---\nx", "cannot be one"),
            (&long, "cannot be one"),
            ("", "says nothing"),
        ] {
            let error = parse(text, "folder").body.unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_rule_in_the_body_is_no_front_matter() {
        let parsed = parse("Text\n---\nname: x\n---\n", "folder");
        assert_eq!((parsed.name.as_str(), parsed.description.as_str()), ("folder", "Text"));
    }

    #[test]
    fn a_description_without_end_is_shortened() {
        let (_, description) = described(&format!("description: {}", "密".repeat(5000)));
        assert_eq!(description.chars().count(), DESCRIPTION_CHARS_MAX + 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(
            text in "(---\n)?(\\PC|[ \n\r\t:>|\\[\\](),'\"\\\\#-]|name: |description: |allowed-tools:|---\n){0,40}",
        ) {
            let parsed = parse(&text, "folder");
            prop_assert!(parsed.description.lines().count() <= 1);
        }
    }
}
