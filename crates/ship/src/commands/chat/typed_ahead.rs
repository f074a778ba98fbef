//! Collects what a person types before it is asked for.

use std::collections::VecDeque;

use super::slash::is_message;
use crate::progress_line::TypedBeside;

/// The characters of a text that a terminal may show beside the activity.
const SEEN_CHARS: usize = 1000;

/// What a person has typed ahead: messages that wait to be sent, and a draft.
#[derive(Debug, Default)]
pub(crate) struct TypedAhead {
    /// The messages that wait to be sent.
    queue: VecDeque<String>,
    /// The drafts of the next prompts, before the last one.
    drafts: VecDeque<String>,
    draft: String,
    /// Whether the draft was a message before, or comes from an ended chat, so that it is more than what is being typed.
    is_draft_back: bool,
    /// The bytes of a key that is not complete yet.
    incomplete: Vec<u8>,
    is_in_paste: bool,
    /// Whether the person has pressed Ctrl-D behind all that.
    is_ended: bool,
}

/// The next thing that was typed ahead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedLine {
    Message(String),
    /// The person wants to leave.
    End,
    /// A text that is not finished, or nothing. The prompt goes on with it.
    Draft(String),
}

/// A key, as far as it matters without a prompt. Keys that move the cursor have nothing to move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Char(char),
    Enter,
    AltEnter,
    Backspace,
    EraseWord,
    EraseLine,
    PasteStart,
    PasteEnd,
    EndOfInput,
    Other,
}

impl TypedAhead {
    pub(crate) fn with_draft(draft: String) -> Self {
        Self { draft, ..Self::default() }
    }

    /// Takes the keys of one burst. Lines that come in one burst were pasted in a terminal that does not mark pastes,
    /// so they are one message.
    pub(crate) fn push(&mut self, burst: &[u8]) {
        let mut bytes = std::mem::take(&mut self.incomplete);
        bytes.extend_from_slice(burst);
        let mut rest = &bytes[..];
        while let Some((key, behind)) = split_key(rest) {
            let goes_on = split_key(behind).is_some_and(|(next, _)| next.is_text());
            self.press(key, goes_on);
            rest = behind;
        }
        self.incomplete = rest.to_vec();
    }

    fn press(&mut self, key: Key, goes_on: bool) {
        match key {
            Key::Char(c) => self.draft.push(c),
            Key::AltEnter => self.draft.push('\n'),
            Key::Enter if self.is_in_paste || goes_on => self.draft.push('\n'),
            Key::Enter => self.finish_message(),
            Key::Backspace => drop(self.draft.pop()),
            Key::EraseWord => {
                let kept = self.draft.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.draft.truncate(kept);
            }
            Key::EraseLine => self.draft.truncate(self.draft.rfind('\n').map_or(0, |at| at + 1)),
            Key::PasteStart => self.is_in_paste = true,
            Key::PasteEnd => self.is_in_paste = false,
            Key::EndOfInput => self.is_ended |= self.draft.is_empty(),
            Key::Other => {}
        }
    }

    fn finish_message(&mut self) {
        if continues(&self.draft) {
            self.draft.pop();
            self.draft.push('\n');
        } else if self.draft.trim().is_empty() {
            self.draft.clear();
            self.is_draft_back = false;
        } else {
            self.is_draft_back = false;
            self.queue.push_back(std::mem::take(&mut self.draft));
        }
    }

    /// Takes the next line. The draft comes when all messages are taken.
    pub(crate) fn take_line(&mut self) -> TypedLine {
        match self.queue.pop_front() {
            Some(message) => TypedLine::Message(message),
            None if std::mem::take(&mut self.is_ended) => TypedLine::End,
            None => match self.drafts.pop_front() {
                Some(draft) => TypedLine::Draft(draft),
                None => TypedLine::Draft(std::mem::take(self).draft),
            },
        }
    }

    /// Returns what is shown beside the activity, as far as it can be seen there.
    pub(crate) fn beside(&self) -> TypedBeside {
        let last = self.queue.back().map_or("", |last| last);
        let last = last.chars().take(SEEN_CHARS).collect();
        let draft: Vec<char> = self.draft.chars().rev().take(SEEN_CHARS).collect();
        TypedBeside { queued: self.queue.len(), last, draft: draft.iter().rev().collect() }
    }

    /// Returns the texts that wait for their prompts, without what is being typed.
    pub(crate) fn waiting(&self) -> Vec<String> {
        match self.is_draft_back {
            true => self.texts(),
            false => self.drafts.iter().chain(&self.queue).cloned().collect(),
        }
    }

    /// Returns everything that was typed.
    pub(crate) fn texts(&self) -> Vec<String> {
        let draft = Some(&self.draft).filter(|draft| !draft.is_empty());
        self.drafts.iter().chain(&self.queue).chain(draft).cloned().collect()
    }

