//! What goes wrong in which command, and how that is told.

use std::fmt;

/// A broken promise, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise(pub String);

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the failing process is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailingCommand {
    /// `ship send` in a project without a chat.
    FirstSend,
    /// `ship send`
    Send,
    /// `ship context new`
    New,
    /// `ship compact`
    Compact,
    /// `ship undo`
    Undo,
    /// `ship chat`, for people: messages and commands, line by line.
    Chat,
    /// `ship chat --json`, which outlives a message that could not be written.
    ChatForPrograms,
}

impl FailingCommand {
    /// All commands that can fail.
    pub const ALL: [Self; 7] = [
        Self::FirstSend,
        Self::Send,
        Self::New,
        Self::Compact,
        Self::Undo,
        Self::Chat,
        Self::ChatForPrograms,
    ];

    pub(super) fn operation(self) -> Option<&'static [&'static str]> {
        match self {
            Self::New => Some(&["context", "new"]),
            Self::Compact => Some(&["compact"]),
            Self::Undo => Some(&["undo"]),
            _ => None,
        }
    }
}

/// A command, and where its calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultCase {
    /// What the failing process does.
    pub command: FailingCommand,
    /// How calls fail: the word for `FAULT_DO` of the shim.
    pub what: &'static str,
    /// The first call that fails, counted from 1; 0 if none does.
    pub at: usize,
    /// How many calls fail in a row.
    pub window: usize,
    /// Whether the process stops behind the window until the healthy one has written.
    pub then_stop: bool,
}

impl fmt::Display for FaultCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, what, at, window, then_stop } = self;
        let stops = if *then_stop { ", then stopped" } else { "" };
        write!(f, "{command:?}, {window} calls from call {at} on fail with {what}{stops}")
    }
}
