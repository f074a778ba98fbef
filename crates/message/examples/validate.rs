//! Validates messages, one case a line: `{name, messages, options}` in, `{name, valid}` out.

#[path = "cases/lines.rs"]
mod lines;
#[path = "cases/options.rs"]
mod options;
#[path = "cases/validate.rs"]
mod validate;

fn main() -> std::io::Result<()> {
    lines::answer_all(validate::answer)
}
