//! The derived files of a chat, each with the position that it was made at and a checksum.

use std::path::PathBuf;

use ship_message::json::{Json, Object};

use super::chat::{ChatFiles, Paths};
use super::quarantine;
use crate::{ContextId, Derived, DerivedState, Gen, Position, ReadError, Seq, StorageError};

impl Paths {
    pub(super) fn derived(&self, which: &Derived) -> PathBuf {
        match which {
            Derived::Meta => self.messages.join("meta.json"),
            Derived::ContextIndex => self.chat.join("contexts/index.json"),
            Derived::Context(id) => self.chat.join(format!("contexts/archive/{id}.json")),
            Derived::TokenCounts => self.messages.join("tokens.json"),
        }
    }
}

impl ChatFiles {
    pub(crate) fn derived(&self, which: &Derived) -> Result<Option<DerivedState>, ReadError> {
        let read = self.env.read(&self.paths.derived(which))?;
        Ok(read.and_then(|(_, bytes)| derived_state(&bytes)))
    }

    pub(crate) fn put_derived(
        &self,
        which: &Derived,
        state: DerivedState,
    ) -> Result<(), StorageError> {
        let DerivedState { mut value, position, crc } = state;
        let mut source = Object::new();
        source.set("gen", position.generation.get());
        source.set("seq", position.seq.get());
        source.set("crc", u64::from(crc));
        source.set("sum", checksum(&value));
        value.set("source", source);
        let _right = self.take_write_right("put_derived")?;
        let text = format!("{}\n", Json::from(value));
        self.env.replace_unsynced(&self.paths.derived(which), text.as_bytes())
    }

    pub(crate) fn remove_derived(&self, which: &Derived) -> Result<(), StorageError> {
        let _right = self.take_write_right("remove_derived")?;
        self.env.remove(&self.paths.derived(which))
    }

    pub(crate) fn set_derived_aside(&self, which: &Derived) -> Result<(), StorageError> {
        let path = self.paths.derived(which);
        if let Some((_, bytes)) = self.env.read(&path)? {
            quarantine::quarantine_bytes(&self.env, &self.paths.quarantine, &path, 0, &bytes)?;
        }
        self.remove_derived(which)
    }

    pub(crate) fn archived_contexts(&self) -> Result<Vec<ContextId>, ReadError> {
        let names = self.env.list(&self.paths.chat.join("contexts/archive"))?;
        let id = |name: &String| name.strip_suffix(".json")?.parse().ok();
        Ok(names.iter().filter_map(id).collect())
    }
}

/// Reads the bytes of a derived file; `None` if a byte of it is wrong.
pub(super) fn derived_state(bytes: &[u8]) -> Option<DerivedState> {
    let Ok(Json::Object(mut value)) = Json::parse_bytes(bytes) else { return None };
    let source = value.remove("source");
    let number = |name: &str| source.as_ref()?.get(name)?.as_u64();
    let position = Position { generation: Gen::new(number("gen")?), seq: Seq::new(number("seq")?) };
    let crc = u32::try_from(number("crc")?).ok()?;
    // Files of older programs have none.
    let sum = source.as_ref().and_then(|source| source.get("sum")?.as_str());
    let is_whole = sum.is_none_or(|sum| sum == checksum(&value));
    is_whole.then_some(DerivedState { value, position, crc })
}

/// Returns the checksum of the content of a derived file.
fn checksum(value: &Object) -> String {
    format!("{:08x}", crc32c::crc32c(Json::from(value.clone()).to_string().as_bytes()))
}
