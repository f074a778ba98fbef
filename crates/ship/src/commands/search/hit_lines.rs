//! Prints hits for a person: where and when it was said, and the part of the text.

use std::ops::Range;

use ship_agent::{HitPlace, MessageHit};
use ship_message::Role;

use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;

/// Prints hits, and how the first one is opened.
pub(super) fn print_hits(session: &Session, hits: &[MessageHit]) -> Result<(), Failure> {
    let style = Style::of_stdout();
    for hit in hits {
        output::print_line(&heading(session, hit, style))?;
        let marked = marked_text(&hit.snippet, &hit.marks, |text| style.bold(text));
        output::print_line(&table::wrap(&format!("  {marked}"), 2, table::columns()))?;
    }
    if let Some(first) = hits.first() {
        let open = format!("ship history --around {}", output::quote_for_shell(&first.message_id));
        let flags = match first.chat == session.chat {
            true => session.chat_flags.clone(),
            false => session.chat_flags.of_chat(&first.chat),
        };
        let advice = format!("{} shows what was said there.", flags.add_to(&open));
        output::print_line(&style.dim(&format!("\n{}", table::wrap_text(&advice, 0))))?;
    }
    Ok(())
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
