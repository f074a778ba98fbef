//! Shows on a terminal what is going on and for how long, in a line that leaves no trace.
//!
//! The line is drawn on standard error, and only where it can be erased again. It is never wider than the terminal,
//! so that it stays one line. If the cursor is inside a line of other text, it is drawn below that line, and the cursor
//! comes back when it is erased. The cursor stays visible, so no exit has to bring it back.

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

/// The same inside a line of other text. Words come in bursts, and the line must not flicker between them.
const STALLED: Duration = Duration::from_secs(2);

/// The frames of the spinner.
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Moves to the beginning of the line and empties it.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Goes back to where the answer was left, with its style.
const RESTORE_CURSOR: &str = "\x1b8";

/// The place of the cursor among other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorPlace {
    /// The start of a line, which is free.
    LineStart,
    /// This column of a line in which text stands.
    Column(usize),
    /// A line in which text stands, at a column that is not known: perhaps the edge of the terminal.
    Unknown,
}

impl CursorPlace {
    /// Returns the place behind a text on a terminal with so many columns.
    pub(crate) fn after(self, text: &str, columns: usize) -> Self {
        let (before, line) = match text.rsplit_once('\n') {
            Some((_, line)) => (Self::LineStart, line),
            None => (self, text),
        };
        let line = table::without_styles(line);
        let start = match before {
            before if line.is_empty() => return before,
            Self::LineStart => 0,
            Self::Column(column) => column,
            Self::Unknown => return Self::Unknown,
        };
        match start + table::width(&line) {
            column if column < columns && !line.contains('\t') => Self::Column(column),
            _ => Self::Unknown,
        }
    }
}

/// What a person has typed meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypedBeside {
    /// The number of messages that wait.
    pub(crate) queued: usize,
    /// The last message that waits.
    pub(crate) last: String,
    /// A text that is not finished.
    pub(crate) draft: String,
}

/// The line about what is going on.
pub(crate) struct ProgressLine {
    began: Instant,
    text: String,
    typed: TypedBeside,
    /// The time of the last other output.
    printed_at: Instant,
    frames: Option<tokio::time::Interval>,
    frame: usize,
    shown: Option<ShownPlace>,
    /// The columns that it takes as it is drawn now.
    shown_width: usize,
}

/// The place where the line is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownPlace {
    /// In a line of its own.
    HereAlone,
    /// Below the line of the cursor, which is saved.
    Below,
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
        Self {
            began,
            text: text.into(),
            typed: TypedBeside::default(),
            printed_at: began,
            frames,
            frame: 0,
            shown: None,
            shown_width: 0,
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

    /// Shows what the person has typed meanwhile. It is drawn at once, because a person looks for it.
    pub(crate) fn show_typed(&mut self, typed: TypedBeside, cursor: CursorPlace) {
        let is_new = self.typed != typed;
        self.typed = typed;
        let is_wanted = self.typed != TypedBeside::default() && self.shown.is_none();
        if self.is_animated() && (is_wanted || is_new && self.shown.is_some()) {
            self.draw(cursor);
        }
    }

    /// Waits for the next frame, and draws it if nothing else was printed for a while.
    pub(crate) async fn next_frame(&mut self, cursor: CursorPlace) {
        let Some(frames) = &mut self.frames else { return std::future::pending().await };
        frames.tick().await;
        let pause = match cursor {
            CursorPlace::LineStart => QUIET,
            CursorPlace::Column(_) | CursorPlace::Unknown => STALLED,
        };
        if self.shown.is_some() || self.printed_at.elapsed() >= pause {
            self.frame += 1;
            self.draw(cursor);
        }
    }

    fn draw(&mut self, cursor: CursorPlace) {
        let way = match (self.shown, cursor) {
            (Some(_), _) | (None, CursorPlace::LineStart) => String::new(),
            (None, CursorPlace::Unknown) => return,
            // The line below is made first, which may scroll the screen. Then the cursor is saved, with its style.
            (None, CursorPlace::Column(column)) => {
                format!("\r\n\x1b[A\x1b[{}G\x1b7\r\n\x1b[0m", column + 1)
            }
        };
        self.shown = self.shown.or(Some(match cursor {
            CursorPlace::LineStart => ShownPlace::HereAlone,
            CursorPlace::Column(_) | CursorPlace::Unknown => ShownPlace::Below,
        }));
        let columns = table::columns_of_stderr();
        let clear = self.clear(columns);
        let line = render(&self.text, self.began.elapsed(), &self.typed, self.frame, columns);
        self.shown_width = table::width(&line);
        // If standard error is gone, there is no reader to inform.
        let _ = write!(std::io::stderr(), "{way}{clear}{}", Style::of_stderr().dim(&line));
    }

    /// Returns what empties the line. A terminal that has become narrower has broken it into several.
    fn clear(&self, columns: usize) -> String {
        match self.shown_width.saturating_sub(1).checked_div(columns) {
            None | Some(0) => CLEAR_LINE.to_owned(),
            Some(rows) => format!("\r\x1b[{rows}A\x1b[J"),
        }
    }

    /// Erases the line before something else is printed. Returns whether it was there.
    pub(crate) fn erase(&mut self) -> bool {
        self.printed_at = Instant::now();
        let way = match self.shown.take() {
            None => return false,
            Some(ShownPlace::HereAlone) => "",
            Some(ShownPlace::Below) => RESTORE_CURSOR,
        };
        let clear = self.clear(table::columns_of_stderr());
        self.shown_width = 0;
        let _ = write!(std::io::stderr(), "{clear}{way}");
        true
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.erase();
    }
}

