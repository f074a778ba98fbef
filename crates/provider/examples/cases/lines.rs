//! JSON lines in, JSON lines out.

use std::io::{BufRead, Write};

use ship_message::json::{Json, Object};

/// Answers every line of standard input with a line on standard output that carries its `name`, or its `id`
/// as its name.
pub(crate) fn answer_all(answer: impl Fn(&mut Object) -> Object) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut reply = Object::new();
        match Json::parse_bytes(&line) {
            Ok(Json::Object(mut case)) => {
                let name = case.get("name").or_else(|| case.get("id")).cloned();
                reply.set("name", name.unwrap_or_default());
                for (key, value) in answer(&mut case).into_entries() {
                    reply.set(key, value);
                }
            }
            Ok(_) => reply.set("error", "a line must be a JSON object"),
            Err(error) => reply.set("error", error.to_string()),
        }
        writeln!(out, "{}", Json::Object(reply))?;
    }
    out.flush()
}
