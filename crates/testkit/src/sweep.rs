//! Sweeps: a short script of writes, with something going wrong at every single call.
//!
//! [`Script::run`] writes to a simulated disk and records what was promised when. [`judge`] then opens a disk as a
//! restarted program would and holds it to those promises: everything acknowledged is there once, in order; nothing is
//! there that nobody tried to write; a reader changes nothing; and the chat goes on.

mod branches;
mod imports;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ship_message::UiMessage;
use ship_message::json::{Json, Object};
use ship_store::disk::{Disk, MemoryDisk};
use ship_store::{
    About, Chat, Durability, FileStore, Lane, Position, StorageProblemKind, Store, StoreOptions,
    Synced, View,
};

use crate::chat::{
    compaction, entry, everything, first_context, id, ledger_keys, message, options, text,
};
use crate::power;
pub use crate::runtime::block_on;
use crate::sim::{Fault, Lasts, SimDisk};

const CHAT: &str = "telegram-chat--100123";
/// What the system says where files cannot have a second name.
const EPERM: i32 = 1;
/// The chat that is forked from it.
const FORK: &str = "terminal:fork";

/// One write of a script.
#[derive(Debug, Clone)]
pub enum Step {
    /// Appends these messages as one batch.
    Say(Vec<String>),
    /// Appends a message of 40 KB, which is kept as a blob.
    SayLong(String),
    /// Seals the log, keeping the last so many lines behind a summary of this id.
    Compact(String, usize),
    /// Accepts an entry of this key.
    Accept(String),
    /// Adds a part to the run journal, synced.
    Journal(String),
    /// Brings the lines of the newest sealed log back before those that are live, and says this.
    Undo(String),
    /// Purges the newest log that has lines, on behalf of this.
    Purge(String),
    /// Begins another chat with a copy of the live log, and says this there.
    Fork(String),
    /// Imports two logs with messages of this name below the live one.
    Import(String),
    /// Takes hard links away from the disk.
    RefuseLinks,
}

/// What a step makes durable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Message(String),
    Entry(String),
    Part(String),
    Purge(String),
    Fork(String),
    Import(String),
}

/// Something that the script tried to write.
#[derive(Debug, Clone)]
struct Tried {
    thing: Thing,
    /// The number of changes after which it was acknowledged.
    acked: Option<usize>,
}

/// What a script tried, in order.
#[derive(Debug, Default)]
pub struct Record {
    tried: Vec<Tried>,
}

impl Record {
    /// How many things were acknowledged.
    pub fn acknowledged(&self) -> usize {
        self.tried.iter().filter(|tried| tried.acked.is_some()).count()
    }
}

/// A list of writes.
#[derive(Debug, Clone)]
pub struct Script(pub Vec<Step>);

impl Script {
    /// Returns a script with every kind of write in it.
    pub fn short() -> Self {
        let say = |ids: &[&str]| Step::Say(ids.iter().map(|&id| id.to_owned()).collect());
        Self(vec![
            Step::Accept("k1".into()),
            say(&["m1"]),
            say(&["m2", "m3"]),
            Step::Compact("s1".into(), 2),
            say(&["m4"]),
            Step::SayLong("m5".into()),
            Step::Journal("p1".into()),
            Step::Accept("k2".into()),
            Step::Compact("s2".into(), 1),
            say(&["m6"]),
            Step::Accept("k1".into()),
            Step::Journal("p2".into()),
        ])
    }

    /// Returns a script that leaves, brings back, purges and forks. What is purged is live by then, so that all
    /// that was ever said must still be found.
    pub fn branches() -> Self {
        let say = |ids: &[&str]| Step::Say(ids.iter().map(|&id| id.to_owned()).collect());
        Self(vec![
            say(&["m1", "m2"]),
            Step::SayLong("m3".into()),
            Step::Compact("s1".into(), 1),
            say(&["m4"]),
            Step::Undo("u1".into()),
            Step::Purge("by1".into()),
            Step::Fork("f1".into()),
            Step::Purge("by2".into()),
            say(&["m5"]),
        ])
    }

    /// Returns a script that imports into a chat in use, twice.
    pub fn imports() -> Self {
        let say = |ids: &[&str]| Step::Say(ids.iter().map(|&id| id.to_owned()).collect());
        Self(vec![
            Step::Accept("k1".into()),
            say(&["m1", "m2"]),
            Step::Compact("s1".into(), 1),
            Step::Import("i1".into()),
            say(&["m3"]),
            Step::Import("i2".into()),
            Step::Compact("s2".into(), 1),
            say(&["m4"]),
        ])
    }

