//! Whatever people and models do to the contexts of a chat, in whatever order, killed wherever: nothing is lost,
//! nothing is doubled, and an undo brings back what was there.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ship_agent::{ContextOperation, OperationOutcome, Outcome, Rules, Stop};
use ship_context::contexts::{RecallMode, is_reference, switch_of};
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage, UiPart};
use ship_store::{Chat, Derived, View};
use ship_testkit::sim::Fault;

use super::place::{Place, ScriptedStep, calls, says, words};
use crate::harness::chat;

/// Something that happens to a chat.
#[derive(Clone, Debug)]
enum Step {
    /// A person says something, and the model does this about it.
    Say(Deed),
    /// A person says something, and nobody looks at it yet.
    Queue,
    /// A person does this while nothing runs.
    Operate(Wish),
    /// A person does this while a run is at work.
    During(Wish),
    /// A person does this, takes it back and does it again.
    ThereAndBack(Wish),
    /// The process is killed so many calls to the disk later.
    Kill(usize, bool),
    /// Another process goes on.
    Restart,
}

/// What a model does about a message before it answers.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Answers,
    Acts,
    News,
    LoadsLast,
    Clears,
    Forks,
    Recalls,
    Marks,
}

/// What a person does; a number says which of those that there are.
#[derive(Clone, Copy, Debug)]
enum Wish {
    New,
    Clear,
    Load(usize),
    Recall(usize),
    Fork,
    ForkAt(usize),
    Rewind(usize),
    RewindToMark,
    Undo,
    Rename,
    Mark,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => Just(Deed::Answers),
        2 => Just(Deed::Acts),
        2 => Just(Deed::News),
        2 => Just(Deed::LoadsLast),
        1 => Just(Deed::Clears),
        1 => Just(Deed::Forks),
        1 => Just(Deed::Recalls),
        1 => Just(Deed::Marks),
    ]
}

/// A wish that leaves the context.
fn leaving() -> impl Strategy<Value = Wish> {
    prop_oneof![
        Just(Wish::New),
        Just(Wish::Clear),
        (0usize..4).prop_map(Wish::Load),
        Just(Wish::Fork),
        (0usize..12).prop_map(Wish::ForkAt),
        (0usize..12).prop_map(Wish::Rewind),
        Just(Wish::RewindToMark),
    ]
}

fn wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        5 => leaving(),
        2 => Just(Wish::Undo),
        1 => (0usize..4).prop_map(Wish::Recall),
        1 => Just(Wish::Rename),
        1 => Just(Wish::Mark),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => deed().prop_map(Step::Say),
        1 => Just(Step::Queue),
        4 => wish().prop_map(Step::Operate),
        1 => wish().prop_map(Step::During),
        1 => leaving().prop_map(Step::ThereAndBack),
        2 => (0usize..60, any::<bool>()).prop_map(|(calls, after)| Step::Kill(calls, after)),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nothing_is_doubled(
        steps in prop::collection::vec(step(), 1..16),
        small in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(Life::new(small).live(&steps));
    }
}

/// Few in a check, as many as one likes in a soak.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

