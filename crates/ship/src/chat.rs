//! `ship chat`: a line from the person, an answer from the agent.
//!
//! For now the agent is the built-in offline model alone: it remembers nothing and says so.

use std::io::{BufRead, IsTerminal, Write};

const GREETING: &str =
    "This is Shipmate with its offline model: no key, no server. End with Ctrl-D.";

pub(crate) fn run() -> std::io::Result<()> {
    let stdin = std::io::stdin();
    let mut out = std::io::stdout();
    let interactive = stdin.is_terminal();
    if interactive {
        writeln!(out, "{GREETING}")?;
    }
    loop {
        if interactive {
            write!(out, "> ")?;
            out.flush()?;
        }
        let mut line = String::new();
        if stdin.lock().read_line(&mut line)? == 0 {
            return Ok(());
        }
        if !line.trim().is_empty() {
            writeln!(out, "{}", answer(line.trim()))?;
        }
    }
}

/// What the offline model says: plainly what it is, and what it was told.
fn answer(text: &str) -> String {
    format!("I am the offline model, a small stand-in without a language model. You said: {text}")
}
