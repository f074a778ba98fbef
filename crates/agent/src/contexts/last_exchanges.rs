//! The exchanges at the end of a context, which a person takes back with `/undo`.

use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{ChatKey, without_notices};

use super::target_origin::is_question;
use crate::context_operation::ContextOperation;
use crate::engine::Agent;
use crate::error::RunError;

/// The last exchanges of the active context: questions of the person, with what followed each.
#[derive(Clone, Debug, PartialEq)]
pub struct LastExchanges {
    /// The operation that leads to the place before them.
    pub operation: ContextOperation,
    /// The question with which they begin.
    pub first_question: UiMessage,
    /// Whether one of the questions was answered, and not only failed.
    pub is_answered: bool,
}

impl LastExchanges {
    /// Finds as many exchanges; `None` if there are fewer.
    fn find(messages: &[&UiMessage], count: usize) -> Option<Self> {
        let questions =
            messages.iter().enumerate().rev().filter(|(_, message)| is_question(message));
        let (at, first_question) = questions.into_iter().nth(count.checked_sub(1)?)?;
        let before = messages[..at].last().and_then(|before| before.id());
        Some(Self {
            operation: match before {
                Some(id) => ContextOperation::Rewind { to: id.to_owned() },
                None => ContextOperation::Clear,
            },
            first_question: (*first_question).clone(),
            is_answered: messages[at..].iter().any(|message| is_answer(message)),
        })
    }
}

impl Agent {
    /// Returns the last exchanges of the active context, as many as asked for; `None` if there are fewer. The operation
    /// in the result takes them back.
    ///
    /// # Errors
    /// Fails if the chat cannot be read.
    pub async fn last_exchanges(
        &self,
        chat: &ChatKey,
        count: usize,
    ) -> Result<Option<LastExchanges>, RunError> {
        let Some(chat) = self.engine.store.open(chat).await? else { return Ok(None) };
        let Some(view) = chat.log().view().await? else { return Ok(None) };
        Ok(LastExchanges::find(&view.messages().collect::<Vec<_>>(), count))
    }
}

/// Whether a message answers, and is not only a notice of what has failed.
fn is_answer(message: &UiMessage) -> bool {
    let says_something = |part: &UiPart| match part {
        UiPart::Text(text) => !text.text().trim().is_empty(),
        part => matches!(part, UiPart::Tool(_) | UiPart::File(_)),
    };
    let has_words = || without_notices(message).parts().iter().any(says_something);
    let is_own_word = !is_summary(message) && !is_reference(message);
    message.role() == Role::Assistant && is_own_word && has_words()
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

    fn find(messages: &[UiMessage], count: usize) -> Option<(ContextOperation, String, bool)> {
        let found = LastExchanges::find(&messages.iter().collect::<Vec<_>>(), count)?;
        Some((found.operation, found.first_question.text(), found.is_answered))
    }

    #[test]
    fn exchanges_are_found_from_their_question_on() {
        let talk = [
            message("u1", "user"),
            message("a1", "assistant"),
            message("u2", "user"),
            message("a2", "assistant"),
            message("u3", "user"),
        ];
        let rewind = |to: &str| ContextOperation::Rewind { to: to.to_owned() };
        assert_eq!(find(&talk, 1), Some((rewind("a2"), "said u3".to_owned(), false)));
        assert_eq!(find(&talk, 2), Some((rewind("a1"), "said u2".to_owned(), true)));
        let clear = ContextOperation::Clear;
        assert_eq!(find(&talk, 3), Some((clear, "said u1".to_owned(), true)), "nothing is before");
        assert_eq!((find(&talk, 0), find(&talk, 4)), (None, None));
    }

    #[test]
    fn a_failure_is_no_answer() {
        let failure = r#"{"id":"a1","role":"assistant","parts":[{"type":"text","text":"No net."}],"metadata":{"error":"No net."}}"#;
        let failed = [message("u1", "user"), UiMessage::parse(failure).unwrap()];
        assert_eq!(find(&failed, 1).map(|(.., is_answered)| is_answered), Some(false));
    }
}
