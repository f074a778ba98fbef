//! Lets any outside fault tool judge the store.
//!
//! `soak write DIR [--n N] [--chats K] [--rotate EVERY] [--tag T]` writes N messages to each of K chats,
//! every EVERYth of them by a rotation that keeps the last few, and says what it tries and what it was
//! promised. The lane is taken for each message, so several writers may share a chat. `soak verify DIR` opens the
//! store as a restarted program would and says what is there. Each line is flushed before the next step:
//!
//! ```text
//! TRY <chat> <id>              before a write
//! ACK <chat> <id> <digest>     the moment the store has promised durability
//! NACK <chat> <id> <reason>    when it refused
//! DONE                         at the end
//! HAVE <chat> <id> <digest>    every message in order, sealed ones included, once each
//! NOTE <text>                  each repair
//! ERR <text>                   what is unreadable
//! ```

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use ship_message::json::{Array, Json, Object};
use ship_store::{
    About, AppendError, Chat, Clock as _, ContextId, FileStore, Head, LogPiece, Position, Rotation,
    StorageProblemKind, Store, StoreOptions, SystemClock, View,
};

const USAGE: &str = "usage: soak write DIR [--n N] [--chats K] [--rotate EVERY] [--tag T]
       soak verify DIR";

/// How many messages a rotation keeps.
const KEEP: usize = 5;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", dir, rest @ ..] => match Plan::parse(rest) {
            Some(plan) => write(Path::new(dir), plan).await,
            None => Err(USAGE.into()),
        },
        ["verify", dir] => verify(Path::new(dir)).await,
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("ERR {}", one_line(&tell(&*error))));
            ExitCode::FAILURE
        }
    }
}

struct Plan {
    messages: u64,
    chats: u64,
    rotate: u64,
    tag: String,
}

impl Plan {
    fn parse(words: &[&str]) -> Option<Self> {
        let mut plan = Self { messages: 100, chats: 1, rotate: 20, tag: "t".to_owned() };
        for pair in words.chunks(2) {
            match *pair {
                ["--n", number] => plan.messages = number.parse().ok()?,
                ["--chats", number] => plan.chats = number.parse().ok()?,
                ["--rotate", number] => plan.rotate = number.parse().ok()?,
                ["--tag", tag] => plan.tag = tag.to_owned(),
                _ => return None,
            }
        }
        Some(plan)
    }
}

/// Prints a line, at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever listens may be gone, which is no reason to stop.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

/// An error with all its causes.
fn tell(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

fn open(dir: &Path) -> Result<FileStore, Failure> {
    Ok(FileStore::new(dir, StoreOptions::default())?)
}

async fn write(dir: &Path, plan: Plan) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)?;
    let store = open(dir)?;
    let mut writers: Vec<Writer> =
        (0..plan.chats).map(|number| Writer::new(&store, number)).collect();
    for number in 0..plan.messages {
        for writer in &mut writers {
            let rotates = plan.rotate > 0 && (number + 1) % plan.rotate == 0;
            writer.write(&format!("{}-{number}", plan.tag), number, rotates).await;
        }
    }
    say("DONE");
    Ok(())
}

/// One chat as it is written to. After a refusal everything is read anew, as a client would.
struct Writer {
    store: FileStore,
    key: String,
    open: Option<(Arc<dyn Chat>, Position)>,
}

impl Writer {
    fn new(store: &FileStore, number: u64) -> Self {
        Self { store: store.clone(), key: format!("soak:{number}"), open: None }
    }

    async fn write(&mut self, id: &str, number: u64, rotates: bool) {
        // Now and then one that is long enough to become a blob.
        let length = if number % 10 == 7 { 40_000 } else { 200 + (number % 13) as usize * 100 };
        let message = message(id, &filler(id, length));
        say(&format!("TRY {} {id}", self.key));
        match self.try_to_write(id, &message, rotates).await {
            Ok(()) => say(&format!("ACK {} {id} {}", self.key, digest(&message))),
            Err(error) => {
                self.open = None;
                say(&format!("NACK {} {id} {}", self.key, one_line(&tell(&*error))));
            }
        }
    }

    async fn try_to_write(
        &mut self,
        id: &str,
        message: &Object,
        rotates: bool,
    ) -> Result<(), Failure> {
        let (chat, mut end) = self.opened().await?;
        let lane = chat.lane("soak write").await?;
        if !rotates {
            match lane.append(vec![message.clone().into()], end).await {
                Ok(new_end) => {
                    self.open = Some((chat, new_end));
                    return Ok(());
                }
                // Another writer was here.
                Err(AppendError::Moved { found, .. }) => end = found,
                Err(error) => return Err(error.into()),
            }
        }
        let view = chat.log().view().await?.ok_or("the context is gone")?;
        let known = view.messages().any(|known| known.id() == Some(id));
        let end = match rotates && !known {
            true => lane.rotate(rotation(&view, message.clone())).await?.position,
            false => lane.append(vec![message.clone().into()], end).await?,
        };
        self.open = Some((chat, end));
        Ok(())
    }

