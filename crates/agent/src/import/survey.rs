//! Looks through a file once more after its survey: all its messages are made, and what they tell is counted.

use std::collections::BTreeMap;
use std::io;

use ship_exchange::{
    ConversationFile, FileFormat, Input, SurveyError, UNANSWERED_CALL, Wishes, kept_kind,
};
use ship_message::json::Json;
use ship_message::{Role, UiMessage, UiPart};
use ship_store::conversation::{ContextEntry, view::to_view};

/// The counts of a context's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageCounts {
    pub(super) messages: u64,
    /// The parts with what could not be represented, by kind.
    pub(super) kept: BTreeMap<String, u64>,
    /// The calls without a result.
    pub(super) unanswered: u64,
    /// The id of the last message, if a person said it.
    pub(super) question: Option<String>,
}

/// Surveys a file with conversations of a format. `progress` is told the number of bytes that were read.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn read_conversations(
    source: Box<dyn Input>,
    format: FileFormat,
    progress: &mut dyn FnMut(u64),
) -> Result<ConversationFile, SurveyError> {
    ConversationFile::survey(source, Wishes { format, entries: messages_of_entries, progress })
}

/// Makes messages of the entries of a conversation.
fn messages_of_entries(entries: &[Json]) -> Result<Vec<UiMessage>, String> {
    let read = |entry: &Json| ContextEntry::from_json(entry.clone());
    let entries: Result<Vec<_>, _> = entries.iter().map(read).collect();
    Ok(to_view(&entries.map_err(|error| error.to_string())?))
}

/// Makes all messages of a context, and passes each to `see`.
pub(super) fn for_each_message(
    file: &mut ConversationFile,
    nth_context: usize,
    mut see: impl FnMut(usize, UiMessage),
) -> io::Result<()> {
    let contexts = file.contexts();
    let context = &contexts[nth_context];
    let mut nth = 0;
    for log in &context.logs {
        for message in &log.messages {
            for made in file.messages(context, nth, message)? {
                see(nth, made);
            }
            nth += 1;
        }
    }
    Ok(())
}

impl MessageCounts {
    /// Counts a message.
    pub(super) fn add(&mut self, message: &UiMessage) {
        self.messages += 1;
        for part in message.parts() {
            if let Some(kind) = kept_kind(part) {
                *self.kept.entry(kind.to_owned()).or_default() += 1;
            }
            let is_unanswered =
                matches!(part, UiPart::Tool(call) if call.error_text() == Some(UNANSWERED_CALL));
            self.unanswered += u64::from(is_unanswered);
        }
        let is_question = message.role() == Role::User;
        self.question = message.id().filter(|_| is_question).map(str::to_owned);
    }
}
