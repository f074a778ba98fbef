//! Prints hits for a person: where and when it was said, and the part of the text.

use std::ops::Range;

use ship_agent::{HitPlace, MessageHit};
use ship_message::Role;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// Makes the command that shows the model the message of an id.
pub(super) type RecallCommand = fn(&Session, &str) -> String;

/// Prints hits, and what can be done with the first one.
pub(super) fn print_hits(
    session: &Session,
    hits: &[MessageHit],
    recall: RecallCommand,
) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for hit in hits {
        output::print_line(&heading(session, hit, style))?;
        let marked = marked_text(&hit.snippet, &hit.marks, |text| style.bold(text));
        output::print_line(&table::wrap(&format!("  {marked}"), 2, table::columns()))?;
    }
    if let Some(first) = hits.first() {
        let advice = advice(session, first, recall);
        output::print_line(&style.dim(&format!("\n{}", table::wrap_lines(&advice))))?;
    }
    Ok(())
}

/// Tells how a hit is opened, and how it is shown to the model, which may see it already.
fn advice(session: &Session, hit: &MessageHit, recall: RecallCommand) -> String {
    let open = format!("ship history --around {}", output::quote_for_shell(&hit.message_id));
    if hit.chat != session.chat {
        let open = session.chat_flags.of_chat(&hit.chat).add_to(&open);
        return format!("{open} shows it.");
    }
    let open = session.chat_flags.add_to(&open);
    match hit.place {
        HitPlace::Live => format!("{open} shows it."),
        HitPlace::Ledger | HitPlace::Sealed | HitPlace::Context => {
            let recall = recall(session, &hit.message_id);
            let (person, model) =
                (format!("{open} shows it,"), format!("{recall} shows it to the model."));
            let is_narrow = table::width(&person) + 1 + table::width(&model) > table::columns();
            // So no command is broken where a person copies it.
            format!("{person}{}{model}", if is_narrow { '\n' } else { ' ' })
        }
    }
}

fn heading(session: &Session, hit: &MessageHit, style: Style) -> String {
    let role = match hit.role {
        Role::User | Role::Assistant => hit.role.name().unwrap_or_default(),
        Role::System | Role::Unknown => "?",
    };
    let when = hit.ts.map(output::format_time).unwrap_or_default();
    let place = match (hit.place, &hit.context) {
        (HitPlace::Ledger, _) => "not in a context".to_owned(),
        (HitPlace::Context, Some(context)) => format!("in {context}"),
        (HitPlace::Live | HitPlace::Sealed | HitPlace::Context, _) => String::new(),
    };
    let chat = match hit.chat == session.chat {
        true => String::new(),
        false => output::escape_unprintable(hit.chat.as_str()),
    };
    let id = output::escape_unprintable(&hit.message_id);
    let about = [id, when, place, chat]
        .map(|word| format!("  {word}"))
        .map(|word| if word.trim().is_empty() { String::new() } else { word });
    table::wrap_text(&format!("{}{}", style.bold(role), style.dim(&about.concat())), 4)
}

/// Returns a text on one line, with its marked places painted.
fn marked_text(text: &str, marks: &[Range<usize>], paint: impl Fn(&str) -> String) -> String {
    let chars: Vec<char> = text.chars().collect();
    let piece = |range: Range<usize>| -> String {
        let piece: String = chars.get(range).unwrap_or_default().iter().collect();
        output::escape_unprintable(&piece.replace(['\n', '\t'], " "))
    };
    let (mut shown, mut at) = (String::new(), 0);
    for mark in marks {
        shown.push_str(&piece(at..mark.start));
        shown.push_str(&paint(&piece(mark.clone())));
        at = mark.end;
    }
    shown.push_str(&piece(at..chars.len()));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_a_text_are_painted_and_it_stands_on_one_line() {
        let painted =
            marked_text("…a 部署\nb\u{202e}", &[3..5, 6..7], |text| format!("[{text}]"));
        assert_eq!(painted, "…a [部署] [b]\\u{202e}");
    }
}
