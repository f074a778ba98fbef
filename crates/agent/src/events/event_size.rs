//! The memory that an event takes, roughly.

use ship_message::Chunk;
use ship_message::json::{Json, Object};

use super::RunEvent;

/// Returns the bytes of an event: those of its texts, and a little for the rest.
pub(super) fn event_size(event: &RunEvent) -> u64 {
    let texts = match event {
        RunEvent::Chunk(chunk) | RunEvent::Repeated(chunk) => chunk_size(chunk),
        RunEvent::Sent(text) => text.len(),
        _ => 0,
    };
    (size_of::<RunEvent>() + texts) as u64
}

fn chunk_size(chunk: &Chunk) -> usize {
    match chunk {
        Chunk::TextDelta(_, delta)
        | Chunk::ReasoningDelta(_, delta)
        | Chunk::ToolInputDelta { delta, .. } => delta.len(),
        Chunk::ToolInputAvailable { input: json, .. }
        | Chunk::ToolInputError { input: json, .. }
        | Chunk::ToolOutputAvailable { output: json, .. }
        | Chunk::MessageMetadata(json) => json_size(json),
        Chunk::ToolOutputError { error_text, .. } | Chunk::Error { error_text } => error_text.len(),
        Chunk::File { url, .. } => url.len(),
        Chunk::Data(object) => object_size(object),
        _ => 0,
    }
}

fn json_size(json: &Json) -> usize {
    let mut size = 0;
    json.for_each(|value| size += size_of::<Json>() + value.as_str().map_or(0, str::len));
    size
}

fn object_size(object: &Object) -> usize {
    object.iter().map(|(key, value)| key.len() + json_size(value)).sum()
}
