//! Writes request bodies, one case a line: `{name, provider, messages, tools}` in, `{name, body}` or
//! `{name, error}` out.
//!
//! A tool is an object `{name, description, inputSchema}`, or the name of one that the recorded cases use.
//!
//! ```sh
//! echo '{"name":"a","provider":"anthropic","messages":[{"role":"user","content":"hi"}],"tools":[]}' |
//!     cargo run -q -p ship-provider --example wire
//! ```

#[path = "cases/lines.rs"]
mod lines;
#[path = "cases/wire.rs"]
mod wire;

fn main() -> std::io::Result<()> {
    lines::answer_all(wire::answer)
}
