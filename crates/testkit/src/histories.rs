//! Histories of every kind: what a log can hold after years of forks, compactions, crashes and other providers.
//!
//! A history is made by doing what happens to chats, one thing after another: people speak, runs answer or
//! break off, a compaction puts a summary in place of the older part, a fork cuts the end off, the provider
//! changes. What was done is told as [`Feature`]s, so that a test can say how much of what it has seen.

mod parts;

use std::collections::BTreeSet;

use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};

use crate::random::Random;

/// Something that a history holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Feature {
    InterruptedRun,
    BrokenText,
    Fork,
    ForkInsideRun,
    Compaction,
    ParallelCalls,
    UnansweredCall,
    EmptyPart,
    HugePart,
    Reference,
    ProviderSwitch,
    OwnReasoning,
    ForeignReasoning,
    UnsignedReasoning,
    TextAfterCall,
    RepeatedCallId,
    OddCallId,
    OddToolName,
    OddInput,
    RunByProvider,
    Approval,
    Image,
    BadImage,
    OtherFile,
    UnknownPart,
    DataPart,
    SystemMessage,
    TwoPeopleInARow,
    ForeignMarks,
    OddText,
    BrokenMessage,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 31] = [
        Self::InterruptedRun,
        Self::BrokenText,
        Self::Fork,
        Self::ForkInsideRun,
        Self::Compaction,
        Self::ParallelCalls,
        Self::UnansweredCall,
        Self::EmptyPart,
        Self::HugePart,
        Self::Reference,
        Self::ProviderSwitch,
        Self::OwnReasoning,
        Self::ForeignReasoning,
        Self::UnsignedReasoning,
        Self::TextAfterCall,
        Self::RepeatedCallId,
        Self::OddCallId,
        Self::OddToolName,
        Self::OddInput,
        Self::RunByProvider,
        Self::Approval,
        Self::Image,
        Self::BadImage,
        Self::OtherFile,
        Self::UnknownPart,
        Self::DataPart,
        Self::SystemMessage,
        Self::TwoPeopleInARow,
        Self::ForeignMarks,
        Self::OddText,
        Self::BrokenMessage,
    ];
}

/// Who made what a history holds; the last one is asked next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// `openai` or `anthropic`.
    pub provider: &'static str,
    /// The model that made it.
    pub model: &'static str,
}

/// The models that a history may have been made with.
const MAKERS: [Maker; 4] = [
    Maker { provider: "anthropic", model: "claude-test" },
    Maker { provider: "anthropic", model: "claude-other" },
    Maker { provider: "openai", model: "test-model" },
    Maker { provider: "openai", model: "gemini-test" },
];

/// A generated history of messages.
#[derive(Clone, Debug)]
pub struct History {
    /// What was said.
    pub messages: Vec<UiMessage>,
    /// Who is asked next.
    pub maker: Maker,
    /// What it holds.
    pub features: BTreeSet<Feature>,
}

impl History {
    /// Makes the history of a seed. `sign` gives the signature of a thought, as a provider would.
    pub fn of_seed(seed: u64, sign: &dyn Fn(&str) -> String) -> Self {
        let mut random = Random::new(seed);
        let maker = random.one(&MAKERS).clone();
        let turns = 1 + random.below(8);
        let mut making = Making {
            random,
            sign,
            history: Self { messages: Vec::new(), maker, features: BTreeSet::new() },
            count: 0,
        };
        for _ in 0..turns {
            making.something();
        }
        making.history
    }
}

struct Making<'s> {
    random: Random,
    sign: &'s dyn Fn(&str) -> String,
    history: History,
    count: usize,
}