    async fn opened(&mut self) -> Result<(Arc<dyn Chat>, Position), Failure> {
        if let Some((chat, end)) = &self.open {
            return Ok((Arc::clone(chat), *end));
        }
        let chat = self.store.create(&self.key.parse()?, About::default()).await?;
        for problem in chat.repair().await? {
            say(&format!("NOTE {} {}: {}", self.key, problem.place, one_line(&problem.message)));
        }
        let end = match chat.log().view().await? {
            Some(view) => view.position,
            None => begin(&*chat).await?,
        };
        self.open = Some((Arc::clone(&chat), end));
        Ok((chat, end))
    }
}

/// Begins the first context, unless another writer does.
async fn begin(chat: &dyn Chat) -> Result<Position, Failure> {
    let lane = chat.lane("soak begin").await?;
    match chat.log().view().await? {
        Some(view) => Ok(view.position),
        None => Ok(lane.rotate(first_context()).await?.position),
    }
}

fn first_context() -> Rotation {
    let now = SystemClock.now();
    let random = u64::from(std::process::id()) ^ now.millis().unsigned_abs();
    let head = Head::new(ContextId::new(now, random));
    Rotation { expected: None, head, pieces: Vec::new() }
}

/// Keeps the last few messages and adds a new one.
fn rotation(view: &View, message: Object) -> Rotation {
    let kept = view.lines.len().saturating_sub(KEEP);
    let from = view.lines.get(kept).map_or(view.position.seq.next(), |line| line.seq);
    Rotation {
        expected: Some(view.position.generation),
        head: view.head.clone(),
        pieces: vec![LogPiece::KeepFrom(from), LogPiece::New(message.into())],
    }
}

fn message(id: &str, text: &str) -> Object {
    let part = Object::from([("type", Json::from("text")), ("text", text.into())]);
    Object::from([
        ("id", Json::from(id)),
        ("role", "user".into()),
        ("parts", Array::from(vec![part.into()]).into()),
    ])
}

/// A text that no other message has, with something that is not ASCII in it.
fn filler(id: &str, length: usize) -> String {
    let unit = format!("{id} – 漢字🦜\n");
    unit.chars().cycle().take(length).collect()
}

fn digest(message: &Object) -> String {
    let text = Json::from(message.clone()).to_string();
    // Two different sums of 32 bits: enough to tell a mangled message, and no dependency.
    let crc = crc32c::crc32c(text.as_bytes());
    let reversed: Vec<u8> = text.bytes().rev().collect();
    format!("{crc:08x}{:08x}", crc32c::crc32c(&reversed))
}

async fn verify(dir: &Path) -> Result<(), Failure> {
    if !PathBuf::from(dir).is_dir() {
        return Ok(());
    }
    let store = open(dir)?;
    for look in store.chats(None, usize::MAX).await?.chats {
        match look.key {
            Ok(key) => {
                let chat = store.open(&key).await?;
                if let Some(chat) = chat
                    && let Err(error) = verify_chat(&*chat).await
                {
                    say(&format!("ERR {key} {}", one_line(&tell(&*error))));
                }
            }
            Err(problem) => say(&format!("ERR {} {}", problem.place, one_line(&problem.message))),
        }
    }
    Ok(())
}

async fn verify_chat(chat: &dyn Chat) -> Result<(), Failure> {
    let key = chat.key().as_str();
    match chat.repair().await {
        Ok(repairs) => repairs.iter().for_each(|problem| {
            let (kind, place, offset) = (problem.kind.name(), &problem.place, problem.offset);
            say(&format!("NOTE {key} {kind} {place} at {offset}: {}", problem.message));
        }),
        // What cannot be repaired now can still be read.
        Err(error) => say(&format!("ERR {key} {}", one_line(&tell(&error)))),
    }
    // The live log first: if a writer seals it meanwhile, it is among the sealed ones, and nothing is missed.
    let live = chat.log().view().await?;
    let mut logs = Vec::new();
    for sealed in chat.log().sealed().await?.into_iter().rev() {
        logs.push(chat.log().sealed_view(&sealed.name).await?);
    }
    logs.extend(live);
    // A log that is gone or unreadable is in no list.
    for problem in chat.verify().await? {
        let (place, offset) = (&problem.place, problem.offset);
        if matches!(
            problem.kind,
            StorageProblemKind::Missing | StorageProblemKind::NotPlain | StorageProblemKind::Damage
        ) {
            say(&format!("ERR {key} {place} at {offset}: {}", one_line(&problem.message)));
        }
    }
    let mut seen = HashSet::new();
    for view in &logs {
        for problem in view.problems.iter().filter(|told| told.kind != StorageProblemKind::Damage) {
            say(&format!("ERR {key} {} at {}: {}", problem.place, problem.offset, problem.message));
        }
        for message in view.messages() {
            let id = message.id().unwrap_or_default();
            if seen.insert(id.to_owned()) {
                say(&format!("HAVE {key} {id} {}", digest(&message.clone().into_object())));
            }
        }
    }
    Ok(())
}
