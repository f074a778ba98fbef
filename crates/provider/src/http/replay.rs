//! Reads a recorded answer as if it came from the network, for the measurements of `./bench`.

use ship_message::Chunk;

use super::answer_draft::Origin;
use super::api::Api;
use super::stream_reader::AnswerReceiver;
use crate::wire::Format;

/// Returns the chunks of an answer that comes in pieces of `size` bytes; `None` if it does not end properly.
#[doc(hidden)]
pub fn read_answer(format: Format, bytes: &[u8], size: usize) -> Option<Vec<Chunk>> {
    let api = match format {
        Format::OpenAi => Api::OpenAi,
        Format::Anthropic => Api::Anthropic,
    };
    let origin = Origin { provider: api.name(), model: "m".to_owned(), serial: 0 };
    let mut receiver = AnswerReceiver::new(api.reader(origin));
    let mut chunks = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        if receiver.push(piece, &mut chunks).ok()?.is_some() {
            return Some(chunks);
        }
    }
    receiver.end(&mut chunks).ok()?;
    Some(chunks)
}
