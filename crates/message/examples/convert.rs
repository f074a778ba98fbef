//! Converts messages, one case a line: `{name, ui, options}` in, `{name, model}` or `{name, error}` out.
//!
//! ```sh
//! echo '{"name":"a","ui":[{"id":"1","role":"user","parts":[{"type":"text","text":"hi"}]}]}' |
//!     cargo run -q -p ship-message --example convert
//! ```

#[path = "cases/convert.rs"]
mod convert;
#[path = "cases/lines.rs"]
mod lines;
#[path = "cases/options.rs"]
mod options;

fn main() -> std::io::Result<()> {
    lines::answer_all(convert::answer)
}