    /// Returns the same steps on a disk that has no hard links.
    #[must_use]
    pub fn without_links(mut self) -> Self {
        self.0.insert(0, Step::RefuseLinks);
        self
    }

    /// Returns the first so many steps.
    #[must_use]
    pub fn up_to(&self, steps: usize) -> Self {
        Self(self.0.iter().take(steps).cloned().collect())
    }

    /// Runs the script on a disk. A step that is refused is tried once more, as a client would.
    pub async fn run(&self, disk: &SimDisk) -> Record {
        self.run_in(on(disk.clone()), disk).await
    }

    async fn run_in(&self, store: FileStore, disk: &SimDisk) -> Record {
        let mut record = Record::default();
        let mut writer = Writer { store, chat: None };
        for step in &self.0 {
            if matches!(step, Step::RefuseLinks) {
                disk.refuse_links(EPERM);
                continue;
            }
            let first = record.tried.len();
            let things = things(step);
            record.tried.extend(things.into_iter().map(|thing| Tried { thing, acked: None }));
            for _attempt in 0..2 {
                if disk.is_dead() {
                    return record;
                }
                if writer.step(step).await.is_ok() {
                    let now = Some(disk.ops_len());
                    record.tried[first..].iter_mut().for_each(|tried| tried.acked = now);
                    break;
                }
            }
        }
        record
    }
}

fn things(step: &Step) -> Vec<Thing> {
    match step {
        Step::Say(ids) => ids.iter().cloned().map(Thing::Message).collect(),
        Step::SayLong(id) | Step::Compact(id, _) | Step::Undo(id) => {
            vec![Thing::Message(id.clone())]
        }
        Step::Accept(key) => vec![Thing::Entry(key.clone())],
        Step::Journal(part) => vec![Thing::Part(part.clone())],
        Step::Purge(by) => vec![Thing::Purge(by.clone())],
        Step::Fork(id) => vec![Thing::Fork(id.clone())],
        Step::Import(name) => vec![Thing::Import(name.clone())],
        Step::RefuseLinks => Vec::new(),
    }
}

fn on(disk: impl Disk + 'static) -> FileStore {
    FileStore::on_disk(Box::new(disk), options())
}

/// What a message says: long ones say it often.
fn said(id: &str, long: bool) -> String {
    if long { id.repeat(20_000) } else { format!("this is {id}") }
}

struct Writer {
    store: FileStore,
    chat: Option<(Arc<dyn Chat>, Arc<dyn Lane>)>,
}

type Refused = Box<dyn std::error::Error>;

impl Writer {
    async fn chat(&mut self) -> Result<(Arc<dyn Chat>, Arc<dyn Lane>), Refused> {
        if self.chat.is_none() {
            let chat = self.store.create(&CHAT.parse()?, About::default()).await?;
            let lane = chat.lane("sweep").await?;
            self.chat = Some((chat, lane));
        }
        self.chat.clone().ok_or_else(|| "no chat".into())
    }

    async fn step(&mut self, step: &Step) -> Result<(), Refused> {
        let (chat, lane) = self.chat().await?;
        match step {
            Step::Say(ids) => {
                let batch = ids.iter().map(|id| message(id, &said(id, false)).into()).collect();
                lane.append(batch, end(&*chat, &*lane).await?).await?;
            }
            Step::SayLong(id) => {
                let batch = vec![message(id, &said(id, true)).into()];
                lane.append(batch, end(&*chat, &*lane).await?).await?;
            }
            Step::Compact(id, keep) => {
                end(&*chat, &*lane).await?;
                let view = chat.log().view().await?.ok_or("no context")?;
                if was_said(&view, id) {
                    return confirm(&*lane, &view, id).await;
                }
                let kept = view.lines.len().saturating_sub(*keep);
                let from = view.lines.get(kept).map_or(view.position.seq.next(), |line| line.seq);
                let new = vec![message(id, &said(id, false)).into()];
                lane.rotate(compaction(&view, new, from)).await?;
            }
            Step::Accept(key) => {
                chat.ledger().accept(entry(key, &said(key, false))).await?;
            }
            Step::Journal(part) => {
                let part = Object::from([("part", Json::from(part.as_str()))]);
                if chat.runs().journal().await?.contains(&part) {
                    return Err("an earlier attempt is there, and perhaps not for good".into());
                }
                lane.journal(vec![part], Synced::Now).await?;
            }
            Step::Undo(id) => branches::undo(&*chat, &*lane, id).await?,
            Step::Purge(by) => branches::purge(&*chat, &*lane, by).await?,
            Step::Fork(id) => branches::fork(&self.store, &*chat, id).await?,
            Step::Import(name) => imports::import(&*chat, &*lane, name).await?,
            Step::RefuseLinks => {}
        }
        Ok(())
    }
}

