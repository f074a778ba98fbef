//! Settings with a fixed choice of words.

use std::fmt;
use std::ops::RangeInclusive;

use ship_message::json::Json;
use ship_record::Durability;

use super::value::SettingValue;

/// The size of a request above which the history is summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenBudget {
    /// The budget follows from the model's window.
    Auto,
    /// The budget is this number of tokens.
    Tokens(u64),
}

/// Defines an enum of words.
macro_rules! choice {
    ($(#[doc = $about:literal])+ $type:ident { $($(#[doc = $case_about:literal])+ $case:ident $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $type {
            $($(#[doc = $case_about])+ $case,)+
        }

        impl $type {
            /// Returns the word that stands for it in `ship.json`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$case => $word,)+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        words!($type, $($case $word,)+);
    };
}

/// Implements `SettingValue` for an enum of words.
macro_rules! words {
    ($type:ty, $($case:ident $word:literal,)+) => {
        impl SettingValue for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn read(json: &Json, _: &RangeInclusive<u64>) -> Option<Self> {
                match json.as_str()? {
                    $($word => Some(Self::$case),)+
                    _ => None,
                }
            }

            fn show(&self) -> Json {
                match self { $(Self::$case => $word.into(),)+ }
            }

            fn expected(_: &RangeInclusive<u64>) -> String {
                join_words(Self::WORDS)
            }
        }
    };
}

/// Joins words as in `"a", "b" or "c"`.
fn join_words(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

choice! {
    /// The provider that answers.
    ProviderName {
        /// Any server with OpenAI's chat completions.
        OpenAi "openai",
        /// Any server with Anthropic's messages.
        Anthropic "anthropic",
        /// The built-in substitute, which needs no key and no network.
        Offline "offline",
    }
}

choice! {
    /// The effect of a message that arrives while its chat runs.
    QueueMode {
        /// The message joins the run at the next step.
        Steer "steer",
        /// The message waits for the next run.
        Followup "followup",
        /// The message waits until no more arrive, then joins together with them.
        Collect "collect",
        /// The message joins at once, and the current step is abandoned.
        Interrupt "interrupt",
    }
}

choice! {
    /// The place of the request id and the time in a request.
    RequestFacts {
        /// They stand beside the person's text.
        Message "message",
        /// They stand in the first system block.
        System "system",
        /// They are not sent.
        Off "off",
    }
}

choice! {
    /// The effect of a message that arrives while a tool call waits for a person or the client.
    OnUndecided {
        /// The call is not made, and the message is answered.
        GoOn "goOn",
        /// The message waits until the call is decided.
        Wait "wait",
    }
}

choice! {
    /// The treatment of a message with an unknown delivery.
    OnUncertain {
        /// The message is sent again: perhaps twice, never lost.
        Resend "resend",
        /// The message is kept until a person decides.
        Hold "hold",
    }
}

choice! {
    /// The way in which messages arrive from Telegram.
    TelegramMode {
        /// We ask Telegram for messages.
        Poll "poll",
        /// Telegram sends messages to us.
        Webhook "webhook",
    }
}

choice! {
    /// The messages of a group that the agent answers.
    GroupAccess {
        /// The agent answers messages that mention it.
        Mention "mention",
        /// The agent answers all messages.
        All "all",
        /// The agent answers no messages.
        Off "off",
    }
}

words!(Durability, Sync "sync", Flush "flush",);
