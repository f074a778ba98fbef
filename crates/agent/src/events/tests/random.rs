//! Readers of random answers: they join at any moment, and read at any pace.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use ship_message::json::{Json, Object};
use ship_message::{
    Assembler, Chunk, FinishReason, PartFields, Role, TextChunk, ToolChunk, ToolState, UiMessage,
    UiPart,
};

use super::{ended, start};
use crate::events::RunEvent;
use crate::events::chat_events::{ChatEvents, EventLimits, ReaderId};
use crate::events::join::is_of_answer;
use crate::memory_budget::BudgetShare;
use crate::run_notice::notice;

const SMALL: EventLimits = EventLimits { unjoined: 6, kept_bytes: 4_000 };

/// A program that assembles the messages that it hears of.
#[derive(Default)]
struct Hearer {
    messages: BTreeMap<String, Assembler>,
    current: String,
    /// The messages that began since it joined.
    begun: Vec<String>,
    has_missed: bool,
}

impl Hearer {
    fn hear(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Chunk(Chunk::Start { message_id, .. }) => {
                self.current = message_id.clone().unwrap();
                let id = &self.current;
                self.messages.entry(id.clone()).or_insert_with(|| Assembler::new(id, None));
            }
            RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk) if is_of_answer(event) => {
                self.messages.get_mut(&self.current).unwrap().push(chunk.clone()).unwrap();
            }
            // The messages are in the store. One that is being written comes again.
            RunEvent::Missed => *self = Self { has_missed: true, ..Self::default() },
            _ => {}
        }
    }

    fn messages(&mut self) -> BTreeMap<String, UiMessage> {
        let messages = self.messages.iter_mut();
        messages.map(|(id, it)| (id.clone(), it.message().clone())).collect()
    }
}

/// Something that happens in a chat.
#[derive(Clone, Debug)]
enum Deed {
    /// The answer grows by a chunk, unless it does not fit.
    Chunk(Chunk),
    /// The answer continues in another message, which begins with the first parts of this one.
    NextMessage(usize),
    /// The run parks or ends; a later one continues its message or begins another.
    End {
        is_parked: bool,
    },
    /// The run breaks off.
    BreakOff,
    /// Something is told that changes no message.
    Tell(&'static str),
    Join,
    Leave(usize),
    Read(usize, usize),
}

fn tool(id: &str) -> ToolChunk {
    ToolChunk { call_id: id.to_owned(), ..ToolChunk::default() }
}

fn random_chunk() -> impl Strategy<Value = Chunk> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let words = prop::sample::select(vec!["", "Aye. ", "{\"wind\":", "\"west\"", "}"]);
    let value = prop::sample::select(vec![1u64, 2, 3]).prop_map(Json::from);
    (0..19, id, words, value, any::<Option<bool>>()).prop_map(|(kind, id, words, value, flag)| {
        let metadata =
            flag.map(|_| Object::from([("p", Object::from([("n", value.clone())]))]).into());
        let text = TextChunk { id: id.to_owned(), provider_metadata: metadata.clone() };
        let (tool_name, preliminary) = ("look".to_owned(), flag);
        let call_id = id.to_owned();
        match kind {
            0 => Chunk::StartStep,
            1 => Chunk::FinishStep,
            2 => Chunk::TextStart(text),
            3..=6 => Chunk::TextDelta(text, words.into()),
            7 => Chunk::TextEnd(text),
            8 => Chunk::ReasoningStart(text),
            9 | 10 => Chunk::ReasoningDelta(text, words.into()),
            11 => Chunk::ReasoningEnd(text),
            12 => Chunk::ToolInputStart { tool: tool(id), tool_name, input_encoding: None },
            13 | 14 => Chunk::ToolInputDelta { call_id, delta: words.into() },
            15 => Chunk::ToolInputAvailable { tool: tool(id), tool_name, input: value },
            16 => {
                let tool = ToolChunk { provider_metadata: metadata, ..tool(id) };
                Chunk::ToolOutputAvailable { tool, output: value, preliminary }
            }
            17 => Chunk::ToolOutputError { tool: tool(id), error_text: words.to_owned() },
            _ => Chunk::Data(Object::from([
                ("type", Json::from("data-sail")),
                ("id", id.into()),
                ("data", value),
            ])),
        }
    })
}

