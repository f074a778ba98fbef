//! Random chats that outgrow their windows: summaries that fail in every way, processes that are killed,
//! compactions that are asked for and taken back.
//!
//! Every message must be answered, and when all compactions are undone, everything that was ever said must be
//! there, in order.

use std::sync::Mutex;
use std::time::Instant;

use ship_agent::{Agent, CompactionUndo, Outcome, Rules, Stop};
use ship_message::{Role, UiMessage};
use ship_store::{FileStore, Store};
use ship_testkit::llm::{Answer, faults};
use ship_testkit::random::Random;
use ship_testkit::sim::Fault;

use crate::talk::{SUMMARY, Talk, asks_for_summary, inbound, words};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// The number of random chats.
    pub chats: u64,
    /// Messages that were answered.
    pub turns: u64,
    /// Processes that were killed.
    pub kills: u64,
    /// Compactions that were taken back.
    pub undone: u64,
}

const TURNS: usize = 40;

/// Leads chats until `deadline`, at least one, beginning with `seed`.
///
/// # Errors
/// The broken promise, and the seed that shows it.
pub fn soak(seed: u64, deadline: Instant) -> Result<Counts, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let mut counts = Counts::default();
    loop {
        let seed = seed.wrapping_add(counts.chats);
        runtime
            .block_on(lead(seed, &mut counts))
            .map_err(|wrong| format!("a chat that is compacted, seed {seed}: {wrong}"))?;
        counts.chats += 1;
        if Instant::now() >= deadline {
            return Ok(counts);
        }
    }
}

/// Leads one chat, and looks at what is left of it.
async fn lead(seed: u64, counts: &mut Counts) -> Result<(), String> {
    let mut random = Random::new(seed);
    let talk = random_talk(&mut random)?;
    let (mut store, mut agent) = talk.agent()?;
    let mut said = Vec::new();
    for nth in 0..TURNS {
        let text = format!("{nth:03} {}", words(random.below(600)));
        said.push(text.clone());
        if random.percent(25) {
            let fault = *random.one(&[Fault::KillBefore, Fault::KillAfter, Fault::Torn]);
            talk.disk.fail_in(random.below(150), fault);
        }
        let mut accepted = agent.accept(&talk.chat, inbound(nth, &text)).await.is_ok();
        let mut ran = agent.run(&talk.chat, &Stop::default()).await;
        if talk.disk.is_dead() {
            counts.kills += 1;
            drop((store, agent));
            talk.disk.revive();
            (store, agent) = talk.agent()?;
            accepted |= agent.accept(&talk.chat, inbound(nth, &text)).await.is_ok();
            ran = agent.run(&talk.chat, &Stop::default()).await;
        }
        talk.disk.heal();
        match (accepted, ran) {
            (true, Ok(Some(Outcome::Done) | None)) => counts.turns += 1,
            (accepted, ran) => return Err(format!("turn {nth}: accepted {accepted}, {ran:?}")),
        }
        talk.clock.advance(random.below(400_000) as i64);
        now_and_then(&mut random, &talk, &agent, counts).await?;
    }
    while undo(&talk, &agent, counts).await? {}
    let found = people(&store, &talk).await?;
    match found == said {
        true => Ok(()),
        false => Err(format!("{} of {} messages are back", found.len(), said.len())),
    }
}

/// A window, habits and a provider that nobody would choose.
fn random_talk(random: &mut Random) -> Result<Talk, String> {
    let window = *random.one(&[8_000, 9_500, 12_000, 20_000, 40_000]);
    let factor = *random.one(&[0.7, 1.0, 1.0, 1.2, 1.4]);
    let rules = Rules {
        keep_last_messages: random.below(40),
        max_tokens: *random.one(&[256, 1_000, 8_192]),
        log_lines_max: *random.one(&[30, 20_000]),
        ..Rules::default()
    };
    let talk = Talk::new(window, factor, rules)?;
    let dice = Mutex::new(Random::new(random.number()));
    talk.server.otherwise(Answer::judge(move |exchange| {
        let Ok(mut dice) = dice.lock() else { return Answer::text("") };
        match (asks_for_summary(exchange), dice.below(10)) {
            (false, _) => Answer::text("Aye."),
            (true, 0) => Answer::text(""),
            (true, 1) => Answer::text(SUMMARY.repeat(500)),
            (true, 2) => Answer::call("chat_send", "{}"),
            (true, 3) => faults::content_policy(),
            (true, 4) => faults::reset_mid_text(),
            (true, 5) => Answer::text("No headings, but a fact."),
            (true, _) => Answer::summary(),
        }
    }));
    Ok(talk)
}

/// Lets a person compact, or take a compaction back.
async fn now_and_then(
    random: &mut Random,
    talk: &Talk,
    agent: &Agent,
    counts: &mut Counts,
) -> Result<(), String> {
    if random.percent(5) {
        let compacted = agent.compact(&talk.chat, None).await;
        compacted.map_err(|error| format!("a person's compaction: {error}"))?;
    }
    if random.percent(5) {
        undo(talk, agent, counts).await?;
    }
    Ok(())
}

/// Takes a compaction back; false when there is none.
async fn undo(talk: &Talk, agent: &Agent, counts: &mut Counts) -> Result<bool, String> {
    let undone = agent.undo_compaction(&talk.chat).await.map_err(|error| format!("{error}"))?;
    match undone {
        CompactionUndo::Nothing => return Ok(false),
        CompactionUndo::Messages(_) | CompactionUndo::Outputs(_) => counts.undone += 1,
        CompactionUndo::Purged => return Err("a sealed log is gone".to_owned()),
    }
    Ok(true)
}

/// What people said, as the context has it.
async fn people(store: &FileStore, talk: &Talk) -> Result<Vec<String>, String> {
    let chat = store.open(&talk.chat).await.map_err(|error| error.to_string())?;
    let chat = chat.ok_or("the chat is gone")?;
    let view = chat.log().view().await.map_err(|error| error.to_string())?;
    let view = view.ok_or("the context is gone")?;
    let of_people = |message: &&UiMessage| message.role() == Role::User;
    Ok(view.messages().filter(of_people).map(|it| it.text()).collect())
}
