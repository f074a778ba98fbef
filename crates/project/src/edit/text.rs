//! Changes the text of a settings file at one place.

use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use ship_message::json::Json;

use crate::load::FORGIVING;

const MARK: char = '\u{FEFF}';

/// Returns the text with a key set. `None` if the text is not JSON, or if something else is where an object must be. An
/// object that stands on one line stays there.
pub(super) fn set(text: &str, key: &str, value: &Json) -> Option<String> {
    let mut one_line: Option<CstObject> = None;
    let edited = edit(text, |root| {
        let mut object = root.object_value_or_create()?;
        let mut names: Vec<&str> = key.split('.').collect();
        let last = names.pop()?;
        if let Some(property) = find(&object, key).pop() {
            property.set_value(to_input(value));
            return Some(());
        }
        one_line = Some(object.clone()).filter(is_on_one_line);
        for name in names {
            object = open_group(&object, name)?;
            one_line = one_line.take().or_else(|| Some(object.clone()).filter(is_on_one_line));
        }
        object.append(last, to_input(value));
        Some(())
    })?;
    Some(match one_line.map(|object| object.to_string()) {
        Some(object) => edited.replacen(&object, &on_one_line(&object), 1),
        None => edited,
    })
}

fn is_on_one_line(object: &CstObject) -> bool {
    !object.properties().is_empty() && !object.to_string().contains('\n')
}

/// Joins the lines of an object without comments.
fn on_one_line(object: &str) -> String {
    object.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Returns the text without a key. `None` if it was not there.
pub(super) fn unset(text: &str, key: &str) -> Option<String> {
    edit(text, |root| {
        let found = find(&root.object_value()?, key);
        (!found.is_empty()).then(|| found.into_iter().for_each(CstObjectProp::remove))
    })
}

/// Edits a text, and keeps a mark at its beginning.
fn edit(text: &str, edit: impl FnOnce(&CstRootNode) -> Option<()>) -> Option<String> {
    let plain = text.strip_prefix(MARK).unwrap_or(text);
    let root = CstRootNode::parse(plain, &FORGIVING).ok()?;
    edit(&root)?;
    let mark = &text[..text.len() - plain.len()];
    Some(format!("{mark}{root}"))
}

/// Returns every place of a key, in the order of the file. Of several, the last one counts.
fn find(object: &CstObject, key: &str) -> Vec<CstObjectProp> {
    let (name, rest) = key.split_once('.').map_or((key, None), |(name, rest)| (name, Some(rest)));
    let named = object.properties().into_iter().filter(|property| is_named(property, name));
    match rest {
        None => named.collect(),
        Some(rest) => named
            .filter_map(|property| property.object_value())
            .flat_map(|object| find(&object, rest))
            .collect(),
    }
}

/// Returns the object of a group, which is made if it is missing or `null`.
fn open_group(object: &CstObject, name: &str) -> Option<CstObject> {
    let last = object.properties().into_iter().rfind(|property| is_named(property, name));
    let Some(property) = last else { return Some(object.object_value_or_set(name)) };
    let is_null = property.value().is_some_and(|value| value.as_null_keyword().is_some());
    if is_null { Some(property.object_value_or_set()) } else { property.object_value() }
}

fn is_named(property: &CstObjectProp, name: &str) -> bool {
    property.decoded_name().as_deref() == Some(name)
}

fn to_input(value: &Json) -> CstInputValue {
    match value {
        Json::Bool(value) => CstInputValue::Bool(*value),
        Json::String(text) => CstInputValue::String(text.to_string()),
        Json::Array(values) => CstInputValue::Array(values.iter().map(to_input).collect()),
        Json::Number(_) => CstInputValue::Number(value.to_string()),
        // No setting is an object.
        Json::Null | Json::Object(_) => CstInputValue::Null,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_is_set_and_everything_else_stays() {
        let mine =
            "\u{FEFF}// mine\r\n{\r\n  \"llm\": {\r\n    \"model\": \"a\", // why\r\n  },\r\n}\r\n";
        for (before, key, value, after) in [
            (mine, "llm.model", Json::from("b"), mine.replace("\"a\"", "\"b\"")),
            ("{\"a\":1, \"durability\" : 3}", "durability", "x".into(), "{\"a\":1, \"durability\" : \"x\"}".into()),
            (
                "{\n  \"llm\": {\n    \"model\": \"a\" // no comma\n  }\n}\n",
                "llm.retries",
                2_u64.into(),
                "{\n  \"llm\": {\n    \"model\": \"a\", // no comma\n    \"retries\": 2\n  }\n}\n".into(),
            ),
            (
                "{\n  \"llm\": {\n    // \"model\": null, // The model\n  },\n}\n",
                "llm.model",
                "b".into(),
                "{\n  \"llm\": {\n    // \"model\": null, // The model\n    \"model\": \"b\"\n  },\n}\n".into(),
            ),
            ("", "lock.waitMs", 1_u64.into(), "{\n  \"lock\": {\n    \"waitMs\": 1\n  }\n}\n".into()),
            ("{\"lock\": null}", "lock.waitMs", 1_u64.into(), "{\"lock\": { \"waitMs\": 1 }}".into()),
            (
                "{\n  \"llm\": { \"model\": \"a\" }, // mine\n}\n",
                "llm.retries",
                2_u64.into(),
                "{\n  \"llm\": { \"model\": \"a\", \"retries\": 2 }, // mine\n}\n".into(),
            ),
            (
                "{ \"llm\": { \"model\": \"a\" } }",
                "lock.waitMs",
                1_u64.into(),
                "{ \"llm\": { \"model\": \"a\" }, \"lock\": { \"waitMs\": 1 } }".into(),
            ),
            ("{\"llm\":{\"model\":\"a\",\"model\":\"b\"}}", "llm.model", "c".into(), "{\"llm\":{\"model\":\"a\",\"model\":\"c\"}}".into()),
        ] {
            assert_eq!(set(before, key, &value).as_deref(), Some(after.as_str()), "{before}");
        }
        for before in ["[]", "{", "{\"llm\": 3}"] {
            assert_eq!(set(before, "llm.model", &"x".into()), None, "{before}");
        }
    }

    #[test]
    fn a_key_is_removed_wherever_it_stands() {
        let twice =
            "{\n  \"llm\": { \"model\": \"a\" },\n  // mine\n  \"llm\": { \"model\": \"b\" }\n}\n";
        let after = unset(twice, "llm.model").unwrap();
        assert!(after.contains("// mine") && !after.contains("model"), "{after}");
        assert_eq!(unset(&after, "llm.model"), None);
        assert_eq!(unset("{\"llm\": null}", "llm.model"), None);
    }

    proptest! {
        #[test]
        fn what_was_set_is_there_and_nothing_makes_the_editor_panic(text in "([{}\\[\\],:\n\r]|\"llm\"|\"model\"|null|//|/\\*|\\*/|\\PC){0,40}") {
            let changed = set(&text, "llm.model", &"x".into());
            if let Some(changed) = &changed {
                let again = set(changed, "llm.model", &"x".into());
                prop_assert_eq!(again.as_ref(), Some(changed));
                let without = unset(changed, "llm.model");
                prop_assert!(without.is_some_and(|text| unset(&text, "llm.model").is_none()));
            }
        }
    }
}