/// Whether a run would send the chunk: each call has one input, and an output behind it.
fn fits(chunk: &Chunk, message: &UiMessage) -> bool {
    let parts = message.parts();
    let step = parts.iter().rposition(|part| matches!(part, UiPart::StepStart(_))).unwrap_or(0);
    let find = |id: &str| {
        parts.iter().enumerate().find_map(|(at, part)| match part {
            UiPart::Tool(call) if call.call_id() == id => Some((at >= step, call)),
            _ => None,
        })
    };
    let state = |id: &str| find(id).map(|(is_in_step, call)| (is_in_step, call.state()));
    match chunk {
        Chunk::ToolInputStart { tool, .. } => find(&tool.call_id).is_none(),
        Chunk::ToolInputDelta { call_id: id, .. }
        | Chunk::ToolInputAvailable { tool: ToolChunk { call_id: id, .. }, .. } => {
            state(id) == Some((true, ToolState::InputStreaming))
        }
        Chunk::ToolOutputAvailable { tool, .. } | Chunk::ToolOutputError { tool, .. } => {
            find(&tool.call_id).is_some_and(|(_, call)| match call.state() {
                ToolState::InputAvailable => true,
                _ => call.field("preliminary").and_then(Json::as_bool) == Some(true),
            })
        }
        _ => true,
    }
}

fn random_deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        30 => random_chunk().prop_map(Deed::Chunk),
        1 => (0usize..4).prop_map(Deed::NextMessage),
        1 => any::<bool>().prop_map(|is_parked| Deed::End { is_parked }),
        1 => Just(Deed::BreakOff),
        2 => prop::sample::select(vec!["cut", "context"]).prop_map(Deed::Tell),
        2 => Just(Deed::Join),
        1 => (0usize..8).prop_map(Deed::Leave),
        12 => (0usize..8, 1usize..12).prop_map(|(who, count)| Deed::Read(who, count)),
    ]
}

/// A chat, the messages as its run writes them, and those that listen.
struct World {
    chat: ChatEvents,
    messages: BTreeMap<String, Assembler>,
    current: String,
    hearers: BTreeMap<ReaderId, Hearer>,
    count: u64,
}

impl World {
    fn new() -> Self {
        Self {
            chat: ChatEvents::new(SMALL, BudgetShare::default()),
            messages: BTreeMap::new(),
            current: String::new(),
            hearers: BTreeMap::new(),
            count: 0,
        }
    }

    fn message(&mut self) -> &mut Assembler {
        self.messages.get_mut(&self.current).unwrap()
    }

