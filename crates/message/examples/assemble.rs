//! Puts streams together, one case a line: `{name, chunks, initial}` in, `{name, message, error}` out.
//!
//! A chunk is an object, or a string that holds the data of one event as it came over the wire. `initial`
//! is the chat so far; an assistant message at its end is continued.

#[path = "cases/assemble.rs"]
mod assemble;
#[path = "cases/lines.rs"]
mod lines;

fn main() -> std::io::Result<()> {
    lines::answer_all(assemble::answer)
}
