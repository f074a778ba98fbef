//! Reports what other processes do to the contexts of a chat.
//!
//! The agent reports the changes of this process at once. The ledger has the changes of all processes, so the news
//! are the changes in the ledger that were not reported.

use ship_agent::{Agent, Listener, RunEvent};
use ship_message::Chunk;
use ship_store::{Chat, LedgerBody, LedgerLine, LedgerSeq, Moment};

use super::message_exchange::{ContextNotice, Notice, read_notice};
use crate::failure::Failure;
use crate::session::Session;

/// The number of ledger lines that are read at once.
const PAGE: usize = 200;

/// The changes to the contexts of a chat from a certain time on.
pub(crate) struct ContextNews<'a> {
    session: &'a Session,
    /// Receives the events of this process's own agent.
    listener: Listener,
    reported: Vec<String>,
    /// The last ledger line that was read.
    last_seen: Option<LedgerSeq>,
    /// The moment of the last look at the ledger.
    looked_at: Moment,
}

impl<'a> ContextNews<'a> {
    pub(crate) async fn from_now(session: &'a Session, agent: &Agent) -> Result<Self, Failure> {
        let listener = agent.listen(&session.chat);
        let looked_at = session.store()?.moment();
        let seen = match session.store()?.open(&session.chat).await? {
            Some(chat) => chat.ledger().before(None, 1).await?.last().map(|line| line.seq),
            None => None,
        };
        Ok(Self { session, listener, reported: Vec::new(), last_seen: seen, looked_at })
    }

    /// Waits until something may be new.
    pub(crate) async fn changed(&self) {
        // A store that cannot be opened is reported by the next look.
        if let Ok(store) = self.session.store() {
            store.changed(self.looked_at).await;
        }
    }

    /// Returns the changes that were not reported here yet, in order.
    pub(crate) async fn read(&mut self) -> Result<Vec<ContextNotice>, Failure> {
        while let Some(event) = self.listener.try_next() {
            if let RunEvent::Chunk(Chunk::Data(part)) = &*event
                && let Some(Notice::Context(notice)) = read_notice(part)
            {
                self.reported.push(notice.line);
            }
        }
        let mut news = Vec::new();
        self.looked_at = self.session.store()?.moment();
        let Some(chat) = self.session.store()?.open(&self.session.chat).await? else {
            return Ok(news);
        };
        for line in self.unseen_lines(&*chat).await? {
            let Some(notice) = context_notice(&line) else { continue };
            match self.reported.iter().position(|reported| *reported == notice.line) {
                Some(at) => drop(self.reported.remove(at)),
                None => news.push(notice),
            }
        }
        Ok(news)
    }

    async fn unseen_lines(&mut self, chat: &dyn Chat) -> Result<Vec<LedgerLine>, Failure> {
        let mut lines = Vec::new();
        loop {
            let page = chat.ledger().after(self.last_seen, PAGE).await?;
            let is_last = page.len() < PAGE;
            self.last_seen = page.last().map(|line| line.seq).or(self.last_seen);
            lines.extend(page);
            if is_last {
                return Ok(lines);
            }
        }
    }
}

/// Returns the notice of an entry about contexts. A refused operation concerns only the person that asked for it.
fn context_notice(line: &LedgerLine) -> Option<ContextNotice> {
    let LedgerBody::Entry(entry) = &line.body else { return None };
    let change = match entry.via()? {
        "switch" => entry.entry.get("meta")?,
        "operation" => entry.entry.get("meta")?.get("operated")?,
        _ => return None,
    };
    let is_done = change.get("notDone").is_none();
    let text = entry.entry.str("text").filter(|_| is_done)?;
    Some(ContextNotice::new(text, change.get("wayBack")))
}