    /// Makes drafts of the texts of an earlier chat.
    pub(crate) fn bring_back(&mut self, texts: Vec<String>) {
        self.queue.extend(texts);
        self.take_back();
    }

    /// Adds what was typed later.
    pub(crate) fn append(&mut self, later: Self) {
        self.queue.extend(later.queue);
        self.drafts.extend(later.drafts);
        self.draft.push_str(&later.draft);
        self.is_draft_back |= later.is_draft_back;
        self.incomplete = later.incomplete;
        self.is_in_paste = later.is_in_paste;
        self.is_ended |= later.is_ended;
    }

    /// Makes drafts of everything, for the person to send or delete. Messages become one draft; a command stays by
    /// itself, because within a message it would be text.
    pub(crate) fn take_back(&mut self) {
        let mut drafts: Vec<String> = self.drafts.drain(..).collect();
        let last = Some(std::mem::take(&mut self.draft)).filter(|draft| !draft.is_empty());
        let mut is_joined = false;
        for text in self.queue.drain(..).chain(last) {
            let is_text = is_message(&text);
            match drafts.last_mut().filter(|_| is_joined && is_text) {
                Some(draft) => draft.extend(["\n", &text]),
                None => drafts.push(text),
            }
            is_joined = is_text;
        }
        let draft = drafts.pop().unwrap_or_default();
        let is_draft_back = !draft.is_empty();
        *self = Self { drafts: drafts.into(), is_draft_back, ..Self::with_draft(draft) };
    }

    /// Makes a text the draft of the next prompt. Messages behind it must not overtake it, so they become drafts too.
    pub(crate) fn put_draft_first(&mut self, text: &str) {
        self.take_back();
        self.drafts.push_front(text.to_owned());
    }
}

impl Key {
    fn is_text(self) -> bool {
        matches!(self, Self::Char(_) | Self::Enter | Self::AltEnter | Self::PasteStart)
    }
}

/// Whether a text ends with a backslash that means the line end. Two of them mean themselves.
pub(crate) fn continues(text: &str) -> bool {
    let rest = text.trim_end_matches('\\');
    (text.len() - rest.len()) % 2 == 1
}

/// Splits off the first key. None if the bytes are not a complete one.
fn split_key(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let key = |key, length| Some((key, &bytes[length..]));
    match bytes {
        [] => None,
        [b'\r', b'\n', ..] => key(Key::Enter, 2),
        [b'\r' | b'\n', ..] => key(Key::Enter, 1),
        [0x08 | 0x7f, ..] => key(Key::Backspace, 1),
        [0x15, ..] => key(Key::EraseLine, 1),
        [0x17, ..] => key(Key::EraseWord, 1),
        [0x04, ..] => key(Key::EndOfInput, 1),
        [b'\t', ..] => key(Key::Char('\t'), 1),
        [0x1b, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            let meant = match &rest[..=end] {
                b"200~" => Key::PasteStart,
                b"201~" => Key::PasteEnd,
                _ => Key::Other,
            };
            key(meant, end + 3)
        }
        [0x1b, b'\r' | b'\n', ..] => key(Key::AltEnter, 2),
        [0x1b, b'O', _, ..] => key(Key::Other, 3),
        [0x1b, 0x20..=0x7e, ..] => key(Key::Other, 2),
        [..0x20, ..] => key(Key::Other, 1),
        _ => split_char(bytes),
    }
}

