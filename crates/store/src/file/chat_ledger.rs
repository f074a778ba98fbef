//! The ledger of one chat: writers that wait for one sync, and readers of its lines.

use super::blobs::put_texts;
use super::chat::ChatFiles;
use super::ledger::{self, LedgerFold, LedgerWriter};
use super::ledger_reader::LedgerReader;
use super::log::LogTail;
use super::lookup::KnownKey;
use super::right::HeldRight;
use crate::rules::{LedgerAddition, TextBlob, prepare_deliveries, prepare_entry};
use crate::{
    AcceptError, Accepted, Delivery, LedgerEntry, LedgerLine, LedgerSeq, ReadError, StorageError,
};

impl ChatFiles {
    pub(crate) fn accept(&self, entry: LedgerEntry) -> Result<Accepted, AcceptError> {
        let prepared = prepare_entry(entry, self.env.options.message_bytes_max)?;
        self.submit(prepared)
    }

    pub(crate) fn deliver(&self, states: Vec<Delivery>) -> Result<LedgerSeq, AcceptError> {
        let prepared = prepare_deliveries(states, self.env.options.message_bytes_max)?;
        self.submit(prepared).map(|added| added.seq)
    }

    fn submit(
        &self,
        (addition, texts): (LedgerAddition, Vec<TextBlob>),
    ) -> Result<Accepted, AcceptError> {
        put_texts(&self.env, &texts)?;
        self.additions.submit(addition, |waiting| self.add_to_ledger(waiting))
    }

    fn add_to_ledger(&self, waiting: Vec<LedgerAddition>) -> Vec<Result<Accepted, AcceptError>> {
        let count = waiting.len();
        let right = self.take_write_right("accept");
        let writing = right.and_then(|right| Ok((self.ledger_to_write(&right)?, right)));
        match writing {
            Ok((writing, right)) => {
                let (env, folder) = (&*self.env, &*self.paths.conversations);
                let cursor = || self.cursor_for(&right);
                let chat = &self.key;
                let mut writer = LedgerWriter { env, chat, folder, writing, cursor: &cursor };
                let added = writer.add(waiting, self.env.syncs());
                if added.iter().any(Result::is_ok) {
                    self.env.note_arrival(&self.key);
                }
                added
            }
            Err(error) => (0..count).map(|_| Err(error.share().into())).collect(),
        }
    }

    /// Whether the ledger is missing although there was one.
    pub(crate) fn is_ledger_lost(&self) -> Result<bool, StorageError> {
        let folder = &self.paths.conversations;
        if self.env.stat(&ledger::live_path(folder))?.is_some() {
            return Ok(false);
        }
        Ok(ledger::newest_archive(&self.env, folder)? > 0 || self.cursor()?.is_some())
    }

    fn ledger_reader(&self) -> LedgerReader<'_> {
        LedgerReader { env: &self.env, folder: &self.paths.conversations }
    }

    pub(crate) fn ledger_before(
        &self,
        before: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, ReadError> {
        Ok(self.ledger_reader().before(before, limit)?)
    }

    pub(crate) fn ledger_after(
        &self,
        after: Option<LedgerSeq>,
        limit: usize,
    ) -> Result<Vec<LedgerLine>, ReadError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let start = self.ledger.last_known(|known| ledger::start_after(known, after));
        if let Some(start) = start
            && let Some(lines) = self.ledger_reader().after_known_line(start, after, limit)?
        {
            return Ok(lines);
        }
        Ok(self.ledger_reader().after(after, limit)?)
    }

    pub(crate) fn entry_of(
        &self,
        key: &str,
        after: Option<LedgerSeq>,
    ) -> Result<Option<LedgerSeq>, ReadError> {
        let known = self.ledger.last_known(|known| Some(KnownKey::find(known, key)));
        Ok(self.ledger_reader().entry_of(key, after, known)?)
    }

    pub(crate) fn open_deliveries(&self) -> Result<Vec<Delivery>, ReadError> {
        Ok(self.ledger_reader().open_deliveries()?)
    }

    /// Returns the last number that the ledger has given for good.
    pub(super) fn ledger_end(&self, right: &HeldRight) -> Result<Option<LedgerSeq>, StorageError> {
        let given = |known: &LogTail<LedgerFold>| LedgerSeq::new(known.given);
        if let Some(end) = self.ledger.unchanged(right, given)? {
            return Ok(Some(end));
        }
        let ledger = self.ledger.begin_writing(right)?;
        Ok(ledger.tail().map(given))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread::scope;

    use std::sync::Arc;

    use ship_message::json::Object;

    use super::*;
    use crate::disk::MemoryDisk;
    use crate::file::store_env::Env;
    use crate::{About, StoreOptions};

    fn entry(key: &str) -> LedgerEntry {
        LedgerEntry { key: key.to_owned(), entry: Object::from([("text", "hi")]) }
    }

    /// The lines of one batch are written and synced together.
    #[test]
    fn entries_that_come_during_a_write_are_one_batch() {
        let env = Arc::new(Env::new(Box::new(MemoryDisk::new()), StoreOptions::default()));
        let chat = ChatFiles::new(env, "a".parse().unwrap());
        chat.create(&About::default()).unwrap();
        chat.accept(entry("first")).unwrap();
        // The first writer takes as long as this is held.
        let right = chat.take_write_right("test").unwrap();
        let seqs: BTreeSet<u64> = scope(|scope| {
            let accept = |number: usize| {
                let chat = &chat;
                scope.spawn(move || chat.accept(entry(&number.to_string())).unwrap().seq.get())
            };
            let leader = accept(0);
            chat.additions.wait_for(0);
            let others: Vec<_> = (1..8).map(accept).collect();
            chat.additions.wait_for(others.len());
            drop(right);
            leader.join().unwrap();
            others.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let (first, last) = (seqs.first().unwrap(), seqs.last().unwrap());
        assert_eq!((seqs.len(), last - first), (7, 6));
        let (_, bytes) =
            chat.env.read(&chat.paths.conversations.join("history.jsonl")).unwrap().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches(&format!(r#""batch":[{first},{last}]"#)).count(), 7, "{text}");
    }
}
