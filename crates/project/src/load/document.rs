//! Parses `ship.json` into values that know their line.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use ship_message::json::Json;

/// A value and the number of its line.
#[derive(Debug)]
pub(super) struct LocatedValue {
    pub(super) line: usize,
    pub(super) value: DocumentValue,
}

/// A value of the file. Only objects are taken apart further.
#[derive(Debug)]
pub(super) enum DocumentValue {
    /// Any value that is not an object.
    Plain(Json),
    /// The keys with their values; a key may occur twice.
    Object(Vec<(String, LocatedValue)>),
}

/// The place where the text stops being JSON.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) what: String,
}

/// People leave comments and superfluous commas in a file, so both are allowed. The rest of JSON5 is refused,
/// because other programs could not read the file.
pub(crate) const FORGIVING: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Parses the file; `None` if it has only comments.
pub(super) fn parse(text: &str) -> Result<Option<LocatedValue>, SyntaxError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    // The parser's messages quote nothing of the file, which may contain a secret.
    let parsed = parse_to_ast(text, &CollectOptions::default(), &FORGIVING).map_err(|error| {
        let what = error.kind().to_string().to_lowercase();
        SyntaxError { line: error.line_display(), column: error.column_display(), what }
    })?;
    Ok(parsed.value.map(|value| locate_value(value, &Lines::new(text))))
}

/// Converts a value. The recursion is bounded: the parser refuses nesting deeper than 512.
fn locate_value(value: ast::Value<'_>, lines: &Lines) -> LocatedValue {
    let line = lines.line_of(value.range().start);
    let value = match value {
        ast::Value::Object(object) => {
            let entries = object.properties.into_iter();
            DocumentValue::Object(
                entries
                    .map(|entry| (entry.name.into_string(), locate_value(entry.value, lines)))
                    .collect(),
            )
        }
        other => DocumentValue::Plain(to_json(other)),
    };
    LocatedValue { line, value }
}

fn to_json(value: ast::Value<'_>) -> Json {
    match value {
        ast::Value::NullKeyword(_) => Json::Null,
        ast::Value::BooleanLit(lit) => lit.value.into(),
        // The parser has checked that it is a number; one too large for a double becomes infinite.
        ast::Value::NumberLit(lit) => lit.value.parse::<f64>().map_or(Json::Null, Json::from),
        ast::Value::StringLit(lit) => lit.value.into_owned().into(),
        ast::Value::Array(array) => {
            array.elements.into_iter().map(to_json).collect::<Vec<_>>().into()
        }
        ast::Value::Object(object) => {
            let entries = object.properties.into_iter();
            let object: ship_message::json::Object =
                entries.map(|entry| (entry.name.into_string(), to_json(entry.value))).collect();
            object.into()
        }
    }
}

/// The offset at which each line after the first begins.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    fn line_of(&self, offset: usize) -> usize {
        self.0.partition_point(|&begin| begin <= offset) + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_allowed_and_lines_are_known() {
        let text =
            "// about\r\n{\n  /* two\n lines */ \"a\": [1, 2,],\n  \"b\": {\"c\": null,},\n}\n";
        let Some(LocatedValue { line: 2, value: DocumentValue::Object(entries) }) =
            parse(text).unwrap()
        else {
            panic!()
        };
        let lines: Vec<_> = entries.iter().map(|(key, node)| (key.as_str(), node.line)).collect();
        assert_eq!(lines, [("a", 4), ("b", 5)]);
    }

    #[test]
    fn a_file_of_nothing_but_comments_says_nothing() {
        for text in ["", "  \n", "// later\n", "\u{FEFF}"] {
            assert!(parse(text).unwrap().is_none(), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_json_is_told_with_line_and_column() {
        for (text, line, column) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", 2, 9),
            ("{\n  a: 1\n}", 2, 3),
            ("{\"a\": 'x'}", 1, 7),
            ("{\"a\": 0x10}", 1, 7),
            ("{} {}", 1, 4),
            ("{\n\n", 1, 1),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{text:?} {}", error.what);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "(\\PC|[\\[\\]{}\":,/*\n\\\\u0-9eE.+-]|true|//|/\\*){0,60}") {
            let _ = parse(&text);
        }
    }
}
