//! Caches the view of the live log: if the log has only grown, only the new lines are parsed.
//!
//! The bytes are read whole each time and their checksum is compared, which is cheap beside parsing them. So the
//! cache never shows what is not on disk now. Anything but added lines, such as another file, damage, a replaced
//! message or a missing blob, makes it read the log from the beginning.

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

/// The cached view of a log.
#[derive(Default)]
pub(crate) struct KeptView {
    state: Mutex<Option<CachedView>>,
}

struct CachedView {
    file: (u64, u64),
    /// The number of bytes that were read, and their checksum.
    len: usize,
    crc: u32,
    view: View,
    /// The ids of the lines in the view.
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

    /// Drops the cached view to free its memory.
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

    /// Adds the new lines to the view. Returns `None` if the bytes do not continue the known ones, or if a line
    /// does more than add to the view. Then the cached view must be dropped, because it may be half changed.
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

/// Returns the id of a line, or an empty text.
fn id(line: &ContextLine) -> &str {
    match &line.body {
        ContextBody::Message(message) => message.str("id").unwrap_or_default(),
        ContextBody::Event(event) => &event.id,
    }
}
