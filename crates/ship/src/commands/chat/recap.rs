//! The recap of a chat or a context to which a person comes back: when it was left, and the last exchanges.

use ship_context::contexts::without_branch_note;
use ship_context::ends_with_question;
use ship_message::UiMessage;
use ship_project::Settings;
use ship_store::{Metadata, Timestamp};

use super::ChatScreen;
use crate::commands::message_line::{answer_line, is_of_person, is_said, question_line};
use crate::failure::Failure;
use crate::output::{JUST_NOW, escape_unprintable, time_ago};
use crate::table;

/// The thing that a person comes back to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecapOf {
    /// A chat that is opened.
    Chat,
    /// A context that is entered, whose title the person was just told.
    Context,
}

impl RecapOf {
    /// Returns the number of exchanges that are shown.
    fn exchanges(self) -> usize {
        match self {
            Self::Chat => 2,
            Self::Context => 1,
        }
    }
}

impl ChatScreen<'_> {
    /// Returns the lines about the last exchanges in the active context. A question that is answered next is not
    /// among them: it is shown with its answer.
    pub(super) async fn recap(&self, of: RecapOf) -> Result<Vec<String>, Failure> {
        let (session, chat) = (self.session, &self.session.chat);
        let Some(contexts) = self.agent.contexts(chat).await? else { return Ok(Vec::new()) };
        let Some(chat) = session.store()?.open(chat).await? else { return Ok(Vec::new()) };
        let Some(view) = chat.log().view().await? else { return Ok(Vec::new()) };
        let mut messages: Vec<&UiMessage> = view.messages().collect();
        if ends_with_question(Some(&view)) {
            let is_question = |message: &&UiMessage| is_of_person(message);
            messages.truncate(messages.iter().rposition(is_question).unwrap_or_default());
        }
        let recap = Recap::new(&messages, of.exchanges(), session.project.settings());
        Ok(recap.lines(of, contexts.active.title(), session.now(), table::columns()))
    }
}

/// The last exchanges of a context.
pub(super) struct Recap {
    /// The time of the last message.
    left: Option<Timestamp>,
    lines: Vec<String>,
}

impl Recap {
    /// Makes the recap of the last exchanges.
    pub(super) fn new(messages: &[&UiMessage], exchanges: usize, settings: &Settings) -> Self {
        let said: Vec<&UiMessage> =
            messages.iter().copied().filter(|message| is_said(message)).collect();
        let questions = said.iter().enumerate().filter(|(_, message)| is_of_person(message));
        let first = questions.map(|(at, _)| at).rev().nth(exchanges - 1).unwrap_or_default();
        let line = |message: &&UiMessage| match is_of_person(message) {
            true => Some(format!("you: {}", question_line(message))),
            false => answer_line(message, settings).map(|line| format!("  {line}")),
        };
        let left = said.iter().rev().find_map(|message| Metadata::of(message).ts());
        Self { left, lines: said[first..].iter().filter_map(line).collect() }
    }

    /// Returns the lines, below one with the title; none if nothing was said yet. A context in which something was said
    /// a moment ago was not left for long, and its lines are enough. A title that is too long for a line of so many
    /// columns is cut, so that the time behind it is seen.
    pub(super) fn lines(
        self,
        of: RecapOf,
        title: &str,
        now: Timestamp,
        columns: usize,
    ) -> Vec<String> {
        if self.lines.is_empty() {
            return Vec::new();
        }
        let ago = self.left.map_or("at an unknown time".to_owned(), |left| time_ago(now, left));
        let heading = (of == RecapOf::Chat || ago != JUST_NOW).then(|| {
            let title = escape_unprintable(without_branch_note(title));
            let left = format!("”, left {ago}:");
            // The first character of the line is the quote, and a line of a context is indented by two.
            let title = table::fit(&title, columns.saturating_sub(3 + table::width(&left)));
            format!("“{title}{left}")
        });
        heading.into_iter().chain(self.lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, role: &str, parts: &str, metadata: &str) -> UiMessage {
        let json = format!(
            r#"{{"id":"{id}","role":"{role}","parts":[{parts}],"metadata":{{"ts":1000{metadata}}}}}"#
        );
        UiMessage::parse(&json).unwrap()
    }

    fn text(text: &str) -> String {
        format!(r#"{{"type":"text","text":"{text}"}}"#)
    }

    fn recap(messages: &[UiMessage], exchanges: usize) -> Vec<String> {
        let messages: Vec<&UiMessage> = messages.iter().collect();
        let now = Timestamp::from_millis(1_000 + 2 * 3_600_000);
        let recap = Recap::new(&messages, exchanges, &Settings::default());
        recap.lines(RecapOf::Chat, "Counting (asked again)", now, 60)
    }

    #[test]
    fn a_context_that_was_left_a_moment_ago_has_no_heading() {
        let (question, settings) = (message("u1", "user", &text("one"), ""), Settings::default());
        let lines = |of, millis| {
            let recap = Recap::new(&[&question], 1, &settings);
            recap.lines(of, "Counting", Timestamp::from_millis(millis), 30)
        };
        assert_eq!(lines(RecapOf::Chat, 2_000), ["“Counting”, left just now:", "you: one"]);
        assert_eq!(lines(RecapOf::Context, 2_000), ["you: one"]);
        assert_eq!(lines(RecapOf::Context, 61_000)[0], "“Count…”, left 1 minute ago:");
    }

    #[test]
    fn a_recap_has_the_last_exchanges_with_their_first_lines() {
        let talk = [
            message("u1", "user", &text("one"), ""),
            message("a1", "assistant", &text("1"), ""),
            message("u2", "user", &text(r"two\nand more"), ""),
            message("a2", "assistant", &text(r"\n ## 2\n22"), ""),
            message("r", "assistant", &text("old"), r#","kind":"reference""#),
            message("u3", "user", &text("three"), ""),
        ];
        let expected = ["“Counting”, left 2 hours ago:", "you: two", "  2", "you: three"];
        assert_eq!(recap(&talk, 2), expected);
        assert_eq!(recap(&talk, 1), ["“Counting”, left 2 hours ago:", "you: three"]);
        assert_eq!(recap(&talk, 9).len(), 6);
        assert!(recap(&talk[4..5], 2).is_empty());
    }

    #[test]
    fn failures_and_files_are_in_a_recap() {
        let file = r#"{"type":"file","mediaType":"image/png","url":"data:,x","filename":"a.png"}"#;
        let notes = text(r#"<file name=\"notes.txt\">\nfacts\n</file>"#);
        let talk = [
            message("u1", "user", &format!("{},{notes},{file}", text("look")), ""),
            message("a1", "assistant", &text("No net."), r#","error":"No net.""#),
            message("u2", "user", &notes, ""),
            message("a2", "assistant", &text("(stopped)"), r#","interrupted":true"#),
        ];
        assert_eq!(
            recap(&talk, 2)[1..],
            ["you: look [notes.txt] [a.png]", "  ship: No net.", "you: [notes.txt]", "  (stopped)"]
        );
    }
}
