//! Leaves out what a model says again after its answer broke off.

/// The text of an answer, in which the model may begin anew after a break.
#[derive(Debug, Default)]
pub(crate) struct BrokenText {
    /// What was shown of the last text.
    shown: String,
    /// After a break: what came since, as long as it says the same again.
    repeated: Option<String>,
    /// Whether the person was told of the break, and has seen nothing new since.
    is_told: bool,
}

impl BrokenText {
    /// Begins a text. One that follows no break repeats nothing, and of one that broke off nothing is left to be shown.
    pub(crate) fn begin(&mut self) {
        match &mut self.repeated {
            Some(again) => again.clear(),
            None => self.shown.clear(),
        }
    }

    /// Takes the next words, and returns those to be shown.
    pub(crate) fn push(&mut self, words: &str) -> String {
        let new = match self.repeated.take() {
            None => words.to_owned(),
            Some(mut again) => {
                again.push_str(words);
                if self.shown.starts_with(&again) {
                    self.repeated = Some(again);
                    return String::new();
                }
                match again.strip_prefix(&self.shown) {
                    Some(rest) => rest.to_owned(),
                    // The model goes on, or says something else.
                    None => {
                        self.shown.clear();
                        again
                    }
                }
            }
        };
        self.is_told = false;
        self.shown.push_str(&new);
        new
    }

    /// Ends a text, and returns what is still to be shown: a whole answer is shown even if the one that broke off began
    /// in the same way.
    pub(crate) fn end(&mut self) -> String {
        self.repeated.take().filter(|again| *again != self.shown).unwrap_or_default()
    }

    /// Notes that the text broke off. Returns whether to tell the person.
    pub(crate) fn note_break(&mut self) -> bool {
        self.repeated = Some(String::new());
        !std::mem::replace(&mut self.is_told, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(text: &mut BrokenText, words: &[&str]) -> String {
        text.begin();
        words.iter().map(|words| text.push(words)).collect()
    }

    #[test]
    fn what_is_said_again_is_left_out_and_the_rest_is_shown() {
        let mut text = BrokenText::default();
        assert_eq!(push(&mut text, &["Here is ", "half"]), "Here is half");
        assert!(text.note_break());
        assert_eq!(push(&mut text, &["Here", " is "]), "");
        assert!(!text.note_break(), "nothing new was shown");
        assert_eq!(push(&mut text, &["Here"]), "");
        assert_eq!(push(&mut text, &["Here is half", " and more"]), " and more");
        assert!(text.note_break());
        assert_eq!(push(&mut text, &["He goes on."]), "He goes on.");
        assert_eq!(text.end(), "");
    }

    #[test]
    fn a_whole_answer_is_shown_and_a_later_one_may_say_the_same() {
        let mut text = BrokenText::default();
        push(&mut text, &["Here is half"]);
        text.note_break();
        assert_eq!(push(&mut text, &["Here"]), "");
        assert_eq!(text.end(), "Here");
        assert_eq!(push(&mut text, &["Here"]), "Here");
        text.note_break();
        assert_eq!((push(&mut text, &["Here"]), text.end()), Default::default());
    }
}
