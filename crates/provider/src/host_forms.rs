//! The forms that a host wants besides those of its API.
//!
//! Many hosts offer OpenAI's API and refuse something that OpenAI takes. A refusal mostly says what; the request is
//! then sent again in the other form, and the form is remembered.

use ship_message::names;

/// Something that a host wants to have written differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostForm {
    /// The answer is limited by `max_completion_tokens`.
    MaxCompletionTokens,
    /// A line of the assistant stands between the results of tools and the words of a person.
    AssistantAfterTool,
    /// `stream_options` is not sent.
    NoStreamOptions,
    /// No tools are sent. Earlier calls and their results are told as text.
    NoTools,
    /// The ids of calls have nine letters and digits.
    ShortCallIds,
}

names!(HostForm {
    MaxCompletionTokens = "maxCompletionTokens",
    AssistantAfterTool = "assistantAfterTool",
    NoStreamOptions = "noStreamOptions",
    NoTools = "noTools",
    ShortCallIds = "shortCallIds",
});

impl HostForm {
    /// All forms, in the order of their bits.
    pub const ALL: [Self; 5] = [
        Self::MaxCompletionTokens,
        Self::AssistantAfterTool,
        Self::NoStreamOptions,
        Self::NoTools,
        Self::ShortCallIds,
    ];
}

/// A set of forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostForms(u8);

impl HostForms {
    /// Whether a form is in the set.
    pub fn has(self, form: HostForm) -> bool {
        self.0 & 1 << form as u8 != 0
    }

    /// Returns the set with a form.
    #[must_use]
    pub fn with(self, form: HostForm) -> Self {
        Self(self.0 | 1 << form as u8)
    }

    /// Returns the set without a form.
    #[must_use]
    pub fn without(self, form: HostForm) -> Self {
        Self(self.0 & !(1 << form as u8))
    }

    /// Returns the forms that are in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the names of the forms, as they are stored.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        HostForm::ALL.into_iter().filter(move |form| self.has(*form)).map(HostForm::name)
    }

    /// Reads the names of forms. Unknown ones are left out.
    pub fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        names.filter_map(HostForm::named).fold(Self::default(), Self::with)
    }

    /// Returns the set as a number, for an atomic.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Makes a set of the result of [`Self::bits`].
    pub(crate) fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_written_and_read_by_the_names_of_its_forms() {
        let set = HostForms::default().with(HostForm::NoTools).with(HostForm::ShortCallIds);
        assert_eq!(set.names().collect::<Vec<_>>(), ["noTools", "shortCallIds"]);
        assert_eq!(HostForms::named(set.names().chain(["telepathy"])), set);
        assert_eq!(set.without(HostForm::NoTools).names().collect::<Vec<_>>(), ["shortCallIds"]);
        for form in HostForm::ALL {
            assert!(HostForms::default().with(form).has(form), "{form:?}");
        }
    }
}
