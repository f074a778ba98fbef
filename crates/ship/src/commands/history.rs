//! `ship history`: prints the messages of a chat, from the live log and sealed ones.

mod context_marks;
mod printed_message;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::ExitCode;

use ship_agent::inbound_message_id;
use ship_context::compact::is_summary;
use ship_context::contexts::is_reference;
use ship_message::UiPart;
use ship_message::json::{Json, Object};
use ship_message::{Role, UiMessage};
use ship_store::{
    Chat, ContextId, LedgerBody, LedgerEntry, LedgerLine, LedgerSeq, NewMetadata, SealedLog, Seq,
    View,
};

use crate::arguments::DEFAULT_CHAT;
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::style::Style;
use crate::table;
use context_marks::ContextMarks;
use printed_message::print_message;

pub(crate) async fn run(session: &Session, last: usize, ledger: bool) -> Result<ExitCode, Failure> {
    let Some(chat) = session.store()?.open(&session.chat).await? else {
        // Every project has the default chat, so it is not an error that nothing was said in it yet.
        if session.chat.as_str() == DEFAULT_CHAT {
            return print_nothing(session);
        }
        return Err(Failure::new("no_chat", format!("there is no chat `{}`", session.chat))
            .with_hint("`ship chats` lists them"));
    };
    if ledger {
        print_ledger(session, &*chat, last).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // Waiting messages are read first: one that is answered meanwhile is then found twice, and shown once.
    let waiting = waiting_messages(&*chat).await?;
    let mut history = History::find(&*chat, last).await?;
    let is_new = |new: &UiMessage| !history.has(new.id().unwrap_or_default());
    let waiting: Vec<UiMessage> = waiting.into_iter().filter(is_new).collect();
    let all = history.len() + waiting.len();
    let first = all.saturating_sub(last);
    let print = |message: UiMessage| match session.json {
        true => output::print_json(&message.into_json()),
        false => print_message(&message, Style::of_stdout(), session.project.settings()),
    };
    let mut marks = ContextMarks::new(session, &history, first).await;
    for nth in first..history.len() {
        let Some(message) = history.message(nth).await? else { continue };
        let context = history.context_of(nth);
        if let Some(mark) = context.and_then(|context| marks.enter(context, &message)) {
            output::print_line(&mark)?;
        }
        print(message)?;
    }
    waiting.into_iter().skip(first.saturating_sub(history.len())).try_for_each(print)?;
    if all == 0 && last > 0 {
        return print_nothing(session);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_nothing(session: &Session) -> Result<ExitCode, Failure> {
    if !session.json {
        output::print_line("Nothing was said yet.")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The newest messages of a chat, oldest first, each once: from the live log, and from sealed ones
/// as far as needed.
///
/// A log that the chat came back to has messages older than those of other logs. So all are sorted in the order of
/// the ledger, which does not depend on any clock. Only their places are in memory. A message is read when it is
/// needed, and at most one sealed log is held at a time.
struct History<'a> {
    chat: &'a dyn Chat,
    live: Option<View>,
    sealed: Vec<SealedLog>,
    /// The sealed log that was read last, with its index.
    open: Option<(usize, View)>,
    found: FoundMessages,
    /// The messages in their order.
    order: Vec<TimedMessages>,
}

/// The place of one message, with its position in the order.
#[derive(Clone, Copy)]
struct TimedMessages {
    place: HistoryPlace,
    /// The index of the log: 0 is the live log, 1 the newest sealed one.
    log: usize,
    seq: Seq,
}

/// The position of a message: at its own ledger entry, or after that of the last question before it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct HistoryPlace {
    entry: u64,
    is_behind: bool,
}

impl<'a> History<'a> {
    async fn find(chat: &'a dyn Chat, last: usize) -> Result<Self, Failure> {
        let mut found = FoundMessages::default();
        // The live log goes first: if it is rotated meanwhile, it is then found among the sealed ones.
        let live = chat.log().view().await?;
        if let Some(view) = &live {
            found.add_log(view, 0);
        }
        let mut after = live.as_ref().map(|view| view.head.inbox);
        let sealed = chat.log().sealed().await?;
        let mut open = None;
        for (nth, log) in sealed.iter().enumerate() {
            // A head says how far the ledger was read when the logs before it were sealed.
            let read = after.map_or(u64::MAX, |inbox| inbox.map_or(0, LedgerSeq::get));
            if found.count_after(read) >= last {
                break;
            }
            if log.purged.is_none() {
                // The log before it is dropped first, so that only one is in memory.
                drop(open.take());
                open = chat
                    .log()
                    .sealed_view_if_readable(&log.name)
                    .await?
                    .map(|view| (nth + 1, view));
                open.iter().for_each(|(_, view)| found.add_log(view, nth + 1));
            }
            after = Some(log.head.inbox);
        }
        let mut order: Vec<TimedMessages> = found.places.values().copied().collect();
        // At one position, messages of older logs come first.
        order.sort_unstable_by_key(|history| (history.place, Reverse(history.log), history.seq));
        Ok(Self { chat, live, sealed, open, found, order })
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn has(&self, id: &str) -> bool {
        self.found.places.contains_key(id)
    }

    /// Returns the context in which a message is.
    fn context_of(&self, nth: usize) -> Option<&ContextId> {
        match self.order[nth].log.checked_sub(1) {
            None => self.live.as_ref().map(|view| &view.head.context),
            Some(sealed) => self.sealed.get(sealed).map(|log| &log.head.context),
        }
    }

    /// Reads a message; `None` if its log was purged meanwhile.
    async fn message(&mut self, nth: usize) -> Result<Option<UiMessage>, Failure> {
        let TimedMessages { log, seq, .. } = self.order[nth];
        let view = match (log.checked_sub(1), &self.live) {
            (None, live) => live.as_ref(),
            (Some(sealed), _) => {
                if self.open.as_ref().is_none_or(|(open, _)| *open != log) {
                    drop(self.open.take());
                    let name = &self.sealed[sealed].name;
                    let view = self.chat.log().sealed_view_if_readable(name).await?;
                    self.open = view.map(|view| (log, view));
                }
                self.open.as_ref().map(|(_, view)| view)
            }
        };
        let at = |view: &View| view.lines.binary_search_by_key(&seq, |line| line.seq).ok();
        let line = view.and_then(|view| view.lines.get(at(view)?));
        Ok(line.and_then(|line| line.message().cloned()))
    }
}

/// The messages that were found, with their places.
#[derive(Default)]
struct FoundMessages {
    places: HashMap<String, TimedMessages>,
}

impl FoundMessages {
    /// Adds the messages of a log that are not found yet.
    fn add_log(&mut self, view: &View, log: usize) {
        let mut place = HistoryPlace::default();
        for line in &view.lines {
            let Some(message) = line.message() else { continue };
            // A summary or a reference was never said; the messages it covers are in a sealed log.
            if is_summary(message) || is_reference(message) {
                continue;
            }
            // The order within a log counts: a message sent during an answer stands after it, even if a later log
            // has only one of the two.
            let entry = line.inbox.map_or(0, LedgerSeq::get);
            place = HistoryPlace { entry: entry.max(place.entry), is_behind: entry <= place.entry };
            match self.places.entry(message.id().unwrap_or_default().to_owned()) {
                Entry::Vacant(known) => {
                    known.insert(TimedMessages { place, log, seq: line.seq });
                }
                // A log that begins with an answer lacks its question; an older log has it.
                Entry::Occupied(mut known) => known.get_mut().place = place.max(known.get().place),
            }
        }
    }

    /// Counts the messages for ledger entries after `entry`.
    fn count_after(&self, entry: u64) -> usize {
        self.places.values().filter(|history| history.place.entry > entry).count()
    }
}

/// Returns the accepted messages that are in no context yet, marked as queued.
async fn waiting_messages(chat: &dyn Chat) -> Result<Vec<UiMessage>, Failure> {
    let view = chat.log().view().await?;
    let inbox = view.as_ref().and_then(|view| view.inbox);
    let message = |line: LedgerLine| {
        let LedgerBody::Entry(entry) = line.body else { return None };
        (entry.entry.str("role") == Some("user")).then_some(())?;
        let text = entry.entry.get("text").cloned().unwrap_or_default();
        let part = Object::from([("type", Json::from("text")), ("text", text)]);
        let attached = entry.entry.get("attachments").and_then(Json::as_array);
        let parts = std::iter::once(Json::from(part)).chain(attached.unwrap_or_default().to_vec());
        let parts = parts.map(UiPart::from_json).collect();
        let first = || format!("u_{}", line.seq);
        let id = view.as_ref().map_or_else(first, |view| inbound_message_id(view, line.seq));
        let mut message = UiMessage::new(id, Role::User, parts);
        NewMetadata::of_queued(entry).write_to(&mut message);
        Some(message)
    };
    Ok(super::chats::unread_lines(chat, inbox).await?.into_iter().filter_map(message).collect())
}

async fn print_ledger(session: &Session, chat: &dyn Chat, last: usize) -> Result<(), Failure> {
    visit_last_entries(chat, last, |seq, entry| print_entry(session, seq, entry)).await
}

/// Calls `visit` with the last entries of the ledger, in order.
async fn visit_last_entries(
    chat: &dyn Chat,
    last: usize,
    mut visit: impl FnMut(LedgerSeq, LedgerEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(newest) = chat.ledger().before(None, 1).await?.first().map(|line| line.seq) else {
        return Ok(());
    };
    let (after, mut to_skip) = find_last_entries(chat, newest.get(), last).await?;
    visit_entries(chat, after, u64::MAX, |seq, entry| match to_skip {
        0 => visit(seq, entry),
        _ => {
            to_skip -= 1;
            Ok(())
        }
    })
    .await
}

/// Returns a number after which the last entries are, and how many others are before them. Heads, voids and deliveries
/// have numbers too, so the numbers alone do not tell.
async fn find_last_entries(
    chat: &dyn Chat,
    newest: u64,
    last: usize,
) -> Result<(u64, usize), Failure> {
    let mut width = last as u64;
    if newest <= width {
        return Ok((0, 0));
    }
    let (mut after, mut found) = (newest, 0);
    while found < last && after > 0 {
        let end = after;
        after = end.saturating_sub(width);
        visit_entries(chat, after, end, |_, _| {
            found += 1;
            Ok(())
        })
        .await?;
        // Doubled, because numbers can be far apart.
        width = width.saturating_mul(2);
    }
    Ok((after, found.saturating_sub(last)))
}

/// Calls `visit` with each entry of the ledger after one number and up to another.
async fn visit_entries(
    chat: &dyn Chat,
    mut after: u64,
    end: u64,
    mut visit: impl FnMut(LedgerSeq, LedgerEntry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// The number of lines that are in memory at once.
    const PAGE: usize = 500;
    loop {
        let page = chat.ledger().after(Some(LedgerSeq::new(after)), PAGE).await?;
        let is_end = page.len() < PAGE;
        for LedgerLine { seq, body } in page {
            if seq.get() > end {
                return Ok(());
            }
            after = seq.get();
            if let LedgerBody::Entry(entry) = body {
                visit(seq, entry)?;
            }
        }
        if is_end {
            return Ok(());
        }
    }
}

fn print_entry(session: &Session, seq: LedgerSeq, entry: LedgerEntry) -> Result<(), Failure> {
    if session.json {
        let mut object = entry.entry;
        object.set("seq", seq.get());
        return output::print_json(&Json::Object(object));
    }
    let role = table::pad(entry.entry.str("role").unwrap_or("?"), 9);
    let text = output::escape_unprintable(entry.entry.str("text").unwrap_or_default());
    let files = entry.entry.get("attachments").and_then(Json::as_array).map_or(0, <[Json]>::len);
    let text = match files {
        0 => text,
        1 => format!("{text}\n[1 file]"),
        _ => format!("{text}\n[{files} files]"),
    };
    // Further lines are indented, so that a text cannot pose as an entry.
    let text = text.replace('\n', &format!("\n{:17}", ""));
    output::print_line(&format!("{:>5}  {} {text}", seq.get(), Style::of_stdout().bold(&role)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ship_store::{
        Clock, Delivery, DeliveryState, FileStore, Head, LogPiece, MessageId, NewMessage, Position,
        Rotation, StoreOptions, Timestamp,
    };
    use ship_testkit::chat::{Begun, entry, id, message, options};
    use ship_testkit::clock::ManualClock;

    use super::*;

    /// A chat with a clock that may jump before each message.
    struct Chatter {
        begun: Begun,
        clock: ManualClock,
        jump_ms: i64,
    }

    impl Chatter {
        async fn new(jump_ms: i64) -> Self {
            let clock = ManualClock::default();
            let options = StoreOptions { clock: Arc::new(clock.clone()), ..options() };
            let begun = Begun::new(&FileStore::in_memory(options), "terminal:main").await;
            Self { begun, clock, jump_ms }
        }

        /// Asks a question and answers it.
        async fn say(&mut self, text: &str) {
            self.clock.advance(1_000 + self.jump_ms);
            self.jump_ms = -self.jump_ms;
            let now = self.clock.now().millis();
            let inbox = self.begun.chat.ledger().accept(entry(text, text)).await.unwrap().seq;
            let history = |id: &str, ts: i64| {
                let mut history = message(id, id);
                history.set("metadata", Object::from([("ts", Json::from(ts as f64))]));
                history
            };
            let question = NewMessage { message: history(text, now), rev: 0, inbox: Some(inbox) };
            let answer = format!("{text}!");
            let answer = NewMessage { message: history(&answer, now + 1), rev: 0, inbox: None };
            let batch = vec![question.into(), answer.into()];
            self.begun.position = self.begun.lane.append(batch, self.begun.position).await.unwrap();
        }

        /// Continues in another context with the lines of a sealed log, the nth from the newest.
        async fn switch(&mut self, back_to: Option<usize>) {
            let Position { generation, .. } = self.begun.position;
            let sealed = self.begun.chat.log().sealed().await.unwrap();
            let whole = |SealedLog { name: log, first, last, .. }| LogPiece::Sealed {
                log,
                first: first.next(),
                last,
            };
            let pieces = back_to.map(|nth| whole(sealed[nth].clone())).into_iter().collect();
            let head = Head::new(ContextId::new(Timestamp::from_millis(0), generation.get() + 2));
            let rotation = Rotation { expected: Some(generation), head, pieces };
            self.begun.position = self.begun.lane.rotate(rotation).await.unwrap().position;
        }

        /// Continues with the lines of the live log up to a message.
        async fn rewind_to(&mut self, id: &str) {
            let view = self.begun.chat.log().view().await.unwrap().unwrap();
            let last = view.line_of(&MessageId::new(id).unwrap()).unwrap();
            let pieces = vec![LogPiece::Keep(view.lines[0].seq, last)];
            let expected = Some(self.begun.position.generation);
            let rotation = Rotation { expected, head: view.head, pieces };
            self.begun.position = self.begun.lane.rotate(rotation).await.unwrap().position;
        }

        async fn newest(&self, last: usize) -> Vec<String> {
            let chat = Arc::clone(&self.begun.chat);
            let mut history = History::find(&*chat, last).await.unwrap();
            let mut ids = Vec::new();
            for nth in history.len().saturating_sub(last)..history.len() {
                ids.push(id(&history.message(nth).await.unwrap().unwrap()));
            }
            ids
        }
    }

    const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;

    #[tokio::test]
    async fn what_was_said_is_in_the_order_of_the_ledger_whatever_the_clock_showed() {
        for jump_ms in [0, YEAR_MS, -YEAR_MS] {
            let mut chatter = Chatter::new(jump_ms).await;
            chatter.say("trip").await;
            chatter.say("boat").await;
            chatter.switch(None).await;
            chatter.say("soup").await;
            chatter.switch(Some(0)).await;
            chatter.say("mast").await;
            // The rewind keeps the question alone, so its answer is only in the sealed log.
            chatter.rewind_to("mast").await;
            let all = ["trip", "trip!", "boat", "boat!", "soup", "soup!", "mast", "mast!"];
            for last in 0..=all.len() + 1 {
                let wanted = &all[all.len().saturating_sub(last)..];
                assert_eq!(chatter.newest(last).await, wanted, "{jump_ms} ms, the last {last}");
            }
        }
    }

    #[tokio::test]
    async fn messages_of_a_log_that_is_purged_while_they_are_shown_are_passed_over() {
        let mut chatter = Chatter::new(0).await;
        chatter.say("trip").await;
        chatter.switch(None).await;
        chatter.say("soup").await;
        let chat = Arc::clone(&chatter.begun.chat);
        let mut history = History::find(&*chat, 9).await.unwrap();
        history.open = None;
        let log = history.sealed[0].name.clone();
        chatter.begun.lane.purge(&log, "compact").await.unwrap();
        let mut shown = Vec::new();
        for nth in 0..history.len() {
            shown.extend(history.message(nth).await.unwrap().map(|message| id(&message)));
        }
        assert_eq!(shown, ["soup", "soup!"]);
    }

    #[tokio::test]
    async fn as_many_entries_of_the_ledger_as_asked_for_are_printed_whatever_is_between_them() {
        let begun = Begun::new(&FileStore::in_memory(options()), "terminal:main").await;
        for nth in 0..30 {
            let accepted = begun.chat.ledger().accept(entry(&format!("k{nth}"), "x")).await;
            // One entry has a long row of deliveries behind it.
            let rows = if nth == 20 { 60 } else { nth % 3 };
            let planned = (0..rows).map(|id| Delivery {
                entry: accepted.as_ref().unwrap().seq,
                id: id.to_string(),
                ts: Timestamp::from_millis(0),
                state: DeliveryState::Planned,
                data: Object::new(),
            });
            let planned: Vec<Delivery> = planned.collect();
            if !planned.is_empty() {
                begun.lane.deliver(planned).await.unwrap();
            }
        }
        for last in 0..40 {
            let mut keys = Vec::new();
            let visit = |_, entry: LedgerEntry| {
                keys.push(entry.key);
                Ok(())
            };
            visit_last_entries(&*begun.chat, last, visit).await.unwrap();
            let expected: Vec<String> =
                (30usize.saturating_sub(last)..30).map(|nth| format!("k{nth}")).collect();
            assert_eq!(keys, expected, "the last {last}");
        }
    }
}