/// Where the context ends; it is begun if there is none.
async fn end(chat: &dyn Chat, lane: &dyn Lane) -> Result<Position, Refused> {
    match chat.log().view().await? {
        Some(view) => Ok(view.position),
        None => Ok(lane.rotate(first_context()).await?.position),
    }
}

fn was_said(view: &View, id: &str) -> bool {
    view.messages().any(|message| message.id() == Some(id))
}

/// The first attempt was published, and only its acknowledgement was lost. A rewrite of nothing confirms it.
async fn confirm(lane: &dyn Lane, view: &View, id: &str) -> Result<(), Refused> {
    lane.append(vec![message(id, &said(id, false)).into()], view.position).await?;
    Ok(())
}

/// Holds a disk to what was promised after the first `cut` changes. Says what is wrong, if anything.
pub async fn judge(disk: &MemoryDisk, record: &Record, cut: usize) -> Result<(), String> {
    let promised: Vec<&Thing> = {
        let acked = |tried: &&Tried| tried.acked.is_some_and(|acked| acked <= cut);
        record.tried.iter().filter(acked).map(|tried| &tried.thing).collect()
    };
    let before = disk.contents();
    let reader = read(disk).await?;
    if disk.contents() != before {
        return Err("a reader changed the disk".to_owned());
    }
    reader.keeps(&promised, record).map_err(|wrong| format!("a reader finds {wrong}"))?;

    go_on(disk, record).await?;
    let writer = read(disk).await?;
    writer.keeps(&promised, record).map_err(|wrong| format!("after a repair: {wrong}"))?;
    for tried in &record.tried {
        if matches!(tried.thing, Thing::Entry(_)) && !writer.things.contains(&tried.thing) {
            return Err(format!("{:?} was said again and is not there", tried.thing));
        }
    }
    Ok(())
}

/// What a chat holds, as a program that opens it finds it.
struct Found {
    things: Vec<Thing>,
}

async fn read(disk: &MemoryDisk) -> Result<Found, String> {
    let tell = |error: &dyn std::error::Error| format!("cannot read: {error}");
    let key = CHAT.parse().map_err(|error| tell(&error))?;
    let chat = on(disk.clone()).open(&key).await.map_err(|error| tell(&error))?;
    let mut things = Vec::new();
    if let Some(chat) = chat {
        let messages = everything(&*chat).await.map_err(|error| tell(&error))?;
        imports::pages_have(&*chat, &messages).await?;
        let (messages, imports) = imports::apart(messages)?;
        for message in messages {
            things.push(Thing::Message(as_said(&message)?));
        }
        things.extend(imports);
        things.extend(branches::purged(&*chat).await.map_err(|error| tell(&*error))?);
        things.extend(ledger_keys(&*chat).await.into_iter().map(Thing::Entry));
        let parts = chat.runs().journal().await.map_err(|error| tell(&error))?;
        let part = |part: &Object| part.str("part").map(|part| Thing::Part(part.to_owned()));
        things.extend(parts.iter().filter_map(part));
    }
    things.extend(branches::forked(&on(disk.clone())).await?);
    Ok(Found { things })
}

/// The id of a message that says what was said under it.
fn as_said(message: &UiMessage) -> Result<String, String> {
    let id = id(message);
    let expected = [said(&id, false), said(&id, true)];
    match expected.contains(&text(message)) {
        true => Ok(id),
        false => Err(format!("message {id} says something else")),
    }
}

impl Found {
    /// Everything promised is there once and in order, and nothing that nobody tried.
    fn keeps(&self, promised: &[&Thing], record: &Record) -> Result<(), String> {
        let mut seen = HashSet::new();
        for thing in &self.things {
            if !seen.insert(format!("{thing:?}")) {
                return Err(format!("{thing:?} twice"));
            }
            if !record.tried.iter().any(|tried| tried.thing == *thing) {
                return Err(format!("{thing:?}, which nobody wrote"));
            }
        }
        if let Some(lost) = promised.iter().find(|thing| !self.things.contains(thing)) {
            return Err(format!("{lost:?} lost"));
        }
        self.in_order(record)
    }