impl Making<'_> {
    fn has(&mut self, feature: Feature) {
        self.history.features.insert(feature);
    }

    fn id(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}_{}", self.count)
    }

    /// Does one thing that happens to chats.
    fn something(&mut self) {
        match self.random.below(20) {
            0 => self.compaction(),
            1 => self.fork(),
            2 => self.provider_switch(),
            3 => self.reference(),
            4 => self.odd_message(),
            _ => self.turn(),
        }
    }

    /// Somebody says something, and mostly it is answered.
    fn turn(&mut self) {
        let people = if self.random.percent(10) { 2 } else { 1 };
        if people == 2 {
            self.has(Feature::TwoPeopleInARow);
        }
        for _ in 0..people {
            let parts = self.persons_parts();
            let id = self.id("u");
            self.history.messages.push(UiMessage::new(id, Role::User, parts));
        }
        if self.random.percent(92) {
            self.run();
        }
    }

    /// An answer of some steps; some break off.
    fn run(&mut self) {
        let mut parts = Vec::new();
        let steps = 1 + self.random.below(4);
        for step in 0..steps {
            if self.random.percent(95) {
                parts.push(UiPart::from_json(object([("type", "step-start".into())])));
            }
            self.step(&mut parts, step + 1 == steps);
        }
        if self.random.percent(15) && !parts.is_empty() {
            self.has(Feature::InterruptedRun);
            parts.truncate(self.random.below(parts.len() + 1));
        }
        let id = self.id("a");
        self.history.messages.push(UiMessage::new(id, Role::Assistant, parts));
    }

    /// What is older becomes a summary; the cut is at any message.
    fn compaction(&mut self) {
        self.has(Feature::Compaction);
        let cut = self.random.below(self.history.messages.len() + 1);
        self.history.messages.drain(..cut);
        let mut summary = self.assistant("## Facts\n\n- nothing");
        summary.set_metadata(object([("kind", "summary".into())]));
        self.history.messages.insert(0, summary);
    }

    /// The end is cut off, at a message or inside one.
    fn fork(&mut self) {
        self.has(Feature::Fork);
        let keep = self.random.below(self.history.messages.len() + 1);
        self.history.messages.truncate(keep);
        if let Some(last) = self.history.messages.last_mut()
            && self.random.percent(50)
        {
            let parts = last.parts().len();
            let keep = self.random.below(parts + 1);
            last.parts_mut().truncate(keep);
            self.has(Feature::ForkInsideRun);
        }
    }

    fn provider_switch(&mut self) {
        self.has(Feature::ProviderSwitch);
        self.history.maker = self.random.one(&MAKERS).clone();
    }

    /// A reference stands directly before the message it was fetched for.
    fn reference(&mut self) {
        self.has(Feature::Reference);
        let reference = self.assistant(
            "以下是历史归档 context（仅供参考，可能与当前问题不一致）：\n- contextId: c_1",
        );
        let at = self.history.messages.len().saturating_sub(self.random.below(2));
        self.history.messages.insert(at, reference);
    }

    /// Messages that no run of ours writes; an import may.
    fn odd_message(&mut self) {
        let id = self.id("x");
        let message = match self.random.below(4) {
            0 => {
                self.has(Feature::SystemMessage);
                let words = self.words();
                UiMessage::new(id, Role::System, vec![UiPart::text(words)])
            }
            kind => {
                self.has(Feature::BrokenMessage);
                let text = match kind {
                    1 => format!(r#"{{"id":"{id}","role":"user"}}"#),
                    2 => format!(r#"{{"id":"{id}","role":"developer","parts":[]}}"#),
                    _ => format!(r#"{{"id":"{id}","role":"assistant","parts":[null,7,{{}}]}}"#),
                };
                let json = Json::parse(&text).unwrap();
                let Ok(message) = UiMessage::from_json(json) else { return };
                message
            }
        };
        self.history.messages.push(message);
    }

    fn assistant(&mut self, text: &str) -> UiMessage {
        let id = self.id("r");
        UiMessage::new(id, Role::Assistant, vec![UiPart::text(text)])
    }
}

fn object<const N: usize>(fields: [(&'static str, Json); N]) -> Json {
    Json::Object(Object::from(fields))
}
