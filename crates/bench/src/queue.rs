//! Ten thousand messages that came in while the process that ran their chat was frozen: what answering them costs
//! for each, beside a thousand. Counted, not timed: bytes read from a simulated disk, and requests to the model.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use ship_agent::{Agent, Inbound, Stop};
use ship_store::{About, Chat, ChatKey, FileStore, LedgerSeq, Store, View};
use ship_testkit::chat::options;
use ship_testkit::clock::ManualClock;
use ship_testkit::sim::SimDisk;

use crate::report::{Report, Want};

const FEW: usize = 1_000;
const MANY: usize = 10_000;

/// Measures the queue of a chat.
///
/// # Errors
/// When the chat cannot be run, or a message is not in its contexts once and in order.
pub fn bench(report: &mut Report<'_>) -> io::Result<()> {
    report.section("10,000 messages behind a frozen process beside 1,000");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let (few, many) = runtime.block_on(async { (answer(FEW).await, answer(MANY).await) });
    let (few, many) = (few.map_err(io::Error::other)?, many.map_err(io::Error::other)?);
    report.note(&format!("{} answers to {MANY} messages", many.answers));
    let each = |count: u64, of: usize| count as f64 / of as f64;
    let read = each(many.bytes_read, MANY) / each(few.bytes_read, FEW);
    report.ratio("bytes read for each message, of 10,000 over 1,000", read, Want::AtMost(2.0));
    let answers = each(many.answers, MANY) / each(few.answers, FEW);
    report.ratio("answers for each message, of 10,000 over 1,000", answers, Want::AtMost(2.0));
    Ok(())
}

/// What answering took.
struct Cost {
    bytes_read: u64,
    answers: u64,
}

/// Lets messages come in while another process holds the lane, and answers them when it is gone.
async fn answer(count: usize) -> Result<Cost, String> {
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let disk = SimDisk::new();
    let key: ChatKey = "terminal:main".parse().map_err(|error| format!("{error}"))?;
    let frozen = FileStore::on_disk(Box::new(disk.clone()), options());
    let frozen = frozen.create(&key, About::default()).await.map_err(|error| told(&error))?;
    let lane = frozen.lane("run").await.map_err(|error| told(&error))?;
    let store = Arc::new(FileStore::on_disk(Box::new(disk.clone()), options()));
    let agent = agent(Arc::clone(&store));
    for nth in 0..count {
        let inbound = Inbound {
            key: format!("k{nth}"),
            text: format!("message {nth}"),
            request_id: format!("req_{nth}"),
            ..Inbound::default()
        };
        agent.accept(&key, inbound).await.map_err(|error| told(&error))?;
    }
    drop(lane);
    let before = disk.bytes_read();
    agent.run(&key, &Stop::default()).await.map_err(|error| told(&error))?;
    let bytes_read = disk.bytes_read() - before;
    let chat = store.open(&key).await.map_err(|error| told(&error))?.ok_or("the chat is gone")?;
    let (asked, answers) = said(&*chat).await.map_err(|error| told(&error))?;
    let wanted = (0..count).map(|nth| format!("message {nth}"));
    match asked.into_values().eq(wanted) {
        true => Ok(Cost { bytes_read, answers }),
        false => Err(format!("{count} messages are not in the contexts once and in order")),
    }
}

fn agent(store: Arc<FileStore>) -> Agent {
    Agent::builder().shared_store(store).clock(Arc::new(ManualClock::default())).build()
}

/// What people said, by its place in the ledger, and how many answers there are.
async fn said(
    chat: &dyn Chat,
) -> Result<(BTreeMap<LedgerSeq, String>, u64), ship_store::ReadError> {
    let mut asked = BTreeMap::new();
    let mut take = |view: &View| {
        for line in &view.lines {
            if let (Some(seq), Some(message)) = (line.inbox, line.message()) {
                asked.insert(seq, message.text());
            }
        }
    };
    for log in chat.log().sealed().await? {
        take(&chat.log().sealed_view(&log.name).await?);
    }
    chat.log().view().await?.iter().for_each(take);
    let lines = chat.ledger().after(None, usize::MAX).await?;
    let answers = (lines.len() - asked.len()) as u64;
    Ok((asked, answers))
}
