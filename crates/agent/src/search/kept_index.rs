//! Keeps the index of a chat in its store, for the next process.
//!
//! An index is derived: it is made again if it is missing, damaged, or of another form, and no failure to keep it is an
//! error. One process at a time writes, with a lease; another one goes on with what it has in memory. Segments are
//! written before the head that names them, so a reader finds the old index or the new one.

use std::sync::Arc;

use ship_context::search::MessageIndex;
use ship_store::{Chat, ChatKey, ChatSizes, IndexFiles, ReadError, RecordName, Store};

use super::index_head::{HEAD, HeadSegment, IndexHead};
use super::index_reader::{IndexReader, ReadBudget, ReadPlace};
use crate::blocking_work::blocking;

/// The lease of the process that writes indexes.
const LEASE: &str = "search-index";

/// An index in memory, and what of it is stored.
#[derive(Debug)]
pub(super) struct KeptIndex {
    pub(super) read: IndexReader,
    /// The checksum of the stored head; `None` if there is none that counts.
    stored: Option<u32>,
    /// The pieces that the stored head names.
    pieces: Vec<HeadSegment>,
    /// How far the stored index has read.
    stored_state: Option<(ReadPlace, Option<ChatSizes>)>,
    /// Whether another process has stored a newer index.
    is_outdated: bool,
}

impl KeptIndex {
    /// Reads the index of a chat, or begins one.
    pub(super) async fn load(store: &dyn Store, chat: &ChatKey) -> Self {
        let found = match store.indexes() {
            Some(files) => read_index(files, chat).await,
            None => Err(None),
        };
        found.unwrap_or_else(|stored| Self {
            read: IndexReader::new(chat),
            stored,
            pieces: Vec::new(),
            stored_state: None,
            is_outdated: false,
        })
    }

    /// Reads what is new, and puts it into a segment. Returns whether that was everything.
    pub(super) async fn catch_up(
        self,
        chat: &dyn Chat,
        budget: ReadBudget,
    ) -> Result<(Self, bool), ReadError> {
        let (mut read, is_whole) = self.read.catch_up(chat, budget).await?;
        let (read, is_sealed) = blocking(move || {
            let is_sealed = read.index.seal_tail().is_ok();
            (read, is_sealed)
        })
        .await;
        match is_sealed {
            true => Ok((Self { read, ..self }, is_whole)),
            // Nothing of a damaged index is used.
            false => Ok((Self { read: IndexReader::new(chat.key()), ..self }, false)),
        }
    }

    /// Returns the index, unless another process has stored a newer one, which is to be read then.
    pub(super) fn if_newest(self) -> Option<Self> {
        (!self.is_outdated).then_some(self)
    }

    /// Stores the index if it has changed. `sizes` are those of the logs before they were read, if the index has
    /// read them to their ends.
    pub(super) async fn store(
        &mut self,
        store: &dyn Store,
        chat: &ChatKey,
        sizes: Option<ChatSizes>,
    ) {
        let sizes = sizes.map(|sizes| ChatSizes { journal_bytes: 0, ..sizes });
        let state = (self.read.place.clone(), sizes);
        let (Some(files), Ok(name)) = (store.indexes(), LEASE.parse::<RecordName>()) else {
            return;
        };
        if self.stored_state.as_ref() == Some(&state) {
            return;
        }
        // Another process writes an index now; this one is stored with the next change.
        let Ok(lease) = store.records().lease(&name, "store a search index").await else { return };
        if self.write(files, chat, sizes).await.is_some() {
            self.stored_state = Some(state);
        }
        // A lease that cannot be given back ends with this process.
        let _ = lease.release().await;
    }

    async fn write(
        &mut self,
        files: &dyn IndexFiles,
        chat: &ChatKey,
        sizes: Option<ChatSizes>,
    ) -> Option<()> {
        let present = read_piece(files, chat, HEAD).await;
        let present = present.filter(|bytes| IndexHead::read(bytes).is_some());
        if present.map(|bytes| crc32c::crc32c(&bytes)) != self.stored {
            self.is_outdated = true;
            return None;
        }
        let segments: Vec<&Arc<Vec<u8>>> = self.read.index.segments().collect();
        let kept: Vec<HeadSegment> =
            segments.iter().filter_map(|bytes| HeadSegment::of(bytes)).collect();
        for (segment, bytes) in kept.iter().zip(segments) {
            let HeadSegment::Named(name) = segment else { continue };
            if !self.pieces.contains(segment) {
                files.put(chat, name, bytes.to_vec()).await.ok()?;
            }
        }
        let head = IndexHead { place: self.read.place.clone(), sizes, segments: kept };
        let bytes = head.write();
        let name: RecordName = HEAD.parse().ok()?;
        let sum = crc32c::crc32c(&bytes);
        files.put(chat, &name, bytes).await.ok()?;
        (self.stored, self.pieces) = (Some(sum), head.segments);
        let named = self.pieces.iter().filter_map(|piece| match piece {
            HeadSegment::Named(name) => Some(name.clone()),
            HeadSegment::Inline(_) => None,
        });
        // What stays is removed with the next change.
        let _ = files.keep_only(chat, named.chain([name]).collect()).await;
        Some(())
    }
}

/// Reads a stored index. If only its head can be read, the error has the checksum of that, which the next one replaces.
async fn read_index(files: &dyn IndexFiles, chat: &ChatKey) -> Result<KeptIndex, Option<u32>> {
    let bytes = read_piece(files, chat, HEAD).await.ok_or(None)?;
    let head = IndexHead::read(&bytes).ok_or(None)?;
    let stored = Some(crc32c::crc32c(&bytes));
    let index = read_segments(files, chat, &head).await.ok_or(stored)?;
    let stored_state = Some((head.place.clone(), head.sizes));
    let read = IndexReader::at(index, head.place);
    Ok(KeptIndex { read, stored, pieces: head.segments, stored_state, is_outdated: false })
}

async fn read_segments(
    files: &dyn IndexFiles,
    chat: &ChatKey,
    head: &IndexHead,
) -> Option<MessageIndex> {
    let mut segments = Vec::new();
    for segment in &head.segments {
        segments.push(match segment {
            HeadSegment::Inline(bytes) => Arc::clone(bytes),
            HeadSegment::Named(name) => {
                let bytes = Arc::new(read_piece(files, chat, name.as_str()).await?);
                Some(bytes).filter(|bytes| segment.is_of(bytes))?
            }
        });
    }
    MessageIndex::read(chat.clone(), segments).ok()
}

async fn read_piece(files: &dyn IndexFiles, chat: &ChatKey, name: &str) -> Option<Vec<u8>> {
    let name = name.parse().ok()?;
    files.read_all(vec![chat.clone()], &name).await.ok()?.pop()?
}
