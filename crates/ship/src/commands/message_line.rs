//! Tells a message on one line, for recaps and lists.

use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_message::{Role, UiMessage, UiPart};
use ship_project::Settings;
use ship_store::{MessageKind, Metadata, notices, without_notices};

use crate::output;
use crate::text_for_user::project_texts_for_user;

/// The beginning of the part that an attached text is.
const ATTACHED_TEXT: &str = "<file name=\"";

/// Whether a message is what a person said.
pub(crate) fn is_of_person(message: &UiMessage) -> bool {
    let kind = Metadata::of(message).kind();
    message.role() == Role::User && kind.is_none_or(|kind| kind == MessageKind::Normal)
}

/// Returns the first line of what a person said, and the names of the files.
pub(crate) fn question_line(message: &UiMessage) -> String {
    let texts = message.parts().iter().filter_map(|part| match part {
        UiPart::Text(text) => Some(text.text()),
        _ => None,
    });
    let said = texts.filter(|text| attached_name(text).is_none()).find_map(first_line);
    let names = message.parts().iter().filter_map(|part| match part {
        UiPart::Text(text) => attached_name(text.text()),
        UiPart::File(file) => Some(file.filename().unwrap_or(file.media_type())),
        _ => None,
    });
    let names = names.map(|name| format!("[{name}]"));
    let words: Vec<String> = said.map(str::to_owned).into_iter().chain(names).collect();
    output::escape_unprintable(&words.join(" "))
}

/// Returns the first line of an answer, or else the notice that stands in its place. `None` if it said nothing.
pub(crate) fn answer_line(message: &UiMessage, settings: &Settings) -> Option<String> {
    let texts = project_texts_for_user(&without_notices(message), settings);
    let said = texts.iter().find_map(|text| first_line(text)).map(without_heading_mark);
    let line = said.or_else(|| notices(message).find_map(first_line).map(notice_line))?;
    Some(output::escape_unprintable(&line))
}

/// Returns a notice as a line of `ship`: its words are not those of the agent.
pub(crate) fn notice_line(notice: &str) -> String {
    if notice.starts_with('(') { notice.to_owned() } else { format!("ship: {notice}") }
}

/// The number of messages that are offered for completion.
const OFFERED: usize = 30;

/// Returns the ids of the last messages, each with its first line, the newest first.
pub(crate) fn last_messages<'m>(
    messages: impl DoubleEndedIterator<Item = &'m UiMessage>,
    settings: &Settings,
) -> Vec<(String, String)> {
    let named = |message: &UiMessage| {
        let line = match is_of_person(message) {
            true => Some(question_line(message)),
            false => answer_line(message, settings),
        };
        Some((message.id()?.to_owned(), line?))
    };
    messages.rev().filter(|message| is_said(message)).filter_map(named).take(OFFERED).collect()
}

/// Whether a message is part of the conversation, and no summary or reference.
pub(crate) fn is_said(message: &UiMessage) -> bool {
    let is_answer = message.role() == Role::Assistant;
    (is_answer || is_of_person(message)) && !is_summary(message) && !is_reference(message)
}

/// Returns the name of an attached text.
pub(crate) fn attached_name(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix(ATTACHED_TEXT)?.split_once("\">\n")?;
    text.ends_with("\n</file>").then_some(name)
}

/// Returns a line without the marks that make it a heading.
fn without_heading_mark(line: &str) -> String {
    let rest = line.trim_start_matches('#');
    rest.strip_prefix(' ').unwrap_or(line).to_owned()
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}
