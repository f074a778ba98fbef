//! A text file within a message: a text part that begins with the name of the file.

const OPENING: &str = "<file name=\"";
const NAME_END: &str = "\">\n";
const CLOSING: &str = "\n</file>";

/// Returns the text part of a file with this name and text.
#[must_use]
pub fn write_attached_text(name: &str, text: &str) -> String {
    // A line end of the text before the last line is enough.
    let text = text.strip_suffix('\n').unwrap_or(text);
    format!("{OPENING}{name}{NAME_END}{text}{CLOSING}")
}

/// Returns the name of the file if this text part is one.
#[must_use]
pub fn attached_text_name(part: &str) -> Option<&str> {
    let rest = part.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    Some(rest.split_once(NAME_END)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_read_as_it_was_written_and_words_are_no_file() {
        for (name, text) in [("a b.txt", "one\ntwo\n"), ("x\"y", "\">\n"), ("empty", "")] {
            assert_eq!(attached_text_name(&write_attached_text(name, text)), Some(name));
        }
        for words in ["look at this", "<file name=\"a\">", "<file name=\"a\">\nb"] {
            assert_eq!(attached_text_name(words), None);
        }
    }
}
