//! Tells which errors mean that a request was too long, one case a line: `{name, status, body, where}` in,
//! `{name, overflow}` out, with the sizes that the error names.

#[path = "cases/lines.rs"]
mod lines;
#[path = "cases/overflow.rs"]
mod overflow;

fn main() -> std::io::Result<()> {
    lines::answer_all(overflow::answer)
}
