//! What a person has typed and not sent: it comes back to the prompt, in this chat or in the next one.

use super::ChatScreen;
use super::slash::{as_message, message_text};
use crate::commands::message_exchange::accepted_since;
use crate::failure::Failure;

impl ChatScreen<'_> {
    /// Brings back what was typed when the chat ended.
    pub(super) async fn take_back_left(&self) -> Result<(), Failure> {
        let Some(keyboard) = self.input.keyboard() else { return Ok(()) };
        let failure = |error: std::io::Error| {
            let what = format!("what you typed when the chat ended cannot be read: {error}");
            Failure::new("system", what).with_hint("it is in .ship/typed")
        };
        let mut left = match keyboard.find_left() {
            Ok(left) => left,
            Err(error) => return self.print_failure(failure(error)),
        };
        for left in &mut left {
            let accepted = accepted_since(&self.agent, &self.session.chat, left.since).await?;
            // The process may have ended when the first text was in the chat, and still in its file.
            let is_accepted = |text: &String| accepted.contains(&message_text(text).to_owned());
            if left.texts.first().is_some_and(is_accepted) {
                left.texts.remove(0);
            }
        }
        match keyboard.take_over(left) {
            Ok(false) => Ok(()),
            Ok(true) => self.print_note("(what you typed when the chat ended comes to the prompt)"),
            Err(error) => self.print_failure(failure(error)),
        }
    }

    /// Lets go of the line that was taken: it is in the chat, or is no message.
    pub(super) fn let_go(&self) {
        self.input.keyboard().inspect(|keyboard| keyboard.let_go());
    }

    /// Puts a message back to the prompt that could not be sent, with all that was typed behind it.
    pub(super) fn put_back(&self, text: &str) {
        if let Some(keyboard) = self.input.keyboard() {
            keyboard.typed().put_draft_first(&as_message(text));
            keyboard.let_go();
        }
    }

    /// Brings what was typed ahead to the prompt, unsent.
    pub(super) fn take_back_typed(&self) {
        if let Some(keyboard) = self.input.keyboard() {
            keyboard.typed().take_back();
        }
    }
}
