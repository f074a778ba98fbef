//! A file with conversations, of which any message can be made.

use std::collections::HashSet;
use std::io::{self, Read, Seek};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use ship_message::UiMessage;
use ship_message::json::Json;

use crate::file_format::FileFormat;
use crate::formats::{EntryReader, FormatReader, reader_of};
use crate::items::{BadItem, ItemPlace, Items, read_again};
use crate::plan::{PlannedContext, PlannedMessage, mark_forks};

/// Something to read, at any place.
pub trait Input: Read + Seek + Send {}

impl<T: Read + Seek + Send> Input for T {}

/// The wishes for a survey.
pub struct Wishes<'a> {
    /// The format of the file.
    pub format: FileFormat,
    /// Makes messages of entries.
    pub entries: EntryReader,
    /// Is told the number of bytes that were read so far.
    pub progress: &'a mut dyn FnMut(u64),
}

/// The reason why a file could not be surveyed.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file has more values than can be numbered.
    #[error("the file has too many values")]
    TooMany,
}

/// A file with conversations. Its copy reads the same file.
pub struct ConversationFile {
    source: Box<dyn Input>,
    reader: Box<dyn FormatReader>,
    places: Vec<ItemPlace>,
    contexts: Arc<[PlannedContext]>,
    bad: Vec<BadItem>,
    format: FileFormat,
    /// The value that was read last. A value may hold many messages.
    last_read: Option<(u32, Arc<Json>)>,
}

impl ConversationFile {
    /// Looks at all values of a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read. A value that the format does not have is a [bad one](Self::bad_items).
    pub fn survey(mut source: Box<dyn Input>, wishes: Wishes<'_>) -> Result<Self, SurveyError> {
        let Wishes { format, entries, progress } = wishes;
        let mut reader = reader_of(format, entries);
        let (mut places, mut bad) = (Vec::new(), Vec::new());
        let mut items = Items::new(&mut source)?;
        while let Some(item) = items.next()? {
            let nth = u32::try_from(places.len()).map_err(|_| SurveyError::TooMany)?;
            let looked = look(&mut *reader, nth, &item.content);
            match (looked, &item.content) {
                (Ok(()), Ok(bytes)) => places.push(item.place(bytes)),
                (Err(reason), _) => bad.push(BadItem { line: item.line, reason }),
                (Ok(()), Err(_)) => {}
            }
            progress(items.bytes_read());
        }
        let mut contexts = reader.finish();
        if let [only] = &mut contexts[..] {
            let names = items.names().clone();
            only.title = only.title.take().or(names.title);
            only.key = names.id.filter(|_| only.key.is_empty()).unwrap_or_else(|| only.key.clone());
        }
        name_contexts(&mut contexts, &places, format);
        mark_forks(&mut contexts);
        let contexts = contexts.into();
        Ok(Self { source, reader, places, contexts, bad, format, last_read: None })
    }

    /// Returns the format that was read.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// Returns the contexts in the file. The last one is the newest of those that are no branch.
    pub fn contexts(&self) -> Arc<[PlannedContext]> {
        Arc::clone(&self.contexts)
    }

    /// Returns the values that could not be read.
    pub fn bad_items(&self) -> &[BadItem] {
        &self.bad
    }

    /// Returns the digest of the values of a context.
    pub fn digest(&self, context: &PlannedContext) -> String {
        let mut digest = Sha256::new();
        for message in context.logs.iter().flat_map(|log| &log.messages) {
            for piece in &message.pieces {
                let place = self.places.get(piece.item as usize);
                digest.update(place.map_or(0, |place| place.digest).to_le_bytes());
                digest.update(piece.part.to_le_bytes());
            }
        }
        hex(&digest.finalize()[..16])
    }

    /// Makes a message, or several of an entry. `nth` is its place in the context; it names a message without an id.
    ///
    /// # Errors
    /// Fails if the file cannot be read any more, or has changed.
    pub fn messages(
        &mut self,
        context: &PlannedContext,
        nth: usize,
        message: &PlannedMessage,
    ) -> io::Result<Vec<UiMessage>> {
        let mut values = Vec::with_capacity(message.pieces.len());
        for piece in &message.pieces {
            values.push((self.value(piece.item)?, piece.part));
        }
        let fallback = format!("{}_{nth}", short_digest(&context.key));
        let pieces: Vec<(&Json, u32)> =
            values.iter().map(|(value, part)| (&**value, *part)).collect();
        let mut made = self.reader.build(fallback, message.is_summary, &pieces);
        for made in made.iter_mut().filter(|_| message.is_fork) {
            made.set_id(format!(
                "{}_{}",
                made.id().unwrap_or_default(),
                short_digest(&context.key)
            ));
        }
        Ok(made)
    }

    fn value(&mut self, item: u32) -> io::Result<Arc<Json>> {
        if let Some((_, value)) = self.last_read.as_ref().filter(|(known, _)| *known == item) {
            return Ok(Arc::clone(value));
        }
        let changed = || io::Error::new(io::ErrorKind::InvalidData, "it has changed meanwhile");
        let place = self.places.get(item as usize).copied().ok_or_else(changed)?;
        let bytes = read_again(&mut self.source, place)?;
        let value = Json::parse_bytes(&bytes).map_err(|_| changed())?;
        let value = Arc::new(self.reader.divided(value));
        self.last_read = Some((item, Arc::clone(&value)));
        Ok(value)
    }
}

fn look(
    reader: &mut dyn FormatReader,
    nth: u32,
    content: &Result<Vec<u8>, &'static str>,
) -> Result<(), String> {
    let bytes = content.as_ref().map_err(|reason| (*reason).to_owned())?;
    let value = Json::parse_bytes(bytes).map_err(|error| error.to_string())?;
    let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    reader.look(nth, size, &value)
}

/// Gives the contexts without a key one: the digest of their first value. Equal keys get a number.
fn name_contexts(contexts: &mut [PlannedContext], places: &[ItemPlace], format: FileFormat) {
    let mut taken = HashSet::new();
    for context in contexts {
        let first = context.logs.iter().find_map(|log| log.messages.first());
        let first = first.and_then(|message| message.pieces.first());
        if context.key.is_empty()
            && let Some(piece) = first
        {
            let digest = places.get(piece.item as usize).map_or(0, |place| place.digest);
            let name = format.name();
            context.key = format!("{name}:{digest:016x}");
        }
        let key = context.key.clone();
        let mut number = 1;
        while !taken.insert(context.key.clone()) {
            number += 1;
            context.key = format!("{key}#{number}");
        }
    }
}

/// Returns eight hexadecimal digits for a key.
fn short_digest(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes())[..4])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
