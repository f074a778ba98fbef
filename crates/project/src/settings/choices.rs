//! Settings that are one word of a few.

use std::fmt;
use std::ops::RangeInclusive;

use ship_message::json::Json;
use ship_store::Durability;

use super::value::SettingValue;

/// When the history is summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenBudget {
    /// As the model's window allows.
    Auto,
    /// Above this many tokens of one request.
    Tokens(u64),
}

/// Makes an enum of words.
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

/// Makes a value of an enum whose cases are words.
macro_rules! words {
    ($type:ty, $($case:ident $word:literal,)+) => {
        impl SettingValue for $type {
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
                one_of(&[$($word),+])
            }
        }
    };
}

/// `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

choice! {
    /// Who answers.
    ProviderName {
        /// Anything that speaks OpenAI's chat completions.
        OpenAi "openai",
        /// Anthropic's messages.
        Anthropic "anthropic",
        /// The built-in stand-in, which needs no key and no network.
        Offline "offline",
    }
}

choice! {
    /// What a message does that arrives while its chat runs.
    QueueMode {
        /// Joins the run at the next step.
        Steer "steer",
        /// Waits for the next run.
        Followup "followup",
        /// Waits until no more come, then joins together with them.
        Collect "collect",
        /// Joins at once, and the step in progress is given up.
        Interrupt "interrupt",
    }
}

choice! {
    /// What to do with a message of which nobody knows whether it was delivered.
    OnUncertain {
        /// Send it again: perhaps twice, never lost.
        Resend "resend",
        /// Keep it until a person decides.
        Hold "hold",
    }
}

choice! {
    /// How messages come from Telegram.
    TelegramMode {
        /// We ask for them.
        Poll "poll",
        /// Telegram sends them.
        Webhook "webhook",
    }
}

choice! {
    /// Which messages of a group the agent answers.
    GroupAccess {
        /// Those that speak to it.
        Mention "mention",
        /// All.
        All "all",
        /// None.
        Off "off",
    }
}

words!(Durability, Sync "sync", Flush "flush",);