/// Splits off the first character. A byte that is not UTF-8 is passed over.
fn split_char(bytes: &[u8]) -> Option<(Key, &[u8])> {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => match (error.valid_up_to(), error.error_len()) {
            (0, None) => return None,
            (0, Some(length)) => return Some((Key::Other, &bytes[length..])),
            (length, _) => std::str::from_utf8(&start[..length]).unwrap_or_default(),
        },
    };
    let c = valid.chars().next()?;
    Some((Key::Char(c), &bytes[c.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types bursts, and returns the finished messages and the draft.
    fn typed(bursts: &[&str]) -> (Vec<String>, String) {
        let mut typed = TypedAhead::default();
        bursts.iter().for_each(|burst| typed.push(burst.as_bytes()));
        let mut messages = Vec::new();
        loop {
            match typed.take_line() {
                TypedLine::Message(text) => messages.push(text),
                TypedLine::Draft(draft) => return (messages, draft),
                TypedLine::End => panic!("nobody leaves"),
            }
        }
    }

    #[test]
    fn a_line_is_a_message_and_the_rest_is_a_draft() {
        for (bursts, messages, draft) in [
            (&["one", "\r", "tw"][..], &["one"][..], "tw"),
            (&["one\r", "two\r", "three"], &["one", "two"], "three"),
            (&["\r", " \r"], &[], ""),
            (&["one\\\r", "two\r"], &["one\ntwo"], ""),
            (&["C:\\\\\r"], &["C:\\\\"], ""),
            (&["one\u{1b}\r", "two\r"], &["one\ntwo"], ""),
        ] {
            let expected = messages.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            assert_eq!(typed(bursts), (expected, draft.to_owned()), "{bursts:?}");
        }
    }

    #[test]
    fn the_lines_of_a_paste_are_one_message_with_and_without_marks() {
        for (bursts, messages, draft) in [
            (&["a\rb\r\rc\r"][..], &["a\nb\n\nc"][..], ""),
            (&["a\r\nb\r\nc"], &[], "a\nb\nc"),
            (&["\u{1b}[200~a\rb\r", "c\u{1b}[201~"], &[], "a\nb\nc"),
            (&["\u{1b}[200~a\nb\n\u{1b}[201~", "\r"], &["a\nb\n"], ""),
            (&["\u{1b}[20", "0~a\r", "\u{1b}[201~"], &[], "a\n"),
        ] {
            let expected = messages.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
            assert_eq!(typed(bursts), (expected, draft.to_owned()), "{bursts:?}");
        }
    }

    #[test]
    fn keys_erase_and_others_leave_no_trace_in_the_text() {
        for (bursts, draft) in [
            (&["haf\u{7f}lf"][..], "half"),
            (&["走", "る\u{7f}"], "走"),
            (&["one two \u{17}"], "one "),
            (&["one\u{15}two"], "two"),
            (&["a\u{1b}[A\u{1b}OB\u{1b}[1;5Cb\u{1}\u{1b}f"], "ab"),
            (&["\u{7f}\u{17}\u{15}"], ""),
        ] {
            assert_eq!(typed(bursts), (Vec::new(), draft.to_owned()), "{bursts:?}");
        }
        let mut halves = TypedAhead::default();
        halves.push(&"é".as_bytes()[..1]);
        halves.push(&"é".as_bytes()[1..]);
        halves.push(b"\xff!");
        assert_eq!(halves.texts(), ["é!"]);
    }

    #[test]
    fn ctrl_d_ends_after_the_messages_and_what_is_taken_back_is_a_draft() {
        let mut typed = TypedAhead::default();
        typed.push(b"one\r\x04");
        assert_eq!(typed.take_line(), TypedLine::Message("one".to_owned()));
        assert_eq!(typed.take_line(), TypedLine::End);
        assert_eq!(typed.take_line(), TypedLine::Draft(String::new()));

        ["one\r", "two\r", "\u{4}", "half"].iter().for_each(|burst| typed.push(burst.as_bytes()));
        typed.take_back();
        assert_eq!(typed.take_line(), TypedLine::Draft("one\ntwo\nhalf".to_owned()));
    }

    #[test]
    fn a_command_that_is_taken_back_stays_a_command() {
        let mut typed = TypedAhead::default();
        let lines = ["one\r", "two\r", "/model\r", "/context list\r", "three\r", "half"];
        lines.iter().for_each(|burst| typed.push(burst.as_bytes()));
        typed.take_back();
        typed.take_back();
        for draft in ["one\ntwo", "/model", "/context list", "three\nhalf", ""] {
            assert_eq!(typed.take_line(), TypedLine::Draft(draft.to_owned()));
        }
    }

    #[test]
    fn a_text_that_comes_back_is_not_overtaken() {
        let mut typed = TypedAhead::default();
        ["two\r", "hal"].iter().for_each(|burst| typed.push(burst.as_bytes()));
        typed.put_draft_first("one");
        for draft in ["one", "two\nhal", ""] {
            assert_eq!(typed.take_line(), TypedLine::Draft(draft.to_owned()));
        }
    }

    #[test]
    fn messages_that_wait_are_counted_beside_the_activity_and_the_last_one_is_named() {
        let mut typed = TypedAhead::default();
        assert_eq!(typed.beside(), TypedBeside::default());
        ["one\r", "two\r", "hal"].iter().for_each(|burst| typed.push(burst.as_bytes()));
        let (last, draft) = ("two".to_owned(), "hal".to_owned());
        assert_eq!(typed.beside(), TypedBeside { queued: 2, last, draft });
        assert_eq!((typed.waiting().len(), typed.texts().len()), (2, 3));
    }

    #[test]
    fn what_was_typed_in_an_earlier_chat_comes_back_as_drafts() {
        let mut typed = TypedAhead::default();
        typed.bring_back(["one", "two", "/model"].map(str::to_owned).into());
        assert_eq!(typed.waiting(), ["one\ntwo", "/model"], "they are more than a draft");
        for draft in ["one\ntwo", "/model", ""] {
            assert_eq!(typed.take_line(), TypedLine::Draft(draft.to_owned()));
        }
    }
}
