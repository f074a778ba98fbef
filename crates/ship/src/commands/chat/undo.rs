//! `/undo`: takes the last thing back, be it an operation on contexts or an exchange.

use ship_agent::{ContextChange, ContextOperation};
use ship_message::UiMessage;

use super::{ChatAction, ChatScreen};
use crate::commands::context::undone_line;
use crate::commands::message_exchange::active_messages;
use crate::commands::message_line::{is_of_person, is_said, question_line};
use crate::failure::Failure;
use crate::table;

/// The columns of a message that is named in a sentence.
const NAMED_COLUMNS: usize = 40;

impl ChatScreen<'_> {
    /// Takes the last operation on contexts back, if nothing was said since. Otherwise takes back the last exchange, or
    /// as many as were asked for.
    pub(super) async fn undo(&self, exchanges: Option<usize>) -> Result<ChatAction, Failure> {
        match self.try_undo(exchanges).await {
            Err(failure) => self.print_failure(failure).map(|()| ChatAction::Listen),
            Ok(next) => Ok(next),
        }
    }

    async fn try_undo(&self, exchanges: Option<usize>) -> Result<ChatAction, Failure> {
        let preview = self.agent.preview_undo(&self.session.chat).await?;
        let said_since = preview.as_ref().map_or(0, |preview| preview.questions_since);
        match exchanges {
            // Programs ask for operations, and get what they ask for.
            None if said_since == 0 || self.session.json => {
                let tell = |change: &ContextChange| {
                    let line = undone_line(preview.as_ref()?, change, |name| format!("/{name}"))?;
                    Some(format!("{line} /undo again restores it."))
                };
                self.operate_and_tell(ContextOperation::Undo, tell).await
            }
            exchanges => self.take_back(exchanges.unwrap_or(1)).await,
        }
    }

    /// Goes back to before the last exchanges.
    async fn take_back(&self, exchanges: usize) -> Result<ChatAction, Failure> {
        let messages = active_messages(&*self.session.store()?, &self.session.chat).await?;
        let Some(taken) = TakenExchanges::find(&messages, exchanges) else {
            self.print_note(&format!(
                "There are fewer than {exchanges} messages of yours here. Nothing has changed."
            ))?;
            return Ok(ChatAction::Listen);
        };
        let line = taken.line();
        self.operate_and_tell(taken.operation(), |_| Some(line.clone())).await
    }
}

/// The exchanges at the end of a context that are taken back.
struct TakenExchanges<'m> {
    /// The message before them; `None` if they are all there is.
    before: Option<&'m UiMessage>,
    taken: &'m [UiMessage],
    count: usize,
}

impl<'m> TakenExchanges<'m> {
    fn find(messages: &'m [UiMessage], count: usize) -> Option<Self> {
        let questions = messages.iter().enumerate().rev().filter(|(_, it)| is_of_person(it));
        let (at, _) = questions.into_iter().nth(count.checked_sub(1)?)?;
        let before = at.checked_sub(1).map(|before| &messages[before]);
        Some(Self { before, taken: &messages[at..], count })
    }

    /// Returns the operation that leads to the place before them.
    fn operation(&self) -> ContextOperation {
        match self.before.and_then(UiMessage::id) {
            Some(id) => ContextOperation::Rewind { to: id.to_owned() },
            None => ContextOperation::Clear,
        }
    }

    /// Tells what is taken back.
    fn line(&self) -> String {
        let is_answer = |message: &&UiMessage| is_said(message) && !is_of_person(message);
        let question = self.taken.first().map(question_line).unwrap_or_default();
        let question = table::fit(&question, NAMED_COLUMNS);
        let what = match (self.count, self.taken.iter().any(|it| is_answer(&it))) {
            (1, true) => format!("“{question}” and its answer"),
            (1, false) => format!("“{question}”"),
            (count, _) => format!("your last {count} messages, from “{question}” on"),
        };
        format!("Took back {what}. /undo brings it back.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, role: &str) -> UiMessage {
        let json = format!(
            r#"{{"id":"{id}","role":"{role}","parts":[{{"type":"text","text":"said {id}"}}]}}"#
        );
        UiMessage::parse(&json).unwrap()
    }

    #[test]
    fn exchanges_are_taken_back_from_their_question_on() {
        let talk = [
            message("u1", "user"),
            message("a1", "assistant"),
            message("u2", "user"),
            message("a2", "assistant"),
            message("u3", "user"),
        ];
        let taken = |count: usize| {
            let taken = TakenExchanges::find(&talk, count)?;
            Some((taken.operation(), taken.line()))
        };
        let rewind = |to: &str| ContextOperation::Rewind { to: to.to_owned() };
        let (operation, line) = taken(1).unwrap();
        assert_eq!(operation, rewind("a2"));
        assert_eq!(line, "Took back “said u3”. /undo brings it back.");
        let (operation, line) = taken(2).unwrap();
        assert_eq!(operation, rewind("a1"));
        assert_eq!(
            line,
            "Took back your last 2 messages, from “said u2” on. /undo brings it back."
        );
        assert_eq!(taken(3).unwrap().0, ContextOperation::Clear, "nothing is before them");
        assert_eq!((taken(0), taken(4)), (None, None));
        let line = TakenExchanges::find(&talk[..2], 1).unwrap().line();
        assert_eq!(line, "Took back “said u1” and its answer. /undo brings it back.");
    }
}
