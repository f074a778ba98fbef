//! The view of the live log as it was last read: of a log that has only grown, what is new is read.
//!
//! The bytes are read whole each time and their checksum is compared, which costs next to nothing beside
//! reading lines out of them, so nothing is believed that is not on disk now. What is not simply more of the
//! same, be it another file, damage, a replaced message or a missing blob, is read from the beginning.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::env::Env;
use super::prepare;
use super::view::{to_line, view_of};
use crate::disk::FileLook;
use crate::line::RawLine;
use crate::scan::scan;
use crate::{ContextBody, ContextLine, LedgerSeq, Seq, StorageError, View};

/// What is kept of the view of a log.
#[derive(Default)]
pub(crate) struct KeptView {
    state: Mutex<Option<CachedView>>,
}

struct CachedView {
    file: (u64, u64),
    /// How many bytes were read, and their checksum.
    len: usize,
    crc: u32,
    view: View,
    /// The ids of its lines.
    ids: HashSet<String>,
}

impl KeptView {
    /// Reads a log as a view; `None` if there is no file.
    pub(crate) fn read(&self, env: &Env, path: &Path) -> Result<Option<View>, StorageError> {
        let Some((look, bytes)) = env.read(path)? else {
            self.forget();
            return Ok(None);
        };
        let mut state = self.lock();
        if let Some(mut kept) = state.take()
            && kept.follow(env, look, &bytes).is_some()
        {
            return Ok(Some(state.insert(kept).view.clone()));
        }
        let seen = view_of(env, path, &bytes)?;
        if seen.whole {
            *state = Some(CachedView::new(look, &bytes, seen.view.clone()));
        }
        Ok(Some(seen.view))
    }

    /// Forgets it, for the memory it takes.
    pub(crate) fn forget(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CachedView>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedView {
    fn new(look: FileLook, bytes: &[u8], view: View) -> Self {
        let ids = view.lines.iter().map(|line| id(line).to_owned()).collect();
        Self { file: look.file, len: bytes.len(), crc: crc32c::crc32c(bytes), view, ids }
    }

    /// Takes in what is new. `None` if these bytes are not those it was made of and more lines, or if one of
    /// them does more than add to the view; then nothing of it is to be believed.
    fn follow(&mut self, env: &Env, look: FileLook, bytes: &[u8]) -> Option<()> {
        let (known, new) = bytes.split_at_checked(self.len)?;
        if look.file != self.file || crc32c::crc32c(known) != self.crc {
            return None;
        }
        let found = scan(new, Some(self.view.position.seq.get() + 1));
        if !found.is_whole(new) {
            return None;
        }
        for found in found.lines {
            self.add(env, found.line)?;
        }
        self.len = bytes.len();
        self.crc = crc32c::crc32c_append(self.crc, new);
        Some(())
    }

    fn add(&mut self, env: &Env, mut raw: RawLine) -> Option<()> {
        if raw.rev > 0 || raw.event() == Some("head") {
            return None;
        }
        let mut problems = Vec::new();
        prepare::resolve(env, &mut raw, "", &mut problems).ok()?;
        let (seq, crc, inbox) = (raw.seq, raw.crc, raw.inbox);
        let line = to_line(raw).filter(|_| problems.is_empty())?;
        if !self.ids.insert(id(&line).to_owned()) {
            return None;
        }
        self.view.position.seq = Seq::new(seq);
        self.view.crc = crc;
        self.view.inbox = self.view.inbox.max(inbox.map(LedgerSeq::new));
        self.view.lines.push(Arc::new(line));
        Some(())
    }
}

/// What names a line; nothing if nothing does.
fn id(line: &ContextLine) -> &str {
    match &line.body {
        ContextBody::Message(message) => message.str("id").unwrap_or_default(),
        ContextBody::Event(event) => &event.id,
    }
}
