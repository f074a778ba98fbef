//! Takes lines for the logs, and has them written by a thread of its own.
//!
//! A line is masked and written where no caller waits for it. The lines stand in a queue in their order; when that is
//! full, the next one waits for room, so none is lost. The thread begins with the first line. If the system gives none,
//! lines are written by the thread that has them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ship_record::Clock;

use super::LogEntry;
use super::log_files::LogFiles;
use super::log_queue::LogQueue;
use crate::Project;

/// Says which fields of a line may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// Whether the words of people and models are written.
    pub messages: bool,
    /// Whether raw bodies are written; never without `messages`, because they contain them.
    pub payload: bool,
}

/// Writes the logs of a project. All parts of the program share one. What it has taken is written when it is dropped, or
/// when [`LogWriter::flush`] returns; a process that ends before that loses it.
pub struct LogWriter {
    clock: Arc<dyn Clock>,
    files: Arc<LogFiles>,
    /// The thread that writes; `None` if the system gives none.
    queue: OnceLock<Option<LogQueue>>,
}

impl LogWriter {
    /// Makes a writer with the settings of a project. It writes nothing yet.
    pub fn new(project: &Project, clock: Arc<dyn Clock>) -> Self {
        let options = LogOptions {
            messages: project.settings().llm.log_messages,
            payload: project.log_payload(),
        };
        let root = project.root().to_path_buf();
        let files = LogFiles::new(root, options, project.secrets().clone());
        Self { clock, files: Arc::new(files), queue: OnceLock::new() }
    }

    /// Takes a line, which has the time of now. One that cannot be written is lost and counted, and no error.
    pub fn write(&self, entry: LogEntry) {
        let now = self.clock.now();
        let queue = self.queue.get_or_init(|| LogQueue::begin(Arc::clone(&self.files)).ok());
        match queue {
            Some(queue) => queue.push(now, entry),
            None => self.files.write(now, entry),
        }
    }

    /// Waits until all lines are written that were taken before.
    pub fn flush(&self) {
        if let Some(Some(queue)) = self.queue.get() {
            queue.flush();
        }
    }

    /// Returns the number of lines that could not be written, of all that were taken before.
    pub fn failures(&self) -> u64 {
        self.flush();
        self.files.failures()
    }

    /// Returns which fields of a line are written.
    pub fn options(&self) -> LogOptions {
        self.files.options
    }
}

impl fmt::Debug for LogWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogWriter").field("options", &self.options()).finish_non_exhaustive()
    }
}
