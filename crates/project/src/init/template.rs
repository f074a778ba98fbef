//! Writes the `ship.json` of a new project: every key with an effect, commented out, with its default and its purpose.

use std::fmt::Write as _;

use crate::settings::{GROUPS, Settings};

const HEAD: &str = "\
// Settings of this project, all optional. Each line shows a default; remove its leading // to change it. null means
// not set. Keep keys and tokens in .env, and refer to them here as \"${NAME}\".
";

/// Returns the text of the file, made from the catalogue.
pub(super) fn ship_json() -> String {
    let defaults = Settings::default();
    let mut out = format!("{HEAD}{{\n");
    let mut open: Vec<&str> = Vec::new();
    for group in GROUPS {
        let keys: Vec<_> = group.keys.iter().filter(|key| key.has_effect).collect();
        let Some(first) = keys.first() else { continue };
        let mut place: Vec<&str> = first.name.split('.').collect();
        place.pop();
        move_to(&place, &mut open, group.about.trim(), &mut out);
        let indent = "  ".repeat(open.len() + 1);
        for key in keys {
            let name = key.name.rsplit('.').next().unwrap_or(key.name);
            let default = (key.show)(&defaults);
            // Writing to a `String` cannot fail.
            let _ = write!(out, "{indent}// \"{name}\": {default}, // {}", key.about.trim());
            // Allowed words cannot be guessed; the form of other values is clear from the default.
            let expected = (key.expected)();
            if expected.starts_with('"') && !has_words_of(key.about, &expected) {
                // Writing to a `String` cannot fail.
                let _ = write!(out, " Either {expected}.");
            }
            out.push('\n');
        }
    }
    move_to(&[], &mut open, "", &mut out);
    out.push_str("}\n");
    out
}

/// Whether a text has all the words that stand in quotes in another one.
fn has_words_of(text: &str, quoted: &str) -> bool {
    quoted.split('"').skip(1).step_by(2).all(|word| text.contains(word))
}

/// Closes and opens objects until exactly those of `place` are open.
fn move_to<'a>(place: &[&'a str], open: &mut Vec<&'a str>, about: &str, out: &mut String) {
    let shared = place.iter().zip(open.iter()).take_while(|(a, b)| a == b).count();
    while open.len() > shared {
        let _ = writeln!(out, "{}}},", "  ".repeat(open.len()));
        open.pop();
    }
    for (at, name) in place.iter().enumerate().skip(shared) {
        let indent = "  ".repeat(open.len() + 1);
        let comment = if at + 1 == place.len() { format!(" // {about}") } else { String::new() };
        let _ = writeln!(out, "{indent}\"{name}\": {{{comment}");
        open.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys;
    use crate::{Project, SettingSource};

    fn loaded(text: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ship.json"), text).unwrap();
        Project::load(folder.path(), []).unwrap()
    }

    #[test]
    fn every_key_with_an_effect_is_there_and_counts_once_its_slashes_are_gone() {
        let text = ship_json();
        let count = keys().filter(|key| key.has_effect).count();
        assert_eq!(text.matches("// \"").count(), count);

        let project = loaded(&text.replace("// \"", "\""));
        assert_eq!(project.warnings(), []);
        assert_eq!(project.settings(), &Settings::default());
        let from_file = |source: &SettingSource| matches!(source, SettingSource::ShipJson { .. });
        let rows = project.effective_settings();
        // A key with the default `null` counts as not set and has no line.
        let set = rows.iter().filter(|row| from_file(&row.source)).count();
        assert_eq!(set + text.matches("\": null").count(), count);
    }

    #[test]
    fn the_file_reads_pleasantly() {
        let text = ship_json();
        for piece in [
            "{\n  \"llm\": { // The model and its provider.\n    // \"provider\": null, // The provider.",
            "\n  \"context\": {\n    \"history\": { // How much of a chat the model sees",
            "\n    },\n  },\n  \"limits\": { // Limits on sizes.",
            "\n  // \"durability\": \"sync\", // What an accepted message survives: a power cut (sync), or only a \
             killed process (flush).\n}\n",
        ] {
            assert!(text.contains(piece), "{piece}\nis not in\n{text}");
        }
    }
}
