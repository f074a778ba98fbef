//! Shows on a terminal what is going on and for how long, in a line that leaves no trace.
//!
//! The line is drawn on standard error, and only where it can be erased again. It is never wider than the terminal,
//! so that it stays one line. The cursor stays visible, so no exit has to bring it back.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::output;
use crate::style::{self, Style};
use crate::table;

/// The interval between two frames.
const FRAME: Duration = Duration::from_millis(100);

/// The time without other output before the line is drawn. What ends sooner needs no explanation.
const QUIET: Duration = Duration::from_millis(300);

/// The frames of the spinner.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Moves to the beginning of the line and empties it.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// The line about what is going on.
pub(crate) struct ProgressLine {
    began: Instant,
    text: String,
    /// What the person is typing meanwhile.
    draft: String,
    /// The time at which the line may be drawn, unless other text stands there.
    quiet_at: Instant,
    frames: Option<tokio::time::Interval>,
    frame: usize,
    is_shown: bool,
}

impl ProgressLine {
    /// Makes a line about work that begins now. Without a terminal on standard error, it is never drawn.
    pub(crate) fn begin(text: impl Into<String>) -> Self {
        let began = Instant::now();
        let can_erase = std::io::stderr().is_terminal() && !style::is_dumb_terminal();
        let frames = can_erase.then(|| {
            let mut frames = interval_at(began + FRAME, FRAME);
            frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
            frames
        });
        let quiet_at = began + QUIET;
        Self {
            began,
            text: text.into(),
            draft: String::new(),
            quiet_at,
            frames,
            frame: 0,
            is_shown: false,
        }
    }

    /// Keeps the line from being drawn.
    pub(crate) fn hide(&mut self) {
        self.frames = None;
    }

    /// Whether the line is drawn at all.
    pub(crate) fn is_animated(&self) -> bool {
        self.frames.is_some()
    }

    /// Returns the time since the work began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns what is going on.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Says what is going on now.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
    }

    /// Shows what the person is typing meanwhile.
    pub(crate) fn set_draft(&mut self, draft: &str) {
        if self.draft != draft {
            draft.clone_into(&mut self.draft);
        }
    }

    /// Waits for the next frame and draws it if `is_free`: no other text stands in the line of the cursor.
    pub(crate) async fn next_frame(&mut self, is_free: bool) {
        let Some(frames) = &mut self.frames else { return std::future::pending().await };
        frames.tick().await;
        if !is_free || Instant::now() < self.quiet_at {
            return;
        }
        self.frame += 1;
        let columns = table::columns_of_stderr();
        let line = render(&self.text, self.began.elapsed(), &self.draft, self.frame, columns);
        // If standard error is gone, there is no reader to inform.
        let _ = write!(std::io::stderr(), "{CLEAR_LINE}{}", Style::of_stderr().dim(&line));
        self.is_shown = true;
    }

    /// Erases the line before something else is printed. Returns whether it was there.
    pub(crate) fn erase(&mut self) -> bool {
        self.quiet_at = Instant::now() + QUIET;
        let was_shown = std::mem::take(&mut self.is_shown);
        if was_shown {
            let _ = write!(std::io::stderr(), "{CLEAR_LINE}");
        }
        was_shown
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.erase();
    }
}

/// Returns a frame that is narrower than the terminal: in its last column, many terminals begin a new line.
fn render(text: &str, elapsed: Duration, draft: &str, frame: usize, columns: usize) -> String {
    let spinner = SPINNER[frame % SPINNER.len()];
    let time = match elapsed.as_secs() {
        0 => String::new(),
        seconds => format!(" · {}", format_seconds(seconds)),
    };
    let room = columns.saturating_sub(1);
    // The draft has its place at the cursor, and its end is seen.
    let draft = match draft {
        "" => String::new(),
        draft => format!(" > {}", table::fit_end(&output::on_one_line(draft), room / 2)),
    };
    let text = output::escape_unprintable(text).replace(['\n', '\t'], " ");
    let text =
        table::fit(&text, room.saturating_sub(2 + table::width(&time) + table::width(&draft)));
    table::fit(&format!("{spinner} {text}{time}{draft}"), room)
}

/// Formats a duration: `3 s`, `2 min 5 s`.
pub(crate) fn format_seconds(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_what_goes_on_and_for_how_long_and_is_narrower_than_the_terminal() {
        let text = "waiting for gpt-4o";
        let at = |seconds, columns| render(text, Duration::from_secs(seconds), "", 2, columns);
        assert_eq!(at(0, 80), "⠹ waiting for gpt-4o");
        assert_eq!(at(3, 80), "⠹ waiting for gpt-4o · 3 s");
        assert_eq!(at(125, 80), "⠹ waiting for gpt-4o · 2 min 5 s");
        assert_eq!(at(3, 20), "⠹ waiting fo… · 3 s");
        for columns in 2..40 {
            assert!(table::width(&at(3600, columns)) < columns, "{columns}: {}", at(3600, columns));
        }
        let typed = |draft, columns| render(text, Duration::from_secs(3), draft, 2, columns);
        assert_eq!(typed("and\nthen", 80), "⠹ waiting for gpt-4o · 3 s > and ⏎ then");
        assert_eq!(typed("and then what", 30), "⠹ wait… · 3 s > and then what");
        assert_eq!(typed("and then what else", 30), "⠹ wai… · 3 s > …hen what else");
        let wide = render("走る 走る 走る", Duration::from_secs(10), "", 2, 16);
        assert_eq!((wide.as_str(), table::width(&wide)), ("⠹ 走る … · 10 s", 15));
        let odd = render("a\nb\u{1b}[2J", Duration::ZERO, "", 2, 80);
        assert_eq!(odd, "⠹ a b\\u{1b}[2J");
    }
}