    fn in_order(&self, record: &Record) -> Result<(), String> {
        // A summary is said after what it stands before, so only the others are in order.
        let sorts: [fn(&Thing) -> bool; 3] = [
            |thing| matches!(thing, Thing::Message(id) if id.starts_with('m')),
            |thing| matches!(thing, Thing::Entry(_)),
            |thing| matches!(thing, Thing::Part(_)),
        ];
        for sort in sorts {
            let found: Vec<&Thing> = self.things.iter().filter(|thing| sort(thing)).collect();
            let place = |thing: &Thing| record.tried.iter().position(|tried| tried.thing == *thing);
            let places: Vec<Option<usize>> = found.iter().map(|thing| place(thing)).collect();
            if !places.is_sorted() {
                return Err(format!("{found:?} out of order"));
            }
        }
        Ok(())
    }
}

/// Opens the chat to write, as a restarted program does: every entry comes again, and life goes on.
async fn go_on(disk: &MemoryDisk, record: &Record) -> Result<(), String> {
    let tell = |error: Refused| format!("cannot go on: {error}");
    let mut writer = Writer { store: on(disk.clone()), chat: None };
    let (chat, _lane) = writer.chat().await.map_err(tell)?;
    chat.repair().await.map_err(|error| tell(error.into()))?;
    for tried in &record.tried {
        if let Thing::Entry(key) = &tried.thing {
            writer.step(&Step::Accept(key.clone())).await.map_err(tell)?;
        }
    }
    let again = record.tried.iter().find(|tried| matches!(&tried.thing, Thing::Message(_)));
    if let Some(Tried { thing: Thing::Message(id), .. }) = again {
        let there = everything(&*chat).await.map_err(|error| tell(error.into()))?;
        if !there.iter().any(|message| message.id() == Some(id)) {
            writer.step(&Step::Say(vec![id.clone()])).await.map_err(tell)?;
        }
    }
    is_sound(&*chat).await?;
    match writer.store.open(&FORK.parse().expect("a key")).await {
        Ok(None) => Ok(()),
        Ok(Some(fork)) => {
            fork.repair().await.map_err(|error| tell(error.into()))?;
            is_sound(&*fork).await
        }
        Err(error) => Err(tell(error.into())),
    }
}

/// Whether nothing is wrong with a chat that was repaired.
async fn is_sound(chat: &dyn Chat) -> Result<(), String> {
    let problems = chat.verify().await.map_err(|error| format!("cannot verify: {error}"))?;
    match problems.iter().find(|problem| problem.kind != StorageProblemKind::Leftover) {
        Some(problem) => Err(format!("after a repair there is still {problem:?}")),
        None => Ok(()),
    }
}

/// What a sweep has done.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// How often something went wrong.
    pub faults: usize,
    /// How many different disks were judged.
    pub disks: usize,
}

/// Cuts the power after every change of an undisturbed run, and judges every disk that may leave.
///
/// # Errors
/// The first broken promise.
pub async fn power_cuts(script: &Script) -> Result<Tally, String> {
    let sim = SimDisk::new();
    let record = script.run(&sim).await;
    let ops = sim.ops();
    let (mut tally, mut judged) = (Tally::default(), Judged::default());
    for cut in 0..=ops.len() {
        tally.faults += 1;
        for (name, disk) in power::states(&ops[..cut]) {
            let told = || format!("power cut after {cut} of {} changes, {name}", ops.len());
            tally.disks += judged.judge(&disk, &record, cut, told).await?;
        }
    }
    Ok(tally)
}

/// Cuts the power after every change of a run that syncs nothing. Such a cut may take anything, but on each disk that it
/// leaves the chat opens, is repaired and goes on, and nothing is there twice.
///
/// # Errors
/// The first disk on which the chat does not go on.
pub async fn unsynced_power_cuts(script: &Script) -> Result<Tally, String> {
    let sim = SimDisk::new();
    let flush = StoreOptions { durability: Durability::Flush, ..options() };
    script.run_in(FileStore::on_disk(Box::new(sim.clone()), flush), &sim).await;
    let ops = sim.ops();
    let (mut tally, mut seen) = (Tally::default(), HashSet::new());
    for cut in 0..=ops.len() {
        tally.faults += 1;
        for (name, disk) in power::states(&ops[..cut]) {
            if seen.insert(disk.contents()) {
                let told = |wrong| {
                    format!("power cut after {cut} of {} changes, {name}: {wrong}", ops.len())
                };
                goes_on_after_a_loss(&disk).await.map_err(told)?;
                tally.disks += 1;
            }
        }
    }
    Ok(tally)
}

