//! The notices of the agent while it works: for the person, now, and stored nowhere.

use std::time::Duration;

use ship_message::Chunk;
use ship_message::json::{Json, Object};

use crate::context_operation::WayBack;

/// The type of the chunk that a notice is.
const TYPE: &str = "data-notice";

/// A notice for the person during a run, as a data chunk of its stream.
#[derive(Clone, Debug, PartialEq)]
pub enum RunNotice<'a> {
    /// The chat continues in another context, or its contexts have changed.
    Context(ContextNotice),
    /// The context is being compacted.
    MakingRoom(&'a str),
    /// The context was compacted.
    MadeRoom {
        /// The sentence for the person.
        text: &'a str,
        /// Whether the originals are gone, so that it cannot be undone.
        is_purged: bool,
    },
    /// The provider is asked again after a wait.
    Retry {
        /// The sentence for the person.
        text: &'a str,
        /// The time until then.
        wait: Duration,
    },
    /// The answer broke off, and the model is asked again.
    Broken(&'a str),
    /// Any other notice.
    Other(&'a str),
}

/// A notice about the contexts of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextNotice {
    /// The line as the ledger has it.
    pub line: String,
    /// The way back, if the line ends with one. Notices of older programs have it only in the line.
    pub way_back: Option<WayBack>,
}

impl ContextNotice {
    /// Makes a notice from its line and the field with the way back.
    pub(crate) fn new(line: &str, way_back: Option<&Json>) -> Self {
        Self { line: line.to_owned(), way_back: way_back.and_then(WayBack::from_json) }
    }
}

impl<'a> RunNotice<'a> {
    /// Reads a data chunk; `None` if it is no notice.
    pub fn read(part: &'a Object) -> Option<Self> {
        (part.str("type") == Some(TYPE)).then_some(())?;
        let data = part.get("data")?;
        let text = data.get("text")?.as_str()?;
        Some(match data.get("kind").and_then(Json::as_str) {
            Some("context") => Self::Context(ContextNotice::new(text, data.get("wayBack"))),
            Some("compacting") => Self::MakingRoom(text),
            Some("compacted") => Self::MadeRoom { text, is_purged: data.get("purged").is_some() },
            Some("cut") => Self::Broken(text),
            Some("retry") => {
                let millis = data.get("waitMs").and_then(Json::as_u64).unwrap_or_default();
                Self::Retry { text, wait: Duration::from_millis(millis) }
            }
            _ => Self::Other(text),
        })
    }
}

/// Makes a notice of a kind.
pub(crate) fn notice(kind: &str, text: &str) -> Chunk {
    notice_of(Object::from([("kind", kind), ("text", text)]))
}

/// Makes the notice of a compaction. One that purged the originals cannot be undone.
pub(crate) fn compacted_notice(text: &str, is_purged: bool) -> Chunk {
    let mut data = Object::from([("kind", "compacted"), ("text", text)]);
    data.set_or_remove("purged", is_purged.then_some(true.into()));
    notice_of(data)
}

/// Makes a notice about contexts, with the way back if there is one.
pub(crate) fn context_notice(line: &str, way_back: Option<Json>) -> Chunk {
    let mut data = Object::from([("kind", "context"), ("text", line)]);
    data.set_or_remove("wayBack", way_back);
    notice_of(data)
}

fn notice_of(data: Object) -> Chunk {
    Chunk::Data(Object::from([
        ("type", Json::from(TYPE)),
        ("data", data.into()),
        ("transient", true.into()),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context_operation::Destination;

    #[test]
    fn a_notice_reads_back_from_its_chunk() {
        let way_back = WayBack {
            introduction: "Moved; to return: ".to_owned(),
            destination: Destination::Checkpoint("early".to_owned()),
        };
        let context = ContextNotice { line: "Moved.".to_owned(), way_back: Some(way_back.clone()) };
        for (chunk, read) in [
            (context_notice("Moved.", Some(way_back.to_json())), RunNotice::Context(context)),
            (notice("compacting", "Part 1"), RunNotice::MakingRoom("Part 1")),
            (compacted_notice("Done", true), RunNotice::MadeRoom { text: "Done", is_purged: true }),
            (notice("cut", "It broke off."), RunNotice::Broken("It broke off.")),
            (notice("new kind", "Ahoy"), RunNotice::Other("Ahoy")),
        ] {
            let Chunk::Data(part) = &chunk else { panic!("{chunk:?}") };
            assert_eq!(RunNotice::read(part), Some(read));
        }
        assert_eq!(RunNotice::read(&Object::from([("type", "data-weather")])), None);
    }
}
