//! The readers of the formats.

mod chatgpt;
mod claude_code;
mod codex;
mod container;
mod content;
mod entries;
mod openai;
mod uimessage;

use ship_message::UiMessage;
use ship_message::json::Json;

use crate::file_format::FileFormat;
use crate::plan::PlannedContext;

pub use entries::EntryReader;

/// Reads one format. First it looks at every value once, then it makes messages of their pieces.
pub(crate) trait FormatReader: Send {
    /// Looks at the value `item`, which has so many bytes.
    ///
    /// # Errors
    /// Fails with the reason if the format has no such value.
    fn look(&mut self, item: u32, bytes: u32, value: &Json) -> Result<(), String>;

    /// Returns the contexts of all values.
    fn finish(&mut self) -> Vec<PlannedContext>;

    /// Returns a value in the form in which its parts are found at once.
    fn divided(&self, value: Json) -> Json {
        value
    }

    /// Makes a message of its pieces: the values, each with the part of it that belongs here. The message gets the id
    /// `fallback` if the values have none.
    fn build(&self, fallback: String, is_summary: bool, pieces: &[(&Json, u32)]) -> Vec<UiMessage>;
}

/// Returns the reader of a format.
pub(crate) fn reader_of(format: FileFormat, entries: EntryReader) -> Box<dyn FormatReader> {
    match format {
        FileFormat::UiMessage => Box::new(uimessage::UiMessages::default()),
        FileFormat::Entries => Box::new(entries::Entries::new(entries)),
        FileFormat::OpenAi => Box::new(openai::OpenAiMessages::default()),
        FileFormat::ClaudeCode => Box::new(claude_code::ClaudeCode::default()),
        FileFormat::Codex => Box::new(codex::Codex::default()),
        FileFormat::ChatGpt => Box::new(chatgpt::ChatGpt::default()),
    }
}