/// Repairs a chat that may have lost anything, and says something in it.
async fn goes_on_after_a_loss(disk: &MemoryDisk) -> Result<(), String> {
    const NEW: &str = "new";
    let tell = |error: Refused| format!("cannot go on: {error}");
    let mut writer = Writer { store: on(disk.clone()), chat: None };
    let (chat, _lane) = writer.chat().await.map_err(tell)?;
    chat.repair().await.map_err(|error| tell(error.into()))?;
    writer.step(&Step::Accept(NEW.to_owned())).await.map_err(tell)?;
    writer.step(&Step::Say(vec![NEW.to_owned()])).await.map_err(tell)?;
    // A text whose blob is lost stays a preview, so only the ids are compared.
    let messages = everything(&*chat).await.map_err(|error| tell(error.into()))?;
    let ids: Vec<String> = messages.iter().map(id).collect();
    for (found, what) in [(ids, "message"), (ledger_keys(&*chat).await, "entry")] {
        let mut seen = HashSet::new();
        if let Some(twice) = found.iter().find(|it| !seen.insert(*it)) {
            return Err(format!("the {what} {twice} is there twice"));
        }
        if !seen.contains(&NEW.to_owned()) {
            return Err(format!("the new {what} is not there"));
        }
    }
    Ok(())
}

/// How many calls to the disk a script makes when nothing goes wrong.
pub async fn calls(script: &Script) -> usize {
    let sim = SimDisk::new();
    script.run(&sim).await;
    sim.calls()
}

/// Lets each fault happen at each of these calls, then restarts, and cuts the power as well.
///
/// # Errors
/// The first broken promise.
pub async fn faults(
    script: &Script,
    faults: &[Fault],
    calls: impl Iterator<Item = usize>,
) -> Result<Tally, String> {
    let (mut tally, mut judged) = (Tally::default(), Judged::default());
    for at in calls {
        for &fault in faults {
            tally.faults += 1;
            let sim = SimDisk::with_fault(at, fault);
            let record = script.run(&sim).await;
            let all = sim.ops_len();
            let told = |then: &str| format!("{fault:?} at call {at}, then {then}");
            for (name, disk) in power::states(&sim.ops()) {
                let told = || told(&format!("a power cut, {name}"));
                tally.disks += judged.judge(&disk, &record, all, told).await?;
            }
            tally.disks += judged.judge(&sim.memory(), &record, all, || told("a restart")).await?;
        }
    }
    Ok(tally)
}

/// Kills a process at each of these calls, lets a second one do all of it again, and then cuts the power: what the second found and built upon must be as durable as what it wrote itself.
///
/// # Errors
/// The first broken promise.
pub async fn second_lives(
    script: &Script,
    calls: impl Iterator<Item = usize>,
) -> Result<Tally, String> {
    let (mut tally, mut judged) = (Tally::default(), Judged::default());
    for at in calls {
        for fault in [Fault::KillAfter, Fault::Torn] {
            tally.faults += 1;
            let sim = SimDisk::with_fault(at, fault);
            let mut record = script.run(&sim).await;
            sim.revive();
            record.tried.extend(script.run(&sim).await.tried);
            let all = sim.ops_len();
            for (name, disk) in power::states(&sim.ops()) {
                let told = || format!("{fault:?} at call {at}, a second life, power cut, {name}");
                tally.disks += judged.judge(&disk, &record, all, told).await?;
            }
        }
    }
    Ok(tally)
}

/// Every way in which one call can fail a process.
pub fn all_faults() -> Vec<Fault> {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    vec![
        Fault::KillBefore,
        Fault::KillAfter,
        Fault::Torn,
        Fault::Short,
        Fault::Fail(EIO, Lasts::Once),
        Fault::Fail(EIO, Lasts::Forever),
        Fault::Fail(ENOSPC, Lasts::Once),
        Fault::Fail(ENOSPC, Lasts::Forever),
        Fault::FailHalf(ENOSPC),
    ]
}

/// Remembers which disks were judged for which promises: most cuts leave what others have left.
#[derive(Default)]
struct Judged(HashSet<(u64, usize)>);

impl Judged {
    async fn judge(
        &mut self,
        disk: &MemoryDisk,
        record: &Record,
        cut: usize,
        told: impl Fn() -> String,
    ) -> Result<usize, String> {
        let mut hasher = DefaultHasher::new();
        let contents: BTreeMap<_, _> = disk.contents();
        contents.hash(&mut hasher);
        let promised =
            record.tried.iter().filter(|tried| tried.acked.is_some_and(|acked| acked <= cut));
        if !self.0.insert((hasher.finish(), promised.count())) {
            return Ok(0);
        }
        judge(disk, record, cut).await.map_err(|wrong| format!("{}: {wrong}", told()))?;
        Ok(1)
    }
}
