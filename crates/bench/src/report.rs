//! What a measurement says: a ratio, what was promised, and whether that holds.

use std::io::Write;

/// What was promised of a ratio.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
}

/// Prints measurements as they are made, and counts the promises that did not hold.
pub struct Report<'a> {
    out: &'a mut dyn Write,
    missed: usize,
    measured: usize,
}

impl<'a> Report<'a> {
    /// Begins a report.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, missed: 0, measured: 0 }
    }

    fn line(&mut self, text: &str) {
        // A reader that has gone away cannot be told anything.
        let _ = writeln!(self.out, "{text}");
        let _ = self.out.flush();
    }

    /// Names what comes next.
    pub fn section(&mut self, title: &str) {
        self.line(&format!("\n{title}"));
    }

    /// Tells why something was not measured. That is a miss: nothing was shown.
    pub fn skipped(&mut self, why: &str) {
        self.missed += 1;
        self.line(&format!("  not measured: {why}"));
    }

    /// Tells a figure of which nothing was promised.
    pub fn note(&mut self, text: &str) {
        self.line(&format!("  {text}"));
    }

    /// Tells a ratio and whether it is what was promised.
    pub fn ratio(&mut self, what: &str, ratio: f64, want: Want) {
        let (holds, promise) = match want {
            Want::AtLeast(limit) => (ratio >= limit, format!("at least {limit}")),
            Want::AtMost(limit) => (ratio <= limit, format!("at most {limit}")),
        };
        self.measured += 1;
        self.missed += usize::from(!holds);
        let verdict = if holds { "ok" } else { "MISSED" };
        self.line(&format!("  {what:<56} {ratio:>9.2}   {promise:<14} {verdict}"));
    }

    /// Tells a count that must be at most so much now, and how far it is from where it should go.
    pub fn limit(&mut self, what: &str, count: f64, limit: f64, goal: f64) {
        self.ratio(what, count, Want::AtMost(limit));
        match count <= goal {
            true => self.note(&format!("the goal of {goal} is reached")),
            false => self.note(&format!("{:.2} above the goal of {goal}", count - goal)),
        }
    }

    /// Ends the report; true when every promise holds.
    pub fn finish(mut self) -> bool {
        let (measured, missed) = (self.measured, self.missed);
        self.line(&format!("\n{measured} measured, {missed} missed"));
        missed == 0
    }
}