/// Returns a frame that is narrower than the terminal: in its last column, many terminals begin a new line.
fn render(
    text: &str,
    elapsed: Duration,
    typed: &TypedBeside,
    frame: usize,
    columns: usize,
) -> String {
    let spinner = SPINNER[frame % SPINNER.len()];
    let time = match elapsed.as_secs() {
        0 => String::new(),
        seconds => format!(" · {}", format_seconds(seconds)),
    };
    let room = columns.saturating_sub(1);
    let typed = typed.render(room / 2);
    let text = output::escape_unprintable(text).replace(['\n', '\t'], " ");
    let text =
        table::fit(&text, room.saturating_sub(2 + table::width(&time) + table::width(&typed)));
    table::fit(&format!("{spinner} {text}{time}{typed}"), room)
}

impl TypedBeside {
    /// Returns what is shown behind the activity, with texts of at most so many columns.
    fn render(&self, columns: usize) -> String {
        let last = || table::fit(&output::on_one_line(&self.last), columns);
        // The draft has its place at the cursor, and its end is seen.
        let draft = || table::fit_end(&output::on_one_line(&self.draft), columns);
        match (self.queued, self.draft.is_empty()) {
            (0, true) => String::new(),
            (0, false) => format!(" > {}", draft()),
            (1, true) => format!(" (queued: {})", last()),
            (queued, true) => format!(" ({queued} queued, last: {})", last()),
            (queued, false) => format!(" ({queued} queued) > {}", draft()),
        }
    }
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
        let nothing = TypedBeside::default();
        let at =
            |seconds, columns| render(text, Duration::from_secs(seconds), &nothing, 2, columns);
        assert_eq!(at(0, 80), "⠹ waiting for gpt-4o");
        assert_eq!(at(3, 80), "⠹ waiting for gpt-4o · 3 s");
        assert_eq!(at(125, 80), "⠹ waiting for gpt-4o · 2 min 5 s");
        assert_eq!(at(3, 20), "⠹ waiting fo… · 3 s");
        for columns in 2..40 {
            assert!(table::width(&at(3600, columns)) < columns, "{columns}: {}", at(3600, columns));
        }
        let beside = |queued, last: &str, draft: &str, columns| {
            let typed = TypedBeside { queued, last: last.to_owned(), draft: draft.to_owned() };
            render(text, Duration::from_secs(3), &typed, 2, columns)
        };
        for (shown, expected) in [
            (beside(0, "", "and\nthen", 80), "⠹ waiting for gpt-4o · 3 s > and ⏎ then"),
            (beside(0, "", "and then what", 30), "⠹ wait… · 3 s > and then what"),
            (beside(0, "", "and then what else", 30), "⠹ wai… · 3 s > …hen what else"),
            (beside(1, "a\nb", "", 80), "⠹ waiting for gpt-4o · 3 s (queued: a ⏎ b)"),
            (beside(2, "a", "", 80), "⠹ waiting for gpt-4o · 3 s (2 queued, last: a)"),
            (beside(2, "a", "and", 80), "⠹ waiting for gpt-4o · 3 s (2 queued) > and"),
        ] {
            assert_eq!(shown, expected);
        }
        let wide = render("走る 走る 走る", Duration::from_secs(10), &nothing, 2, 16);
        assert_eq!((wide.as_str(), table::width(&wide)), ("⠹ 走る … · 10 s", 15));
        let odd = render("a\nb\u{1b}[2J", Duration::ZERO, &nothing, 2, 80);
        assert_eq!(odd, "⠹ a b\\u{1b}[2J");
    }

    #[test]
    fn the_column_behind_a_text_is_known_up_to_the_edge() {
        use CursorPlace::{Column, LineStart, Unknown};
        for (place, text, expected) in [
            (LineStart, "", LineStart),
            (LineStart, "one", Column(3)),
            (LineStart, "\u{1b}[1mone\u{1b}[0m two", Column(7)),
            (Column(3), " two", Column(7)),
            (Column(3), "\u{1b}[0m", Column(3)),
            (Column(3), "走", Column(5)),
            (Column(3), "\n", LineStart),
            (Column(3), " two\n\nof", Column(2)),
            (Column(3), "456789", Column(9)),
            (Column(3), "4567890", Unknown),
            (Unknown, "one", Unknown),
            (Unknown, "one\ntwo", Column(3)),
            (LineStart, "\tone", Unknown),
        ] {
            assert_eq!(place.after(text, 10), expected, "{place:?} {text:?}");
        }
    }
}
