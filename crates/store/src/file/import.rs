//! Imports logs into a chat.
//!
//! Each log is written aside as it comes and synced, without the write right, because that may take long. Then, under the
//! right, the logs get their names in `messages/archive/`, the live log is sealed, and the new live log takes its place
//! in one rename. Before that rename no log of the chat refers to the imported ones. `unpublished` finds those that a
//! killed import left.

use std::path::Path;

use super::aside_logs::AsideLogs;
use super::blobs::put_texts;
use super::chat::ChatFiles;
use super::context::{self, ContextFold};
use super::log::Writing;
use super::log_reading::first_line;
use super::right::HeldRight;
use super::rotate::{self, sealed_path};
use super::{published, view};
use crate::line::{LineKind, RawLine, decode, quick_outline};
use crate::rules::{ImportChain, PlannedRotation, PreparedRotation};
use crate::{
    Import, ImportError, ImportPiece, ImportSource, Imported, LiveAfterImport, Position, Seq,
    StorageError,
};

impl ChatFiles {
    /// Imports logs, all or nothing. `check_lane` refuses to go on once the lane is lost.
    pub(crate) fn import(
        &self,
        import: Import,
        check_lane: &dyn Fn() -> Result<(), StorageError>,
    ) -> Result<Imported, ImportError> {
        let mut chain = self.begin_import(import.expected)?;
        let mut aside = AsideLogs::new(&self.env, &self.paths.archive);
        self.write_logs(import.source, &mut chain, &mut aside)?;
        self.compare_logs(&mut chain)?;
        check_lane()?;
        let right = self.take_write_right("import")?;
        let writing = self.context.begin_writing(&right)?;
        self.check_end(&writing, &chain, import.expected)?;
        self.publish_import(&right, writing, chain, import.live, &mut aside)
    }

    /// Looks at the live log, behind which the import begins, and sets aside what an interrupted import left.
    fn begin_import(&self, expected: Position) -> Result<ImportChain, ImportError> {
        let right = self.take_write_right("import")?;
        let writing = self.context.begin_writing(&right)?;
        let live = writing.tail().map(context::live_log);
        if live.is_none() {
            self.check_first()?;
        }
        let found = live.map(|live| live.end.position);
        let Some(live) = live.filter(|_| found == Some(expected)) else {
            return Err(ImportError::Moved { chat: self.key.clone(), expected, found });
        };
        drop(writing);
        self.set_unpublished_aside()?;
        Ok(ImportChain::new(&self.key, live, self.env.options.now()))
    }

    /// Writes the logs of the source aside.
    fn write_logs(
        &self,
        source: ImportSource,
        chain: &mut ImportChain,
        aside: &mut AsideLogs<'_>,
    ) -> Result<(), ImportError> {
        let bytes_max = self.env.options.message_bytes_max;
        for piece in source {
            match piece.map_err(ImportError::Source)? {
                ImportPiece::Log(head) => {
                    aside.end(chain.end_log())?;
                    let (seq, line) = chain.begin_log(head);
                    aside.begin(seq)?;
                    aside.add(seq, &line)?;
                }
                ImportPiece::Line(new) => {
                    let (seq, line, texts) = chain.add(new, bytes_max)?;
                    put_texts(&self.env, &texts)?;
                    aside.add(seq, &line)?;
                }
            }
        }
        aside.end(chain.end_log())?;
        match chain.logs().is_empty() {
            true => Err(ImportError::NoLog),
            false => Ok(()),
        }
    }

    /// Compares the imported messages with those of the chat, the newest log first.
    fn compare_logs(&self, chain: &mut ImportChain) -> Result<(), ImportError> {
        self.compare_log(chain, &self.paths.live)?;
        let sealed = self.sealed_logs(None, usize::MAX).map_err(ImportError::Read)?;
        for log in sealed {
            self.compare_log(chain, &sealed_path(&self.paths.archive, &log.name))?;
        }
        Ok(())
    }

    fn compare_log(&self, chain: &mut ImportChain, path: &Path) -> Result<(), ImportError> {
        let Some((_, bytes)) = self.env.read(path)? else { return Ok(()) };
        let lines: Vec<RawLine> = {
            // Most lines have other ids, and the outline of such a line suffices.
            let may_have = |line: &[u8]| match quick_outline(line) {
                Some(line) => {
                    line.kind == LineKind::Message && line.id.is_some_and(|id| chain.has(id))
                }
                None => true,
            };
            let lines = bytes.split(|&byte| byte == b'\n').filter(|line| may_have(line));
            lines.filter_map(decode).collect()
        };
        chain.compare(lines.into_iter())
    }

    /// Checks that the live log is still the one behind which the import began.
    fn check_end(
        &self,
        writing: &Writing<'_, ContextFold>,
        chain: &ImportChain,
        expected: Position,
    ) -> Result<(), ImportError> {
        let live = writing.tail().map(context::live_log);
        match live.as_ref() == Some(chain.live()) {
            true => Ok(()),
            false => {
                let (chat, found) = (self.key.clone(), live.map(|live| live.end.position));
                Err(ImportError::Moved { chat, expected, found })
            }
        }
    }

    fn publish_import(
        &self,
        right: &HeldRight,
        mut writing: Writing<'_, ContextFold>,
        chain: ImportChain,
        live: LiveAfterImport,
        aside: &mut AsideLogs<'_>,
    ) -> Result<Imported, ImportError> {
        let rotation = self.rotation_of_import(&chain, live)?;
        let ledger_end = match rotation.promoted(Some(chain.live())) {
            Some(_) => self.ledger_end(right)?,
            None => None,
        };
        let kept = rotate::kept_lines(&writing, &rotation)?;
        let (logs, old) = (chain.logs().to_vec(), chain.live().first);
        let PlannedRotation { log, rotated } = chain.publish(rotation, kept, ledger_end)?;
        let Some(sealed) = rotated.sealed else { return Err(ImportError::NoLog) };
        let path = sealed_path(&self.paths.archive, &sealed);
        let published = aside.name_logs().and_then(|()| {
            // This syncs the folder of the sealed logs before the new log gets its name.
            published::publish(log, &self.env, &mut writing, &self.key, Some(&path))
        });
        // Only the rename of the live log decides. After it, a failed sync takes nothing back.
        if published.is_ok() || !self.begins_with(old) {
            aside.keep();
        }
        self.forget_view();
        published?;
        self.link_active();
        self.env.changes.note_write(&self.key);
        Ok(Imported { position: rotated.position, sealed, logs })
    }

    /// Whether the live log certainly begins with this number.
    fn begins_with(&self, first: Seq) -> bool {
        let line = first_line(&self.env, &self.paths.live);
        line.is_ok_and(|line| line.is_some_and(|line| line.seq == first.get()))
    }

    /// Returns the rotation that publishes the live log above the imported ones.
    fn rotation_of_import(
        &self,
        chain: &ImportChain,
        live: LiveAfterImport,
    ) -> Result<PreparedRotation, ImportError> {
        match live {
            LiveAfterImport::Kept => {
                let head = view::first_head(&self.env, &self.paths.live)?;
                let what = "it does not begin with a head".to_owned();
                let damaged = StorageError::damaged(&self.paths.live, what);
                Ok(chain.keep_live(head.ok_or(damaged)?))
            }
            LiveAfterImport::New { head, lines } => {
                let bytes_max = self.env.options.message_bytes_max;
                let (prepared, texts) = chain.replace_live(head, lines, bytes_max)?;
                put_texts(&self.env, &texts)?;
                Ok(prepared)
            }
        }
    }
}