    fn next_id(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Begins an answer, or continues the one that was left.
    fn begin(&mut self) {
        if self.current.is_empty() {
            self.current = format!("m{}", self.next_id());
            let assembler = Assembler::new(&self.current, None);
            self.messages.insert(self.current.clone(), assembler);
        }
        let id = self.current.clone();
        // As from a journal, where open texts are forgotten.
        let message = self.messages.remove(&id).unwrap().into_message();
        self.messages.insert(id.clone(), Assembler::new(&id, Some(message)));
        let before = self.message().chunks();
        self.tell_begun();
        self.chat.begin(id.clone(), vec![RunEvent::Chunk(start(&id))], before);
    }

    fn do_deed(&mut self, deed: Deed) {
        match deed {
            Deed::Chunk(chunk) => self.add_chunk(chunk),
            Deed::NextMessage(count) if self.chat.has_answer() => self.go_on_elsewhere(count),
            Deed::End { is_parked } if self.chat.has_answer() => {
                let finish_reason = Some(FinishReason::Stop);
                let finish = Chunk::Finish { finish_reason, message_metadata: None };
                self.message().push(finish.clone()).unwrap();
                self.chat.push(RunEvent::Chunk(finish));
                self.chat.push(ended());
                if !is_parked {
                    self.current = String::new();
                }
            }
            Deed::BreakOff => self.chat.abandon(),
            Deed::Tell(kind) => self.chat.push(RunEvent::Chunk(notice(kind, "told"))),
            Deed::Join => self.join(),
            Deed::Leave(who) => {
                if let Some(id) = self.hearers.keys().nth(who).copied() {
                    self.hearers.remove(&id);
                    self.chat.leave(id);
                }
            }
            Deed::Read(who, count) => {
                if let Some(id) = self.hearers.keys().nth(who).copied() {
                    (0..count).for_each(|_| self.read(id));
                }
            }
            Deed::NextMessage(_) | Deed::End { .. } => {}
        }
    }

    fn add_chunk(&mut self, chunk: Chunk) {
        if !self.chat.has_answer() {
            self.begin();
        }
        if fits(&chunk, self.message().message()) && self.message().push(chunk.clone()).is_ok() {
            self.chat.push(RunEvent::Chunk(chunk));
        }
    }

    fn go_on_elsewhere(&mut self, count: usize) {
        let parts = self.message().message().parts().iter().take(count).cloned().collect();
        self.current = format!("m{}", self.next_id());
        let id = self.current.clone();
        let message = UiMessage::new(id.clone(), Role::Assistant, parts);
        self.messages.insert(id.clone(), Assembler::new(&id, Some(message)));
        let before = self.message().chunks();
        let mut events = vec![RunEvent::Chunk(start(&id))];
        events.extend(before[1..].iter().cloned().map(RunEvent::Repeated));
        self.tell_begun();
        self.chat.begin(id, events, before);
    }

    fn tell_begun(&mut self) {
        let id = &self.current;
        self.hearers.values_mut().for_each(|hearer| hearer.begun.push(id.clone()));
    }

    fn join(&mut self) {
        let id = self.next_id();
        let mut hearer = Hearer::default();
        if !self.chat.has_answer() {
            // It has read the chat, as a client that continues a parked answer has.
            for (id, message) in &mut self.messages {
                let message = message.message().clone();
                hearer.messages.insert(id.clone(), Assembler::new(id, Some(message)));
            }
        }
        self.chat.join(id);
        self.hearers.insert(id, hearer);
    }

    fn read(&mut self, id: ReaderId) {
        if let Some(event) = self.chat.read(id) {
            self.hearers.get_mut(&id).unwrap().hear(&event);
        }
    }

    /// Lets all read what is there, and compares.
    fn check(mut self) -> Result<(), TestCaseError> {
        let is_answering = self.chat.has_answer();
        let written: BTreeMap<String, UiMessage> =
            self.messages.iter_mut().map(|(id, it)| (id.clone(), it.message().clone())).collect();
        for (id, hearer) in &mut self.hearers {
            while let Some(event) = self.chat.read(*id) {
                hearer.hear(&event);
            }
            prop_assert!(!self.chat.has_unread(*id));
            for (name, heard) in hearer.messages() {
                prop_assert_eq!(&heard, &written[&name], "reader {}", id);
            }
            let has_heard = |id: &String| hearer.messages.contains_key(id);
            prop_assert!(hearer.has_missed || hearer.begun.iter().all(has_heard));
            prop_assert!(!is_answering || hearer.messages.contains_key(&self.current));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whoever_joins_at_any_moment_and_reads_at_any_pace_assembles_what_is_written(
        deeds in prop::collection::vec(random_deed(), 0..150),
    ) {
        let mut world = World::new();
        deeds.into_iter().for_each(|deed| world.do_deed(deed));
        world.check()?;
    }
}
