//! Prints a message of the history for a person.

use ship_context::SentTexts;
use ship_message::{Role, ToolState, UiMessage, UiPart};
use ship_project::Settings;
use ship_store::{Metadata, notices, without_notices};

use crate::commands::message_line::{attached_name, notice_line};
use crate::failure::Failure;
use crate::output;
use crate::style::Style;
use crate::table;
use crate::text_for_user;

/// Prints a message with its author and its time.
pub(super) fn print_message(
    message: &UiMessage,
    style: Style,
    settings: &Settings,
) -> Result<(), Failure> {
    let metadata = Metadata::of(message);
    if metadata.moved().is_some()
        && text_for_user::project_texts_for_user(message, settings).is_empty()
    {
        // The message has only the switching call, with which the answer in the other context begins.
        return Ok(());
    }
    let mut when = metadata.ts().map(output::format_time).unwrap_or_default();
    if metadata.is_queued() {
        when.push_str(" (queued)");
    }
    let author = match (message.role().name(), metadata.username()) {
        (Some("user"), Some(name)) => output::escape_unprintable(name),
        (role, _) => role.unwrap_or("?").to_owned(),
    };
    let notices: Vec<&str> = notices(message).collect();
    let notice = |text: &str| {
        let line = output::escape_unprintable(&notice_line(text));
        style.dim(&table::wrap_text(&line, 0))
    };
    // The agent said nothing where there are only notices.
    if !notices.is_empty() && without_notices(message).parts().iter().all(is_hidden) {
        let lines: Vec<String> = notices.iter().map(|text| notice(text)).collect();
        return output::print_line(&format!("{}\n", lines.join("\n")));
    }
    output::print_line(&format!("{} {}", style.bold(&author), style.dim(&when)))?;
    // A person's text is shown as it was typed; an agent's text is Markdown.
    let shown = |text: &str| match message.role() {
        Role::Assistant => text_for_user::render_text(text),
        _ => table::wrap_lines(&output::escape_unprintable(text)),
    };
    let mut sent = SentTexts::new(settings.context.chat_egress.chat_send_idempotency);
    for part in message.parts() {
        match part {
            UiPart::Text(text) if notices.contains(&text.text()) => {
                output::print_line(&notice(text.text()))?;
            }
            UiPart::Text(text) => match attached_name(text.text()) {
                Some(name) if message.role() == Role::User => print_file(name, style)?,
                _ => output::print_line(&shown(text.text()))?,
            },
            UiPart::Tool(tool) => {
                let name = output::escape_unprintable(tool.name().unwrap_or("?"));
                output::print_line(
                    &style.cyan(&format!("[{name}: {}]", state_words(tool.state()))),
                )?;
                if let Some(sent) = sent.text_of_call(tool) {
                    output::print_line(&shown(&sent.with_list()))?;
                }
            }
            UiPart::File(file) => {
                print_file(file.filename().unwrap_or(file.media_type()), style)?;
            }
            UiPart::Reasoning(_)
            | UiPart::SourceUrl(_)
            | UiPart::SourceDocument(_)
            | UiPart::StepStart(_)
            | UiPart::Data(_)
            | UiPart::Unknown(_) => {}
        }
    }
    output::print_line("")
}

/// Describes the state of a call in a word or two.
fn state_words(state: ToolState) -> &'static str {
    match state {
        ToolState::OutputAvailable => "done",
        ToolState::OutputError => "failed",
        ToolState::OutputDenied => "not allowed",
        ToolState::ApprovalRequested => "waits for your word",
        ToolState::InputStreaming
        | ToolState::InputAvailable
        | ToolState::ApprovalResponded
        | ToolState::Unknown => "not finished",
    }
}

fn print_file(name: &str, style: Style) -> Result<(), Failure> {
    let name = output::escape_unprintable(name);
    output::print_line(&style.cyan(&format!("[file {name}]")))
}

/// Whether a part is not shown.
fn is_hidden(part: &UiPart) -> bool {
    match part {
        UiPart::Text(text) => text.text().trim().is_empty(),
        part => !matches!(part, UiPart::Tool(_) | UiPart::File(_)),
    }
}
