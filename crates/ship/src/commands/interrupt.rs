//! Lets the person stop a run with Ctrl-C; the run ends and keeps what was said.

use std::io::{IsTerminal, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use ship_agent::Stop;

/// The interrupt of one turn.
#[derive(Default)]
pub(crate) struct Interrupt {
    pub(crate) stop: Stop,
    is_pressed: AtomicBool,
}

impl Interrupt {
    pub(crate) fn was_pressed(&self) -> bool {
        self.is_pressed.load(Ordering::Relaxed)
    }

    /// Lets Ctrl-C stop the running work, and waits until it has saved what was said. A second Ctrl-C does not
    /// wait; the next command then continues the work.
    pub(crate) async fn stop_on_interrupt<T>(&self, running: impl Future<Output = T>) -> Option<T> {
        self.stop_on_interrupt_after(running, || {}).await
    }

    /// Does the same, and calls `first` at the first Ctrl-C.
    pub(crate) async fn stop_on_interrupt_after<T>(
        &self,
        running: impl Future<Output = T>,
        first: impl FnOnce(),
    ) -> Option<T> {
        let mut running = pin!(running);
        tokio::select! {
            // Ctrl-C is polled first, so that there is no moment in which it would end the program.
            biased;
            _ = tokio::signal::ctrl_c() => {}
            result = &mut running => return Some(result),
        }
        self.is_pressed.store(true, Ordering::Relaxed);
        self.stop.stop();
        first();
        tokio::select! {
            result = running => Some(result),
            _ = tokio::signal::ctrl_c() => None,
        }
    }
}

/// Waits for work that cannot be stopped, unless the person presses Ctrl-C.
pub(crate) async fn unless_interrupted<T>(running: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => None,
        result = running => Some(result),
    }
}

/// Begins a new line after the `^C` that a terminal shows at the cursor.
pub(crate) fn break_line() {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        // If standard error is gone, there is no reader to inform.
        let _ = writeln!(std::io::stderr());
    }
}