/// The model: what is to be done stands in the message, and is done once.
fn mind(seen: &[UiMessage]) -> ScriptedStep {
    let last = seen.last().unwrap();
    let asked = seen.iter().rev().find(|message| message.role() == Role::User).unwrap();
    let asked = words(asked);
    let name = asked.split(' ').next().unwrap_or_default().to_owned();
    if last.parts().iter().any(|part| matches!(part, UiPart::Tool(_))) {
        return says(&format!("done {name}"));
    }
    match asked.split(' ').nth(1).unwrap_or_default() {
        "Acts" => calls("effect", &format!(r#"{{"for":"{name}"}}"#)),
        "News" => calls("chat_context_new", "{}"),
        "LoadsLast" => calls("chat_context_load", r#"{"contextId":"last"}"#),
        "Clears" => calls("chat_context_clear_active", "{}"),
        "Forks" => calls("chat_context_fork", "{}"),
        "Recalls" => calls("chat_context_recall", r#"{"contextId":"last","mode":"recent"}"#),
        "Marks" => calls("chat_checkpoint", r#"{"name":"mark"}"#),
        "Meanwhile" => calls("meanwhile", "{}"),
        _ => says(&format!("done {name}")),
    }
}

struct Life {
    place: Place,
    /// How many messages were said.
    said: usize,
    /// Those that were accepted.
    accepted: Vec<String>,
}

impl Life {
    fn new(small: bool) -> Self {
        // Below what cannot shrink, so that there is a compaction every few messages.
        let rules = Rules {
            input_tokens_max: small.then_some(300),
            keep_last_messages: if small { 4 } else { 30 },
            ..Rules::default()
        };
        let place = Place::ruled(rules);
        place.minds(mind);
        Self { place, said: 0, accepted: Vec::new() }
    }

    async fn live(mut self, steps: &[Step]) {
        self.say("Answers").await;
        for step in steps {
            self.take(step).await;
            if self.place.setup.disk.is_dead() {
                self.place = self.place.again();
            }
        }
        self.place = self.place.again();
        self.place.setup.disk.heal();
        // Who waits is answered, and then nobody waits.
        self.place.run().await;
        assert_eq!(self.place.run().await, None, "nothing is left to do");
        self.judge().await;
        self.say("Answers").await;
        let last = self.place.context().await.pop().unwrap();
        assert_eq!(last, format!("assistant: done m{}", self.said), "the chat answers");
        self.judge().await;
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Say(deed) => drop(self.say(&format!("{deed:?}")).await),
            Step::Queue => drop(self.queue("Answers").await),
            Step::Operate(wish) => drop(self.operate(*wish).await),
            Step::During(wish) => {
                let Some(operation) = self.operation(*wish).await else { return };
                self.place.meanwhile.operation(operation);
                self.say("Meanwhile").await;
                if !self.place.setup.disk.is_dead() {
                    self.place.meanwhile.settled().await;
                }
            }
            Step::ThereAndBack(wish) => self.there_and_back(*wish).await,
            Step::Kill(calls, after) => {
                let fault = if *after { Fault::KillAfter } else { Fault::KillBefore };
                self.place.setup.disk.fail_in(*calls, fault);
            }
            Step::Restart => self.place = self.place.again(),
        }
    }

    /// A person says something; a process that is killed meanwhile has said nothing.
    async fn queue(&mut self, deed: &str) -> bool {
        self.said += 1;
        let text = format!("m{} {deed}", self.said);
        let accepted = self.place.try_accept(&text).await.is_ok();
        if accepted {
            self.accepted.push(text);
        }
        accepted
    }

    async fn say(&mut self, deed: &str) -> Option<Outcome> {
        if !self.queue(deed).await {
            return None;
        }
        self.place.agent.run(&chat(), &Stop::default()).await.ok().flatten()
    }

    async fn operate(&mut self, wish: Wish) -> Option<OperationOutcome> {
        let operation = self.operation(wish).await?;
        self.place.setup.clock.advance(1_000);
        self.place.agent.operate(&chat(), operation, "terminal").await.ok()
    }

    /// The operation that a wish means now.
    async fn operation(&self, wish: Wish) -> Option<ContextOperation> {
        let message = |nth: usize| async move {
            let chat = self.place.store.open(&chat()).await.ok()??;
            let all = ship_testkit::chat::everything(&*chat).await.ok()?;
            all.get(nth % all.len().max(1))?.id().map(str::to_owned)
        };
        let archived = |nth: usize| async move {
            let contexts = self.place.agent.contexts(&self.place.chat).await.ok()??;
            let items = contexts.index.items();
            items.get(nth % items.len().max(1)).map(|item| item.context.to_string())
        };
        Some(match wish {
            Wish::New => ContextOperation::New { title: None, reason: None },
            Wish::Clear => ContextOperation::Clear,
            Wish::Load(nth) => ContextOperation::Load { which: archived(nth).await? },
            Wish::Recall(nth) => {
                ContextOperation::Recall { which: archived(nth).await?, mode: RecallMode::Full }
            }
            Wish::Fork => ContextOperation::Fork { at: None, to: None },
            Wish::ForkAt(nth) => ContextOperation::Fork { at: Some(message(nth).await?), to: None },
            Wish::Rewind(nth) => ContextOperation::Rewind { to: message(nth).await? },
            Wish::RewindToMark => ContextOperation::Rewind { to: "mark".to_owned() },
            Wish::Undo => ContextOperation::Undo,
            Wish::Rename => ContextOperation::Rename { title: format!("Title {}", self.said) },
            Wish::Mark => ContextOperation::Checkpoint { name: "mark".to_owned() },
        })
    }

    /// An undo restores what was seen, and an undo of that what was undone.
    async fn there_and_back(&mut self, wish: Wish) {
        self.place.setup.disk.heal();
        self.place.run().await;
        let before = said_in(&self.place.view().await);
        let Some(OperationOutcome::Done(_)) = self.operate(wish).await else { return };
        let after = said_in(&self.place.view().await);
        let undone = self.operate(Wish::Undo).await;
        assert!(matches!(undone, Some(OperationOutcome::Done(_))), "{undone:?}");
        assert_eq!(said_in(&self.place.view().await), before, "undo of {wish:?}");
        let redone = self.operate(Wish::Undo).await;
        assert!(matches!(redone, Some(OperationOutcome::Done(_))), "{redone:?}");
        assert_eq!(said_in(&self.place.view().await), after, "undo of undo of {wish:?}");
    }

    async fn judge(&self) {
        let chat = self.place.stored().await;
        let logs = logs(&*chat).await;
        self.judge_messages(&*chat, &logs).await;
        self.judge_contexts(&*chat, &logs).await;
        let problems = chat.verify().await.unwrap();
        assert!(problems.is_empty(), "{problems:#?}");
    }

    /// Every message that was accepted is in the ledger once, is a message in a log, and is answered at most once.
    async fn judge_messages(&self, chat: &dyn Chat, logs: &[View]) {
        let ledger = self.place.ledger().await;
        let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for message in logs.iter().flat_map(View::messages) {
            let text = match message.role() {
                Role::User => format!("user: {}", message.text()),
                _ => message.text(),
            };
            said.entry(text).or_default().insert(message.id().unwrap().to_owned());
        }
        for text in &self.accepted {
            let line = format!("user: {text}");
            assert_eq!(ledger.iter().filter(|known| **known == line).count(), 1, "{line}");
            let ids = said.get(&line).unwrap_or_else(|| panic!("{line} is in no log"));
            assert_eq!(ids.len(), 1, "{line} is one message");
            let id = ship_store::MessageId::new(ids.first().unwrap().as_str()).unwrap();
            assert!(chat.log().find(&id, None).await.unwrap().is_some(), "{line} can be found");
            let name = text.split(' ').next().unwrap();
            let answers = said.get(&format!("done {name}")).map_or(0, BTreeSet::len);
            assert!(answers <= 1, "{name} is answered {answers} times");
        }
        let effects = self.place.effects.lock().unwrap();
        let distinct: BTreeSet<&String> = effects.iter().collect();
        assert_eq!(distinct.len(), effects.len(), "no effect is twice: {effects:?}");
    }

    /// Every context in which something was said is the active one or is listed, once, and the list made anew
    /// from the logs is the one that was kept.
    async fn judge_contexts(&self, chat: &dyn Chat, logs: &[View]) {
        let contexts = self.place.agent.contexts(&self.place.chat).await.unwrap().unwrap();
        let active = contexts.active.context().to_string();
        let mut listed = vec![active.clone()];
        listed.extend(contexts.index.items().iter().map(|item| item.context.to_string()));
        let distinct: BTreeSet<&String> = listed.iter().collect();
        assert_eq!(distinct.len(), listed.len(), "no context is doubled: {listed:?}");
        let mut known = BTreeSet::new();
        for log in logs {
            for message in log.messages() {
                if known.insert(message.id().unwrap().to_owned()) && is_something(message) {
                    let context = log.head.context.to_string();
                    assert!(listed.contains(&context), "{context} with {message} is not listed");
                }
            }
        }
        let kept = snapshots(chat).await;
        let names: Vec<&String> = kept.keys().collect();
        let wanted: BTreeSet<&String> = listed.iter().skip(1).collect();
        assert_eq!(names, wanted.into_iter().collect::<Vec<_>>(), "a file for each");
        chat.derived().remove(Derived::ContextIndex).await.unwrap();
        for item in contexts.index.items() {
            chat.derived().remove(Derived::Context(item.context.clone())).await.unwrap();
        }
        let anew = self.place.agent.contexts(&self.place.chat).await.unwrap().unwrap();
        assert_eq!(anew.index, contexts.index, "the list made anew");
        assert_eq!(snapshots(chat).await, kept, "the files made anew");
    }
}

/// Whether a message is something said, and no copy, reference or mere switch.
fn is_something(message: &UiMessage) -> bool {
    let kind = message.metadata().and_then(|it| it.get("kind")).and_then(Json::as_str);
    let switches = |part: &UiPart| matches!(part, UiPart::Tool(tool) if switch_of(tool.name().unwrap_or_default(), tool.input()).is_some());
    let only_switches = message.text().is_empty()
        && message
            .parts()
            .iter()
            .all(|part| matches!(part, UiPart::StepStart(_)) || switches(part));
    message.role() == Role::Assistant
        && !is_reference(message)
        && kind != Some("summary")
        && !only_switches
}

fn said_in(view: &View) -> Vec<UiMessage> {
    view.messages().cloned().collect()
}

/// All logs, the oldest first.
async fn logs(chat: &dyn Chat) -> Vec<View> {
    let mut logs = Vec::new();
    for log in chat.log().sealed().await.unwrap().into_iter().rev() {
        logs.push(chat.log().sealed_view(&log.name).await.unwrap());
    }
    logs.extend(chat.log().view().await.unwrap());
    logs
}

/// What is written down of each archived context.
async fn snapshots(chat: &dyn Chat) -> BTreeMap<String, Object> {
    let mut snapshots = BTreeMap::new();
    for context in chat.derived().archived_contexts().await.unwrap() {
        let state = chat.derived().read(Derived::Context(context.clone())).await.unwrap().unwrap();
        snapshots.insert(context.to_string(), state.value);
    }
    snapshots
}
