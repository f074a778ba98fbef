//! `/undo`: takes the last thing back, be it an operation on contexts or an exchange.

use ship_agent::{ContextChange, ContextOperation, LastExchanges};

use super::{ChatAction, ChatScreen};
use crate::commands::context::undone_line;
use crate::commands::message_line::question_line;
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
                    undone_line(preview.as_ref()?, change, |name| format!("/{name}"), "/undo")
                };
                self.operate_and_tell(ContextOperation::Undo, tell).await
            }
            exchanges => self.take_back(exchanges.unwrap_or(1)).await,
        }
    }

    /// Goes back to before the last exchanges.
    async fn take_back(&self, exchanges: usize) -> Result<ChatAction, Failure> {
        let found = self.agent.last_exchanges(&self.session.chat, exchanges).await?;
        let Some(taken) = found else {
            self.refuse_line(&format!(
                "There are fewer than {exchanges} messages of yours here. Nothing has changed."
            ))?;
            return Ok(ChatAction::Listen);
        };
        let line = line(&taken, exchanges);
        self.operate_and_tell(taken.operation, |_| Some(line.clone())).await
    }
}

/// Tells what was taken back.
fn line(taken: &LastExchanges, count: usize) -> String {
    let question = table::fit(&question_line(&taken.first_question), NAMED_COLUMNS);
    let what = match (count, taken.is_answered) {
        (1, true) => format!("“{question}” and its answer"),
        (1, false) => format!("“{question}”"),
        (count, _) => format!("your last {count} messages, from “{question}” on"),
    };
    format!("Took back {what}. /undo brings it back.")
}

#[cfg(test)]
mod tests {
    use ship_message::UiMessage;

    use super::*;

    #[test]
    fn what_was_taken_back_is_named_by_its_first_question() {
        let json = r#"{"id":"u1","role":"user","parts":[{"type":"text","text":"said u1"}]}"#;
        let taken = |count, is_answered| {
            let operation = ContextOperation::Clear;
            let first_question = UiMessage::parse(json).unwrap();
            line(&LastExchanges { operation, first_question, is_answered }, count)
        };
        let one = "Took back “said u1”. /undo brings it back.";
        assert_eq!(taken(1, false), one);
        let answered = "Took back “said u1” and its answer. /undo brings it back.";
        assert_eq!(taken(1, true), answered);
        let two = "Took back your last 2 messages, from “said u1” on. /undo brings it back.";
        assert_eq!(taken(2, true), two);
    }
}
