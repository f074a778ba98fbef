//! The formats that are read.

use ship_message::names;

/// A format of files with conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Messages of the AI SDK.
    UiMessage,
    /// Entries: messages and events, one line for each.
    Entries,
    /// Messages of OpenAI's chat completions.
    OpenAi,
    /// A session of Claude Code.
    ClaudeCode,
    /// A session of Codex.
    Codex,
    /// An export of ChatGPT.
    ChatGpt,
}

names!(FileFormat {
    UiMessage = "uimessage",
    Entries = "entries",
    OpenAi = "openai",
    ClaudeCode = "claude-code",
    Codex = "codex",
    ChatGpt = "chatgpt",
});
