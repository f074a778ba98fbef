//! The `ship` command.

fn main() {}
