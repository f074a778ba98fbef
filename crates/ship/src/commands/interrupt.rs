//! The person's wish to stop, by Ctrl-C: the run ends and keeps what was said.

use std::io::{IsTerminal, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_agent::Stop;

/// One turn's.
#[derive(Default)]
pub(crate) struct Interrupt {
    pub(crate) stop: Stop,
    asked: AtomicBool,
}

impl Interrupt {
    pub(crate) fn was_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Lets Ctrl-C stop what is running, and waits until it has kept what was said. A second Ctrl-C does
    /// not wait: whatever is on its way then is gone on with the next time.
    pub(crate) async fn heeded<T>(&self, running: impl Future<Output = T>) -> Option<T> {
        self.heeded_with(running, || {}).await
    }

    /// The same, with something to be done at the first Ctrl-C.
    pub(crate) async fn heeded_with<T>(
        &self,
        running: impl Future<Output = T>,
        first: impl FnOnce(),
    ) -> Option<T> {
        let mut running = pin!(running);
        tokio::select! {
            // Listened to first, so that there is no moment in which Ctrl-C would end the program.
            biased;
            _ = tokio::signal::ctrl_c() => {}
            result = &mut running => return Some(result),
        }
        self.asked.store(true, Ordering::Relaxed);
        self.stop.stop();
        first();
        tokio::select! {
            result = running => Some(result),
            _ = tokio::signal::ctrl_c() => None,
        }
    }
}

/// Waits for something that cannot be stopped, unless the person presses Ctrl-C.
pub(crate) async fn unless_left<T>(running: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => None,
        result = running => Some(result),
    }
}

/// A terminal shows `^C` where the cursor is; what is told next begins on a line of its own.
pub(crate) fn break_line() {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        // Nobody is left to be told when standard error is gone.
        let _ = writeln!(std::io::stderr());
    }
}
