//! A project with many chats on disk, and the agent that serves them.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ship_agent::{Agent, AgentBuilder, Inbound, Project};
use ship_message::json::{Array, Json, Object};
use ship_store::{
    About, ChatKey, Durability, FileStore, LogPiece, NewLine, Rotation, Store, StoreOptions,
    SystemClock,
};
use ship_testkit::chat::first_context;
use ship_testkit::random::Random;

use super::model::{Gate, Model};

/// A window: 300 KB of messages.
const WINDOW: usize = 200;
const MESSAGE_BYTES: usize = 1_500;
const WORDS: [&str; 16] = [
    "anchor", "breeze", "captain", "deck", "ensign", "fathom", "galley", "harbour", "island",
    "jib", "keel", "lantern", "mast", "night", "ocean", "port",
];
const SKILL: &str =
    "---\nname: knots\ndescription: Ties and explains knots.\n---\nBegin with a bowline.\n";

/// A project, and the keys of its chats.
pub(super) struct Fleet {
    folder: PathBuf,
    chats: Vec<ChatKey>,
}

impl Fleet {
    /// Makes a project with so many chats.
    pub(super) async fn build(folder: &Path, chats: usize) -> io::Result<Self> {
        fs::write(folder.join("Agent.md"), "You are the mate of a ship.\n".repeat(20))?;
        fs::create_dir_all(folder.join(".ship/skills/knots"))?;
        fs::write(folder.join(".ship/skills/knots/SKILL.md"), SKILL)?;
        let keys: Result<Vec<ChatKey>, _> =
            (0..chats).map(|number| format!("telegram:{number}").parse()).collect();
        let fleet = Self { folder: folder.to_owned(), chats: keys.map_err(failed)? };
        let options = StoreOptions { clock: Arc::new(SystemClock), ..StoreOptions::default() };
        let options = StoreOptions { durability: Durability::Flush, ..options };
        let store = FileStore::new(folder, options).map_err(failed)?;
        let mut random = Random::new(1);
        for key in &fleet.chats {
            begin_chat(&store, key, &mut random).await?;
        }
        Ok(fleet)
    }

    /// Returns the bytes of a chat's ledger, with what was sealed of it.
    pub(super) fn ledger_bytes(&self, chat: &ChatKey) -> io::Result<u64> {
        let name = chat.as_str().replace(':', "%3A");
        files_len(&self.folder.join(".ship/chat").join(name).join("conversations"))
    }

    pub(super) fn chats(&self) -> usize {
        self.chats.len()
    }

    /// Returns the agent of a process that has just begun. With a gate, its model waits for that.
    pub(super) fn agent(&self, gate: Option<Gate>) -> io::Result<Agent> {
        let project = Project::load(&self.folder, []).map_err(failed)?;
        let builder =
            AgentBuilder::from_project(&project, Arc::new(SystemClock)).map_err(failed)?;
        Ok(builder.provider(Model { gate }).build())
    }

    /// Returns a turn in a chat: a question and its answer.
    pub(super) fn turn(
        &self,
        agent: &Agent,
        chat: usize,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (agent, chat) = (agent.clone(), self.chats[chat].clone());
        async move {
            let question = Inbound {
                channel: "telegram".to_owned(),
                user_id: Some("7".to_owned()),
                username: Some("ann".to_owned()),
                ..Inbound::from("When does the ship sail, and who is aboard?")
            };
            let reply = agent.send(&chat, question).await.map_err(failed)?;
            reply.text().contains("at dawn").then_some(()).ok_or_else(|| failed("no answer"))
        }
    }

    /// Makes a turn in each of these chats, one after the other.
    pub(super) async fn turn_in_each(&self, agent: &Agent, chats: Range<usize>) -> io::Result<()> {
        for chat in chats {
            self.turn(agent, chat).await?;
        }
        Ok(())
    }
}

/// Returns the bytes of all files in a folder and below it.
fn files_len(folder: &Path) -> io::Result<u64> {
    fs::read_dir(folder)?.try_fold(0, |bytes, entry| {
        let entry = entry?;
        let found = entry.metadata()?;
        Ok(bytes + if found.is_dir() { files_len(&entry.path())? } else { found.len() })
    })
}

async fn begin_chat(store: &FileStore, key: &ChatKey, random: &mut Random) -> io::Result<()> {
    let about = About { channel: Some("telegram".to_owned()), ..About::default() };
    let chat = store.create(key, about).await.map_err(failed)?;
    let lane = chat.lane("bench").await.map_err(failed)?;
    let pieces = (0..WINDOW).map(|number| LogPiece::New(message(number, random))).collect();
    lane.rotate(Rotation { pieces, ..first_context() }).await.map_err(failed)?;
    lane.release().await;
    Ok(())
}

/// Returns a question or an answer, as a run would have stored it.
fn message(number: usize, random: &mut Random) -> NewLine {
    let mut text = String::new();
    while text.len() < MESSAGE_BYTES {
        text.push_str(random.one::<&str>(&WORDS));
        text.push(' ');
    }
    let (role, mut metadata) = match number.is_multiple_of(2) {
        true => ("user", Object::from([("userId", "7"), ("username", "ann")])),
        false => ("assistant", Object::from([("runId", format!("run_{number}"))])),
    };
    metadata.set("v", 1u64);
    metadata.set("ts", 1_770_286_500_000 + number as u64);
    metadata.set("requestId", format!("req_{number}"));
    let part = Object::from([("type", Json::from("text")), ("text", text.into())]);
    Object::from([
        ("id", Json::from(format!("m{number}"))),
        ("role", role.into()),
        ("parts", Array::from(vec![part.into()]).into()),
        ("metadata", metadata.into()),
    ])
    .into()
}

pub(super) fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}
