//! The lines that wait to be written, and the thread that writes them.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};
use ship_record::Timestamp;

use super::LogEntry;
use super::log_files::LogFiles;

/// The most lines that wait. A line may hold a request, so they are few.
const WAITING_MAX: usize = 256;

/// Writes lines in their order on a thread of its own.
pub(super) struct LogQueue {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    files: Arc<LogFiles>,
    state: Mutex<QueueState>,
    /// Wakes the thread: there is a line, or there will be no more.
    arrived: Condvar,
    /// Wakes the callers that wait for room or for their lines.
    written: Condvar,
}

#[derive(Default)]
struct QueueState {
    lines: VecDeque<(Timestamp, LogEntry)>,
    /// The lines that the thread is writing.
    in_work: usize,
    /// Whether there will be no more lines.
    is_closed: bool,
    /// Whether the thread has ended, so that no line is taken any more.
    is_over: bool,
}

impl LogQueue {
    /// Begins the thread.
    pub(super) fn begin(files: Arc<LogFiles>) -> io::Result<Self> {
        let (state, arrived, written) = (Mutex::default(), Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { files, state, arrived, written });
        let at_work = Arc::clone(&shared);
        let thread = thread::Builder::new().name("log".to_owned()).spawn(move || at_work.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Adds a line. Waits for room if too many wait.
    pub(super) fn push(&self, now: Timestamp, entry: LogEntry) {
        let mut state = self.shared.state.lock();
        while state.lines.len() >= WAITING_MAX && !state.is_over {
            self.shared.written.wait(&mut state);
        }
        if state.is_over {
            drop(state);
            return self.shared.files.write(now, entry);
        }
        state.lines.push_back((now, entry));
        drop(state);
        self.shared.arrived.notify_one();
    }

    /// Waits until nothing is left to write.
    pub(super) fn flush(&self) {
        let mut state = self.shared.state.lock();
        while !state.is_over && (state.in_work > 0 || !state.lines.is_empty()) {
            self.shared.written.wait(&mut state);
        }
    }
}

/// Writes what is left, and ends the thread.
impl Drop for LogQueue {
    fn drop(&mut self) {
        self.shared.state.lock().is_closed = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked has reported it.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let _over = Over(self);
        while let Some(lines) = self.next_lines() {
            for (now, entry) in lines {
                self.files.write(now, entry);
            }
            self.state.lock().in_work = 0;
            self.written.notify_all();
        }
    }

    /// Waits for lines, and takes all; `None` if there will be no more.
    fn next_lines(&self) -> Option<VecDeque<(Timestamp, LogEntry)>> {
        let mut state = self.state.lock();
        while state.lines.is_empty() && !state.is_closed {
            self.arrived.wait(&mut state);
        }
        let lines = std::mem::take(&mut state.lines);
        state.in_work = lines.len();
        (!lines.is_empty()).then_some(lines)
    }
}

/// Ends all waits for a thread that has ended, however it did.
struct Over<'a>(&'a Shared);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.written.notify_all();
    }
}
