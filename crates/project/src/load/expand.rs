//! Expands `${NAME}` in a text.

use super::Variables;
use super::dotenv::is_name;

/// The reason why a text cannot be expanded.
#[derive(Debug, PartialEq)]
pub(super) enum ExpandError {
    /// The variable is neither in the environment nor in `.env`.
    Unset(String),
    /// A `${` is not followed by a name and `}`.
    NotAName,
}

/// A text with its variables expanded, and whether it had any.
#[derive(Debug, PartialEq)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) had_variables: bool,
}

/// Expands the variables. `$${NAME}` stands for a literal `${NAME}`; the value of a variable is not expanded again.
pub(super) fn expand(text: &str, variables: &Variables) -> Result<Expanded, ExpandError> {
    let mut expanded = Expanded { text: String::with_capacity(text.len()), had_variables: false };
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            expanded.text.push_str(before);
            expanded.text.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        let (name, after) = rest[at + 2..].split_once('}').ok_or(ExpandError::NotAName)?;
        if !is_name(name) {
            return Err(ExpandError::NotAName);
        }
        let variable = variables.get(name).ok_or_else(|| ExpandError::Unset(name.to_owned()))?;
        expanded.text.push_str(&rest[..at]);
        expanded.text.push_str(&variable.value);
        expanded.had_variables = true;
        rest = after;
    }
    expanded.text.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables() -> Variables {
        let set = [("A", "1"), ("B_2", "${A}"), ("EMPTY", "")];
        Variables::new(set.map(|(name, value)| (name.to_owned(), value.to_owned())), vec![])
    }

    #[test]
    fn variables_are_put_in_once() {
        for (text, expanded, had_variables) in [
            ("plain $A {A} $", "plain $A {A} $", false),
            ("${A}", "1", true),
            ("<${A}${A}>", "<11>", true),
            ("${B_2}", "${A}", true),
            ("${EMPTY}", "", true),
            ("$${A}", "${A}", false),
            ("$$${A}", "$${A}", false),
        ] {
            let expected = Expanded { text: expanded.to_owned(), had_variables };
            assert_eq!(expand(text, &variables()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_put_in_is_an_error() {
        assert_eq!(expand("${C}", &variables()), Err(ExpandError::Unset("C".to_owned())));
        for text in ["${", "${A", "${}", "${A:-x}", "${ A }", "${1}"] {
            assert_eq!(expand(text, &variables()), Err(ExpandError::NotAName), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([${}A]|\\PC){0,30}") {
            let _ = expand(&text, &variables());
        }
    }
}
