//! A group in which people talk with each other: what a question costs after 50,000 lines between people, beside one
//! after 50.

use std::io;

use ship_agent::{Agent, Inbound};
use ship_store::ChatKey;
use tokio::task::JoinSet;

use super::fleet::{Fleet, failed};
use crate::processor::{all_time, read_bytes};
use crate::report::{Report, Want};

/// A ledger is read once, and other files with it.
const READS_MAX: f64 = 1.5;
const READS_AGAIN_MAX: f64 = 0.1;
const FEW: usize = 50;
const ROUNDS: usize = 5;

pub(super) async fn bench(
    fleet: &Fleet,
    observed: usize,
    report: &mut Report<'_>,
) -> io::Result<()> {
    let agent = fleet.agent(None)?;
    let (quiet, loud) = (Group::begin(&agent, "quiet").await?, Group::begin(&agent, "loud").await?);
    quiet.talk(&agent, FEW).await?;
    loud.talk(&agent, observed).await?;
    // A new process has to read what was said; the next looks find it read.
    let cold = fleet.agent(None)?;
    let begun = read_bytes();
    let first = loud.look(&cold).await?;
    let read = read_bytes() - begun;
    let again = loud.look(&cold).await?;
    let read_again = read_bytes() - begun - read;
    report.note(&format!(
        "a look after {observed} lines: {first:.1} ms in a new process, then {again:.2} ms"
    ));
    let ledger = fleet.ledger_bytes(&loud.chat)?.max(1) as f64;
    let what = "bytes that a new process reads over those of the ledger";
    report.ratio(what, read as f64 / ledger, Want::AtMost(READS_MAX));
    let what = "bytes that its next look reads over those of the ledger";
    report.ratio(what, read_again as f64 / ledger, Want::AtMost(READS_AGAIN_MAX));
    drop(cold);
    let (mut after_few, mut after_many) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        // One beside the other, so that whatever else the machine does disturbs both.
        after_few = after_few.min(quiet.look(&agent).await?);
        after_many = after_many.min(loud.look(&agent).await?);
    }
    let looks = after_many / after_few;
    report.ratio("a look after 50,000 observed lines over 50", looks, Want::AtMost(1.5));
    let (few, many) = (quiet.ask(&agent).await?, loud.ask(&agent).await?);
    report
        .note(&format!("a question: {few:.1} ms after {FEW} lines, {many:.1} ms after {observed}"));
    report.ratio("a question after 50,000 observed lines over 50", many / few, Want::AtMost(1.5));
    Ok(())
}

struct Group {
    chat: ChatKey,
}

impl Group {
    /// Begins a group with a question, so that it has a context.
    async fn begin(agent: &Agent, name: &str) -> io::Result<Self> {
        let group = Self { chat: format!("group:{name}").parse().map_err(failed)? };
        agent.send(&group.chat, line("Ship ahoy, who are you?", false)).await.map_err(failed)?;
        Ok(group)
    }

    /// Lets people say so many lines to each other.
    async fn talk(&self, agent: &Agent, lines: usize) -> io::Result<()> {
        let mut accepting = JoinSet::new();
        for number in 0..lines {
            let (agent, chat) = (agent.clone(), self.chat.clone());
            let said = line(&format!("This is the {number}th thing that I tell you all."), true);
            accepting.spawn(async move { agent.accept(&chat, said).await });
            if accepting.len() >= 64
                && let Some(accepted) = accepting.join_next().await
            {
                accepted?.map_err(failed)?;
            }
        }
        while let Some(accepted) = accepting.join_next().await {
            accepted?.map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the processor time of a look that finds nothing to answer, in milliseconds.
    async fn look(&self, agent: &Agent) -> io::Result<f64> {
        let before = all_time();
        let done = agent.run(&self.chat, &ship_agent::Stop::default()).await.map_err(failed)?;
        match done {
            None => Ok(all_time().saturating_sub(before).as_secs_f64() * 1e3),
            Some(outcome) => Err(failed(format!("there was something to answer: {outcome:?}"))),
        }
    }

    /// Returns the processor time of a question, in milliseconds.
    async fn ask(&self, agent: &Agent) -> io::Result<f64> {
        let before = all_time();
        agent.send(&self.chat, line("When do we sail?", false)).await.map_err(failed)?;
        Ok(all_time().saturating_sub(before).as_secs_f64() * 1e3)
    }
}

fn line(text: &str, observed: bool) -> Inbound {
    let channel = "telegram".to_owned();
    Inbound { channel, username: Some("ann".to_owned()), observed, ..Inbound::from(text) }
}
